/** A page as a browser would have it: what its forms send, and the cookies that it keeps. */
export interface ReadPage {
  status: number;
  text: string;
  headers: Headers;
  /** As a browser sends them on. */
  cookie: string;
  /** Values of hidden fields. */
  hidden: Record<string, string>;
}

/** Headers that a browser adds to a form of a page that tells no referrer. */
export const FROM_OWN_PAGE = { origin: 'null', 'sec-fetch-site': 'same-origin' };

export async function readPage(url: string, init: RequestInit = {}): Promise<ReadPage> {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  const text = await answer.text();
  const hidden = [...text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(
    ([, name = '', value = '']) => [name, unescaped(value)] as const,
  );
  return {
    ...{ status: answer.status, text, headers: answer.headers, hidden: Object.fromEntries(hidden) },
    cookie: answer.headers
      .getSetCookie()
      .map((each) => each.split(';', 1)[0])
      .join('; '),
  };
}

/** Sends a form as the browser that was shown a page. */
export async function sendForm(
  url: string,
  shown: Pick<ReadPage, 'hidden' | 'cookie'>,
  fields: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<ReadPage> {
  return await readPage(url, {
    method: 'POST',
    headers: {
      ...FROM_OWN_PAGE,
      'content-type': 'application/x-www-form-urlencoded',
      cookie: shown.cookie,
      ...headers,
    },
    body: new URLSearchParams({ ...shown.hidden, ...fields }).toString(),
  });
}

function unescaped(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}
