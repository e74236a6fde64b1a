import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { type Day, isMonth, salesOf } from './sales.ts';

/** What is ordered: whose job it is for, and where the service calls back. */
interface Order {
  month: string;
  callbackUrl: string;
  token: string;
}

interface Report extends Order {
  number: string;
  state: 'counting' | 'done' | 'stopped';
  /** Days that are counted. */
  days: Day[];
  stopped: AbortController;
}

export interface ReportServiceOptions {
  /** Of {@link ReportService.pace}. */
  pace: number;
  /** Defaults to a free one. */
  port?: number;
  log?: (line: string) => void;
}

/** Days that it counts between two calls of progress. */
const DAYS_AT_ONCE = 5;
const CALLBACK_ATTEMPTS = 20;
const LONGEST_PAUSE = 5_000;

/**
 * A slow service that knows nothing of agents: `PUT /reports/<id>` orders a report under an id of the caller's, `DELETE` stops it,
 * `GET` has the finished one as CSV. It tells `callbackUrl` how far it is, and in the end what came of it.
 */
export class ReportService {
  /** Milliseconds that it counts a day for. */
  pace: number;
  readonly #options: ReportServiceOptions;
  readonly #reports = new Map<string, Report>();
  readonly #server: Server;

  constructor(options: ReportServiceOptions) {
    this.#options = options;
    this.pace = options.pace;
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
    return this.#url;
  }

  close(): void {
    for (const { stopped } of this.#reports.values()) stopped.abort();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get #url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = decodeURIComponent(/^\/reports\/([^/?]+)$/.exec(request.url ?? '')?.[1] ?? '');
    if (id === '') return send(response, 404, { error: 'there is /reports/<id> only' });
    if (request.method === 'PUT') return this.#order(id, (await json(request)) as Order, response);
    const report = this.#reports.get(id);
    if (report === undefined) return send(response, 404, { error: 'nobody has ordered that' });
    if (request.method === 'DELETE') return this.#stop(report, response);
    if (report.state !== 'done') return send(response, 404, { error: `it is ${report.state}` });
    response.setHeader('content-type', 'text/csv').end(csvOf(report.days));
  }

  /** Ordered again under the same id, it is the same report. */
  #order(id: string, { month, callbackUrl, token }: Order, response: ServerResponse): void {
    const known = this.#reports.get(id);
    if (known !== undefined) {
      send(response, 200, { report: known.number });
      return;
    }
    if (!isMonth(month)) {
      send(response, 400, { error: `${month} is no month` });
      return;
    }
    const number = `R-${String(this.#reports.size + 1).padStart(4, '0')}`;
    const report: Report = {
      ...{ number, month, callbackUrl, token },
      state: 'counting',
      days: [],
      stopped: new AbortController(),
    };
    this.#reports.set(id, report);
    this.#log(`${number} of ${month} is ordered`);
    void this.#count(id, report).catch((error: unknown) => {
      if (report.state !== 'stopped') this.#log(`${number} is lost: ${error}`);
    });
    send(response, 202, { report: number });
  }

  #stop(report: Report, response: ServerResponse): void {
    if (report.state === 'counting') {
      report.state = 'stopped';
      report.stopped.abort();
      this.#log(`${report.number} is stopped after ${report.days.length} days`);
    }
    send(response, 200, { report: report.number, state: report.state });
  }

  async #count(id: string, report: Report): Promise<void> {
    const { number, month, days, stopped } = report;
    const all = salesOf(month);
    for (const day of all) {
      await setTimeout(this.pace, undefined, { signal: stopped.signal });
      days.push(day);
      if (days.length % DAYS_AT_ONCE === 0 && days.length < all.length) {
        const progress = { value: days.length / all.length, message: `${day.date} is counted` };
        await this.#callBack(report, 'progress', progress);
      }
    }
    report.state = 'done';
    this.#log(`${number} is done`);
    const best = all.reduce((one, other) => (other.cents > one.cents ? other : one));
    await this.#callBack(report, 'complete', {
      result: {
        report: number,
        month,
        orders: sum(all.map(({ orders }) => orders)),
        cents: sum(all.map(({ cents }) => cents)),
        bestDay: best.date,
        url: `${this.#url}/reports/${encodeURIComponent(id)}`,
      },
    });
  }

  /** Tried again while there is no answer: the called process may be restarting. */
  async #callBack(
    { callbackUrl, token, stopped, number }: Report,
    what: string,
    body: unknown,
  ): Promise<void> {
    const { signal } = stopped;
    for (let attempt = 1; ; attempt++) {
      try {
        const response = await fetch(`${callbackUrl}/${what}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify(body),
          signal,
        });
        if (response.ok) return;
        const answer = await response.text();
        if (response.status < 500) {
          this.#log(`${number}: ${what} is refused with ${response.status}: ${answer}`);
          return;
        }
        throw new Error(`${response.status}: ${answer}`);
      } catch (error) {
        if (signal.aborted || attempt === CALLBACK_ATTEMPTS) throw error;
        await setTimeout(Math.min(200 * 2 ** attempt, LONGEST_PAUSE), undefined, { signal });
      }
    }
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function csvOf(days: readonly Day[]): string {
  return [
    'date,orders,cents',
    ...days.map(({ date, orders, cents }) => `${date},${orders},${cents}`),
    '',
  ].join('\n');
}
