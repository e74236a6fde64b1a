import { randomUUID } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { OAuthFailed } from '../../oauth/oauth-failed.ts';
import { sha256Digest } from '../../protocol/identity.ts';
import type { GatewayContext } from '../gateway-app.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import { sendPage } from './page-answer.ts';
import { cookieName, keepCookie, type PageSite } from './page-site.ts';
import { pageOf } from './shell.ts';
import { shown } from './shown-text.ts';

interface RoundTripsOptions {
  records: GatewayRecords;
  logger: GatewayLogger;
  /** Begins the names of cookies. */
  name: string;
  /** Milliseconds. A person who takes longer begins again. */
  life: number;
  /** Title and status of the page of one that has failed. */
  failed: string;
  status: 401 | 409;
}

/** People's ways to another site and back: each counts once, in the browser that began it. */
export class RoundTrips {
  readonly life: number;
  readonly #options: RoundTripsOptions;

  constructor(options: RoundTripsOptions) {
    this.life = options.life;
    this.#options = options;
  }

  /** @param to.kept what the browser keeps meanwhile. */
  leave(context: GatewayContext, site: PageSite, to: { url: string; state: string; kept: string }): Response {
    const cookie = { name: this.#nameOf(to.state), value: to.kept, maxAge: this.life / 1_000 };
    keepCookie(context, site, { ...cookie, sameSite: 'Lax' });
    return context.redirect(to.url, 302);
  }

  /** The fields of a way back, and what this browser has kept for it. */
  back(context: GatewayContext, site: PageSite): { callback: URLSearchParams; state: string; kept: string } {
    const callback = new URL(context.req.url).searchParams;
    const state = callback.get('state') ?? '';
    return { callback, state, kept: getCookie(context, cookieName(site, this.#nameOf(state))) ?? '' };
  }

  /** Whether nobody has come back with this state before. */
  async isFirst(state: string): Promise<boolean> {
    const { keys } = this.#options.records;
    const take = { id: this.#nameOf(state), requestId: this.#options.name, holder: randomUUID() };
    if ((await keys.takeLink(take)) !== undefined) return false;
    await keys.useLink({ ...take, outcome: 'come back' });
    return true;
  }

  /** Says to the person, and to the operator, why a server gave nothing. */
  async told(context: GatewayContext, retry: string, work: () => Promise<Response>): Promise<Response> {
    const { logger, failed } = this.#options;
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthFailed)) throw error;
      logger.warn(`${failed}: ${error.message}`, { problem: error.problem });
      return this.failed(context, error.message, retry, error.problem === 'unreachable' ? 503 : undefined);
    }
  }

  /** @param retry where the person begins again; undefined where the way back proves nothing of them. */
  failed(
    context: GatewayContext,
    text: string,
    retry: string | undefined,
    status: 400 | 401 | 403 | 409 | 503 = this.#options.status,
  ): Response {
    const title = this.#options.failed;
    const more =
      retry && html`<div class="actions"><a class="button primary" href="${retry}">Try again</a></div>`;
    const main = html`<section class="card"><h1>${title}</h1><div class="warn" role="alert"><p>${shown(text)}</p></div>${more}</section>`;
    return sendPage(context, pageOf({ title, main, width: 'narrow' }), status);
  }

  /** One for each way, so that several may be open at once. */
  #nameOf(state: string): string {
    return `holdfast-${this.#options.name}-${sha256Digest(state).slice(0, 16)}`;
  }
}
