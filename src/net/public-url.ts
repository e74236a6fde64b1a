export const PUBLIC_URL_FORM = 'a URL like https://agents.example.com; one of http is for this machine alone';

/** The base of the gateway's paths; undefined for a text that is no such URL. Keys and cookies go to other machines by TLS only. */
export function publicUrlOf(given: unknown): URL | undefined {
  const url = safeUrlOf(given);
  return url?.search === '' && url.hash === '' ? url : undefined;
}

/** An address to which nobody in between can listen; undefined for any other, and for one with a name or a password. */
export function safeUrlOf(given: unknown): URL | undefined {
  const url = typeof given === 'string' ? URL.parse(given) : null;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackName(url.hostname));
  return isSafe && url.username === '' && url.password === '' ? url : undefined;
}

/** @param publicUrl of the gateway, as people's browsers reach it. @param path with a slash at its beginning. */
export function pageUrl(publicUrl: string, path: string): string {
  return `${publicUrl.replace(/(?<!\/)\/+$/, '')}${path}`;
}

/** @param hostname as in a URL, without a port. */
export function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** A value of `Host` of a gateway that is reached by https, in lower case; undefined for any other text. */
export function hostOf(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const host = given.toLowerCase();
  const url = `https://${host}`;
  return URL.canParse(url) && new URL(url).host === host ? host : undefined;
}
