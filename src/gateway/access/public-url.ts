/** A base under which the gateway's paths lie; undefined for what is none. */
export function publicUrlOf(given: unknown): URL | undefined {
  if (typeof given !== 'string' || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  const isBase = url.search === '' && url.hash === '' && url.username === '' && url.password === '';
  return /^https?:$/.test(url.protocol) && isBase ? url : undefined;
}

/** A value of `Host` of a gateway that is reached by https, in lower case; undefined for what is none. */
export function hostOf(given: unknown): string | undefined {
  if (typeof given !== 'string') return undefined;
  const host = given.toLowerCase();
  const url = `https://${host}`;
  return URL.canParse(url) && new URL(url).host === host ? host : undefined;
}
