import { MockGeminiError } from './gemini-error.ts';
import type { Json } from './gemini-json.ts';

/** A request that reached the script. */
export type RecordedRequest = {
  /** 0-based, in order of arrival; with a list for a script also the place of its reply. */
  readonly index: number;
  readonly model: string;
  readonly streaming: boolean;
  readonly path: string;
  /** The parsed body, field names in lowerCamelCase. */
  readonly body: Json;
  /** Header names in lower case, without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch, when the body had arrived. */
  readonly receivedAt: number;
  /** Milliseconds since the epoch, when the last byte of the answer had been handed over. */
  answeredAt?: number;
  /** The client went away before it had the answer. */
  aborted: boolean;
};

/** A request that the mock server answered with an error of its own. */
export type Refusal = Readonly<{
  code: number;
  message: string;
  path: string;
  body?: Json;
  receivedAt: number;
  /** The error that a script threw. */
  cause?: unknown;
}>;

const WAIT_TIMEOUT_MS = 30_000;

type Waiter = { count: number; settle: (problem?: MockGeminiError) => void };

/** Keeps what came in and wakes those who wait for more. */
export class RequestLog {
  requests: RecordedRequest[] = [];
  refusals: Refusal[] = [];
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  add(request: Omit<RecordedRequest, 'index' | 'aborted'>): RecordedRequest {
    const recorded = { index: this.requests.length, ...request, aborted: false };
    this.requests.push(recorded);
    for (const waiter of this.#waiters) if (this.requests.length >= waiter.count) waiter.settle();
    return recorded;
  }

  clear(): void {
    this.requests = [];
    this.refusals = [];
  }

  async waitFor(count: number, timeoutMs: number = WAIT_TIMEOUT_MS): Promise<readonly RecordedRequest[]> {
    if (this.requests.length >= count) return this.requests;
    if (this.#closed) throw this.#failure('MOCK_GEMINI_CLOSED', count, 'the mock server is closed');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { count, settle: (problem) => (problem ? reject(problem) : resolve()) };
    const timer = setTimeout(() => {
      waiter.settle(this.#failure('MOCK_GEMINI_WAIT_TIMEOUT', count, `waited ${timeoutMs} ms`));
    }, timeoutMs);
    this.#waiters.add(waiter);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
    return this.requests;
  }

  close(): void {
    this.#closed = true;
    for (const waiter of this.#waiters) {
      waiter.settle(this.#failure('MOCK_GEMINI_CLOSED', waiter.count, 'the mock server closed meanwhile'));
    }
  }

  #failure(
    code: 'MOCK_GEMINI_CLOSED' | 'MOCK_GEMINI_WAIT_TIMEOUT',
    count: number,
    why: string,
  ): MockGeminiError {
    const refused = this.refusals.map(({ message }) => `\n- refused: ${message}`).join('');
    return new MockGeminiError(
      code,
      `${this.requests.length} of ${count} requests arrived: ${why}${refused}`,
    );
  }
}
