/** A browser without a window: it keeps cookies, follows redirects, and sends the forms of the authorization server's pages. */
export class Browser {
  /** Cookies by host, and by name. */
  readonly #cookies = new Map<string, Map<string, string>>();

  /**
   * Goes where a person goes that connects an account, signs in and consents.
   *
   * @param link the page that `holdfast credentials connect` names.
   * @returns what the page says to which they come back.
   */
  async consent(link: string, account: string): Promise<string> {
    let [at, page] = await this.#open(`${link}/start`);
    for (let pages = 0; pages < 5; pages += 1) {
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
      const [, prompt] = /name="prompt" value="([^"]+)"/.exec(page) ?? [];
      if (action === undefined || prompt === undefined) break;
      const body = new URLSearchParams({ prompt });
      if (prompt === 'login') body.set('login', account);
      [at, page] = await this.#open(new URL(action, at).href, { method: 'POST', body });
    }
    const [, said = page] = /role="(?:status|alert)"><p>(.*?)<\/p>/s.exec(page) ?? [];
    const text = said.replaceAll(/<[^>]*>/g, '');
    if (new URL(at).origin !== new URL(link).origin) throw new Error(`nobody came back: ${text}`);
    return text;
  }

  /** The page that redirects end at. */
  async #open(url: string, init: RequestInit = {}): Promise<[url: string, page: string]> {
    const { host } = new URL(url);
    const jar = this.#cookies.get(host) ?? new Map<string, string>();
    this.#cookies.set(host, jar);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    const location = answer.headers.get('location');
    return location === null ? [url, await answer.text()] : await this.#open(new URL(location, url).href);
  }
}
