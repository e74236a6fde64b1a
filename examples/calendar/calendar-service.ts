import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Client } from './authorization-server.ts';

export interface CalendarEvent {
  /** As `2026-12-04 12:00`. */
  start: string;
  title: string;
}

export interface CalendarServiceOptions {
  /** The authorization server, which says whose a token is, and what it is good for. */
  issuer: string;
  /** This service at that server. */
  client: Client;
  /** Defaults to a free one. */
  port?: number;
  log?: (line: string) => void;
}

/** A token as the authorization server knows it (RFC 7662). */
interface Token {
  active: boolean;
  sub?: string;
  scope?: string;
}

/** A calendar service that knows nothing of agents: `GET /events`, `POST /events`, for bearers of tokens. */
export class CalendarService {
  readonly #options: CalendarServiceOptions;
  /** Events by account. */
  readonly #calendars = new Map<string, CalendarEvent[]>();
  /** Events by the key of the request that has added them. */
  readonly #added = new Map<string, CalendarEvent>();
  readonly #server: Server;

  constructor(options: CalendarServiceOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) =>
        send(response, 500, { error: String(error) }),
      );
    });
  }

  /** Serves on this machine. Returns its address. */
  async open(): Promise<string> {
    await new Promise<void>((listening, failed) => {
      this.#server.once('error', failed);
      this.#server.listen(this.#options.port ?? 0, '127.0.0.1', listening);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The calendar of an account, which has events from the beginning. */
  events(account: string): readonly CalendarEvent[] {
    return this.#calendar(account).toSorted((one, other) => one.start.localeCompare(other.start));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const scope = { GET: 'calendar.read', POST: 'calendar.write' }[method];
    if (url !== '/events' || scope === undefined)
      return send(response, 404, { error: `there is no ${method} ${url}` });
    const token = await this.#tokenOf(request);
    if (!token.active || token.sub === undefined) {
      this.#options.log?.(`${method} ${url} is refused: 401`);
      response.setHeader('www-authenticate', 'Bearer error="invalid_token"');
      return send(response, 401, { error: 'this needs a token that is good' });
    }
    if (!token.scope?.split(' ').includes(scope)) {
      response.setHeader('www-authenticate', `Bearer error="insufficient_scope", scope="${scope}"`);
      return send(response, 403, { error: `this needs ${scope}` });
    }
    if (method === 'GET') return send(response, 200, { events: this.events(token.sub) });
    const { title, start } = (await json(request)) as CalendarEvent;
    const key = `${token.sub} ${request.headers['idempotency-key']}`;
    const before = this.#added.get(key);
    // The same request again: its first answer was lost on the way.
    if (before !== undefined) return send(response, 201, before);
    const event = { start, title };
    this.#calendar(token.sub).push(event);
    this.#added.set(key, event);
    this.#options.log?.(`${token.sub} has “${title}” on ${start}`);
    send(response, 201, event);
  }

  async #tokenOf({ headers: { authorization = '' } }: IncomingMessage): Promise<Token> {
    const [, token] = /^Bearer (\S+)$/i.exec(authorization) ?? [];
    if (token === undefined) return { active: false };
    const { issuer, client } = this.#options;
    const answer = await fetch(`${issuer}/token/introspection`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
      },
      body: new URLSearchParams({ token }),
    });
    if (!answer.ok) throw new Error(`the authorization server answers ${answer.status}`);
    return (await answer.json()) as Token;
  }

  #calendar(account: string): CalendarEvent[] {
    const known = this.#calendars.get(account);
    if (known !== undefined) return known;
    const made = [
      { start: '2026-12-03 09:30', title: 'Stand-up' },
      { start: '2026-12-04 15:00', title: 'Dentist' },
    ];
    this.#calendars.set(account, made);
    return made;
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
