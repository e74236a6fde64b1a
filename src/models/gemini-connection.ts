import type { GoogleGenAIOptions, HttpOptions } from '@google/genai';
import { variable as variableOf } from '../environment.ts';
import { secretsInHeaders } from '../net/removed-secrets.ts';
import { geminiVariables } from './gemini-exchange.ts';
import { ModelError } from './model-errors.ts';

/** How {@link Gemini} reaches the provider. The first call reads absent options from the environment. */
export interface GeminiConnection {
  /**
   * Key of the Gemini API, or of Vertex AI in express mode. Defaults to GOOGLE_GENAI_API_KEY, GOOGLE_API_KEY or
   * GEMINI_API_KEY, in that order.
   */
  apiKey?: string;
  /** Use Vertex AI. Defaults to GOOGLE_GENAI_USE_ENTERPRISE, else GOOGLE_GENAI_USE_VERTEXAI (`true` or `1`). */
  vertexai?: boolean;
  /** Google Cloud project, on Vertex AI only. Defaults to GOOGLE_CLOUD_PROJECT. */
  project?: string;
  /** Google Cloud location, on Vertex AI only. Defaults to GOOGLE_CLOUD_LOCATION, else `global`. */
  location?: string;
  /** Headers added to every request. */
  headers?: Record<string, string>;
  /**
   * Options of `@google/genai`: `baseUrl` (defaults to GOOGLE_GEMINI_BASE_URL, on Vertex AI to
   * GOOGLE_VERTEX_BASE_URL), `apiVersion` (GOOGLE_GENAI_API_VERSION), `timeout` in milliseconds (none), `fetch`, ….
   * `retryOptions` has no effect: retries are Temporal's.
   */
  httpOptions?: HttpOptions;
}

/** Options of the SDK's client, from what was given and the environment, and the values that no message may show. */
export interface ResolvedConnection {
  options: GoogleGenAIOptions & { httpOptions: HttpOptions };
  secrets: string[];
}

/**
 * @throws ModelError (`authentication`, not retryable) where there are no credentials: without this check the SDK
 *   would look for a Google Cloud machine's, for seconds.
 */
export function resolveConnection(given: GeminiConnection): ResolvedConnection {
  const httpOptions: HttpOptions = {
    ...given.httpOptions,
    headers: { ...given.headers, ...given.httpOptions?.headers },
  };
  const vertexai = isOnVertex(given);
  // The SDK looks for it in the process's variables only.
  if (!vertexai && geminiVariables() !== process.env) {
    const baseUrl = variable('GOOGLE_GEMINI_BASE_URL');
    if (baseUrl) httpOptions.baseUrl ??= baseUrl;
  }
  const options = vertexai ? vertexOptions(given, httpOptions) : geminiOptions(given);
  const keys = options.apiKey ? [options.apiKey] : [];
  return {
    options: { ...options, httpOptions },
    secrets: [...keys, ...secretsInHeaders(httpOptions.headers)],
  };
}

function geminiOptions(given: GeminiConnection): GoogleGenAIOptions {
  const apiKey = given.apiKey?.trim() || keyByEnvironment();
  if (apiKey) return { vertexai: false, apiKey };
  throw new ModelError({
    kind: 'authentication',
    wasSent: false,
    message:
      'There is no API key for Gemini: set GEMINI_API_KEY (or pass `apiKey` to Gemini); for Vertex AI set ' +
      'GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_CLOUD_PROJECT. Keys: https://aistudio.google.com/apikey',
  });
}

function vertexOptions(given: GeminiConnection, httpOptions: HttpOptions): GoogleGenAIOptions {
  const { project, location } = given;
  const apiKey = given.apiKey?.trim();
  const reachable =
    project ||
    apiKey ||
    httpOptions.baseUrl ||
    variable('GOOGLE_CLOUD_PROJECT') ||
    variable('GOOGLE_API_KEY') ||
    variable('GEMINI_API_KEY') ||
    variable('GOOGLE_VERTEX_BASE_URL');
  if (reachable) {
    return {
      vertexai: true,
      ...(project && { project }),
      ...(location && { location }),
      ...(apiKey && { apiKey }),
    };
  }
  throw new ModelError({
    kind: 'authentication',
    wasSent: false,
    message:
      'Vertex AI is asked for without a project: set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION (or pass ' +
      '`project` and `location` to Gemini) and sign in with `gcloud auth application-default login`, or set ' +
      'GOOGLE_API_KEY for express mode.',
  });
}

/** Whether Vertex AI is asked, and not the Gemini API. */
export function isOnVertex({ vertexai }: Pick<GeminiConnection, 'vertexai'>): boolean {
  return vertexai ?? vertexByEnvironment();
}

/** The variables of `@google/adk` and of `@google/genai`; the newer name wins. */
function vertexByEnvironment(): boolean {
  const value = variable('GOOGLE_GENAI_USE_ENTERPRISE') ?? variable('GOOGLE_GENAI_USE_VERTEXAI') ?? '';
  return ['true', '1'].includes(value.toLowerCase());
}

function keyByEnvironment(): string | undefined {
  return (
    variable('GOOGLE_GENAI_API_KEY') || variable('GOOGLE_API_KEY') || variable('GEMINI_API_KEY') || undefined
  );
}

function variable(name: string): string | undefined {
  return variableOf(name, geminiVariables())?.trim();
}
