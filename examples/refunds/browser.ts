/** A page as somebody sees it who opens a link, and the button that they press. */
export class OpenedPage {
  readonly #link: string;
  readonly #cookie: string;
  readonly #html: string;

  private constructor(link: string, cookie: string, html: string) {
    this.#link = link;
    this.#cookie = cookie;
    this.#html = html;
  }

  static async open(link: string): Promise<OpenedPage> {
    const answer = await fetch(link);
    const cookie = answer.headers.getSetCookie().map((each) => each.split(';', 1)[0] ?? '');
    return new OpenedPage(link, cookie.join('; '), await answer.text());
  }

  /** Its texts, a line each. */
  get lines(): string[] {
    const [, main = ''] = /<main[^>]*>(.*)<\/main>/s.exec(this.#html) ?? [];
    const text = main
      .replace(/<(form|style)\b.*?<\/\1>/gs, '')
      .replaceAll('\n', ' ')
      .replace(/<\/?(p|h[1-6]|section|div|ul|li|dt|dd|tr|th|td|br)\b[^>]*>/g, '\n')
      .replace(/<[^>]+>/g, '');
    const plain = text.replaceAll('&#39;', '’').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    return plain
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .filter((line) => line !== '');
  }

  /** Presses the button with this name, as a browser would send its form. */
  async press(button: string): Promise<OpenedPage> {
    const { origin } = new URL(this.#link);
    const hidden = [...this.#html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
    const form = new URLSearchParams(
      hidden.map(([, name = '', value = '']): [string, string] => [name, value]),
    );
    form.set('do', button);
    const answer = await fetch(this.#link, {
      method: 'POST',
      headers: { cookie: this.#cookie, origin, 'sec-fetch-site': 'same-origin' },
      body: form,
      redirect: 'manual',
    });
    if (answer.status !== 303) throw new Error(`the page answers with ${answer.status}`);
    return await OpenedPage.open(this.#link);
  }
}
