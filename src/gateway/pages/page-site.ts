import { setCookie } from 'hono/cookie';
import { isLoopbackName } from '../../net/public-url.ts';
import type { GatewayContext } from '../gateway-app.ts';

/** Where a browser thinks that it is. */
export interface PageSite {
  /** Without a slash at its end. */
  origin: string;
  /** In front of each path: empty, unless the public URL has one. */
  base: string;
  secure: boolean;
}

/** Of the public URL where the browser came by it; else of this machine, or of another name of the gateway, which is reached by https. */
export function siteOf({ req }: GatewayContext, publicUrl: string | undefined): PageSite {
  const host = (req.header('host') ?? new URL(req.url).host).toLowerCase();
  const known = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (known === undefined || known.host !== host) {
    const secure = !isLoopbackName(new URL(`http://${host}`).hostname);
    return { origin: `${secure ? 'https' : 'http'}://${host}`, base: '', secure };
  }
  return {
    origin: known.origin,
    base: known.pathname.replace(/(?<!\/)\/+$/, ''),
    secure: known.protocol === 'https:',
  };
}

/** No other host, and no page without TLS, can set a cookie of such a name. */
export function cookieName(site: PageSite, name: string): string {
  return site.secure ? `__Host-${name}` : name;
}

/**
 * Neither scripts nor requests that other sites cause ever have it.
 *
 * @param cookie.sameSite `'Lax'` where a person comes back from another site with it.
 */
export function keepCookie(
  context: GatewayContext,
  site: PageSite,
  { name, value, ...more }: { name: string; value: string; maxAge?: number; sameSite?: 'Lax' | 'Strict' },
): void {
  const always = { path: '/', httpOnly: true, secure: site.secure };
  setCookie(context, cookieName(site, name), value, { ...always, sameSite: 'Strict', ...more });
}

/**
 * A form comes from a page of this very site only. Pages that name no referrer have an `Origin` of `null`: then the browser’s own word
 * for where the form was is needed.
 */
export function isOfOwnPage({ req }: GatewayContext, { origin }: PageSite): boolean {
  const [from, site] = [req.header('origin'), req.header('sec-fetch-site')];
  const isOwn = site === undefined ? from === origin : site === 'same-origin';
  const isOfOwnOrigin = from === undefined || from === 'null' || from === origin;
  return isOwn && isOfOwnOrigin;
}
