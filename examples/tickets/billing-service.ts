import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { euros } from '../refunds/euros.ts';

export interface Invoice {
  id: string;
  month: string;
  cents: number;
  refundedCents: number;
}

interface Refund {
  refund: string;
  invoiceId: string;
  cents: number;
  reason: string;
}

export interface BillingServiceOptions {
  /** Sent by callers as `X-Billing-Key`. */
  key: string;
  /** Defaults to a free one. */
  port?: number;
  log?: (line: string) => void;
}

const DOCUMENT = readFileSync(join(import.meta.dirname, 'openapi.json'), 'utf8');

/** A billing service that knows nothing of agents: HTTP, described by `openapi.json`, which it serves, too. */
export class BillingService {
  readonly #options: BillingServiceOptions;
  readonly #customers = madeUpCustomers();
  /** Refunds by the key of the request that has made them. */
  readonly #refunds = new Map<string, Refund>();
  readonly #server: Server;

  constructor(options: BillingServiceOptions) {
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request;
    if (method === 'GET' && url === '/openapi.json') {
      response.setHeader('content-type', 'application/json').end(DOCUMENT);
      return;
    }
    if (headers['x-billing-key'] !== this.#options.key) return send(response, 401, { error: 'not for you' });
    const [, noun = '', id = '', part] = url.split('/').map(decodeURIComponent);
    const route = `${method} ${noun} ${part ?? ''}`;
    if (route === 'GET customers invoices') return this.#list(id, response);
    if (route === 'POST invoices refunds') return await this.#refund(id, request, response);
    if (route === 'DELETE customers ') return this.#delete(id, response);
    send(response, 404, { error: `there is no ${method} ${url}` });
  }

  #list(customerId: string, response: ServerResponse): void {
    const invoices = this.#customers.get(customerId);
    if (invoices === undefined) {
      send(response, 404, { error: `there is no customer ${customerId}` });
      return;
    }
    this.#options.log?.(`the invoices of ${customerId} are read`);
    send(response, 200, { invoices });
  }

  async #refund(invoiceId: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cents, reason } = (await json(request)) as { cents: number; reason: string };
    const key = String(request.headers['idempotency-key'] ?? '');
    const made = this.#refunds.get(key);
    // The same request again: its first answer was lost on the way.
    if (made !== undefined) return send(response, 201, made);
    const invoice = [...this.#customers.values()].flat().find(({ id }) => id === invoiceId);
    if (invoice === undefined) return send(response, 404, { error: `there is no invoice ${invoiceId}` });
    const left = invoice.cents - invoice.refundedCents;
    if (cents > left) {
      return send(response, 409, { error: `${euros(left)} of ${invoiceId} are left` });
    }
    if (key === '') return send(response, 400, { error: 'a refund takes an Idempotency-Key' });
    const refund = `R-${String(this.#refunds.size + 1).padStart(4, '0')}`;
    invoice.refundedCents += cents;
    this.#refunds.set(key, { refund, invoiceId, cents, reason });
    this.#options.log?.(`${refund}: ${euros(cents)} of ${invoiceId} are paid back`);
    send(response, 201, { refund, invoiceId, cents, reason });
  }

  #delete(customerId: string, response: ServerResponse): void {
    this.#customers.delete(customerId);
    this.#options.log?.(`${customerId} is deleted`);
    response.writeHead(204).end();
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Invoices by customer. One of them has paid October twice. */
function madeUpCustomers(): Map<string, Invoice[]> {
  const paid = (id: string, month: string): Invoice => ({ id, month, cents: 39_90, refundedCents: 0 });
  return new Map([
    ['C-17', [paid('I-6904', '2026-09'), paid('I-7011', '2026-10'), paid('I-7012', '2026-10')]],
    ['C-23', [paid('I-6911', '2026-09'), paid('I-7020', '2026-10')]],
  ]);
}
