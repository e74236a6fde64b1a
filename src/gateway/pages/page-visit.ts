import type { AccessRequest } from '../access/access.ts';

/** Paths that people open in a browser. */
const PAGES = /^\/(a\/|inbox(\/|$))/;

/**
 * A request as access should look at it. A form of a page that tells no referrer has `Origin: null`, and beside it the browser’s own
 * word that it was on this very site.
 */
export function visitOf(request: AccessRequest): AccessRequest {
  const { method, url, headers } = request;
  const isForm = method === 'POST' && PAGES.test(url.pathname);
  if (!isForm || headers.get('origin') !== 'null' || headers.get('sec-fetch-site') !== 'same-origin') {
    return request;
  }
  const kept = new Headers(headers);
  kept.delete('origin');
  return { ...request, headers: kept };
}
