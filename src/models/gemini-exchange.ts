import { AsyncLocalStorage } from 'node:async_hooks';
import type { Fetch } from '@google/genai';
import { patientFetch } from '../net/patient-fetch.ts';
import { type FailedCall, ModelError } from './model-errors.ts';

/**
 * Watches the HTTP side of one model call. `@google/genai` throws errors that have lost the response's headers, so
 * that its `fetch` is the only place where `Retry-After` can be seen.
 */
export class GeminiExchange {
  #progress: NonNullable<FailedCall['progress']> = 'preparing';
  #refusal: FailedCall['response'];
  readonly #fetch: Fetch;

  /** @param custom the user's own `httpOptions.fetch`; it gets the request untouched. */
  constructor(custom: Fetch | undefined) {
    this.#fetch = custom ?? patientFetch;
  }

  readonly fetch: Fetch = async (input, init) => {
    assertHttp(input);
    this.#progress = 'sent';
    this.#refusal = undefined;
    const response = await this.#fetch(input, init);
    if (response.ok) this.#progress = 'answering';
    else this.#refusal = { status: response.status, headers: response.headers };
    return response;
  };

  /** Facts of the call for `toModelError`. */
  get facts(): Pick<FailedCall, 'response' | 'progress'> {
    return { progress: this.#progress, ...(this.#refusal && { response: this.#refusal }) };
  }
}

function assertHttp(input: Parameters<Fetch>[0]): void {
  const url = new URL(input instanceof Request ? input.url : input);
  if (url.protocol === 'http:' || url.protocol === 'https:') return;
  throw new ModelError({
    kind: 'bad_request',
    message:
      `The base URL of the model has the scheme ${JSON.stringify(url.protocol)}: let GOOGLE_GEMINI_BASE_URL ` +
      '(GOOGLE_VERTEX_BASE_URL on Vertex AI) or `httpOptions.baseUrl` begin with "https://" or "http://".',
  });
}

/** Variables that say how Gemini is reached. */
export type GeminiVariables = Readonly<Record<string, string | undefined>>;

const given = new AsyncLocalStorage<GeminiVariables>();

/** Runs work whose models find Gemini by these variables instead of the process's, beside other work that doesn't. */
export function withGeminiVariables<T>(variables: GeminiVariables, work: () => T): T {
  return given.run(variables, work);
}

export function geminiVariables(): GeminiVariables {
  return given.getStore() ?? process.env;
}
