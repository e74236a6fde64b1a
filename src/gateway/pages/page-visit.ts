import type { AccessRequest } from '../access.ts';

/** Paths that people open in a browser, from wherever they were told of them. */
const PAGES = /^\/(a\/|inbox(\/|$))/;

/**
 * A request as access should look at it. A page may be opened from another site, as by a link in a mail: nothing comes of that. And a
 * form of a page that tells no referrer has `Origin: null`, and the browser’s word for where it was.
 */
export function visitOf(request: AccessRequest): AccessRequest {
  const { method, url, headers } = request;
  if (!PAGES.test(url.pathname)) return request;
  const site = headers.get('sec-fetch-site');
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead && headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document') {
    return { ...request, headers: without(headers, 'sec-fetch-site') };
  }
  if (method === 'POST' && site === 'same-origin' && headers.get('origin') === 'null') {
    return { ...request, headers: without(headers, 'origin') };
  }
  return request;
}

function without(headers: Headers, name: string): Headers {
  const kept = new Headers(headers);
  kept.delete(name);
  return kept;
}
