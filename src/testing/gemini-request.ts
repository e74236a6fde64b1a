import type { IncomingMessage } from 'node:http';
import type {
  Content,
  FunctionResponse,
  GenerationConfig,
  SafetySetting,
  Tool,
  ToolConfig,
} from '@google/genai';
import { messageOf } from '../protocol/message-of.ts';
import { GeminiRefusal, invalidArgument } from './gemini-error.ts';
import { camelFields, isObject, type Json } from './gemini-json.ts';

/** The parsed body of a generateContent call, with field names in lowerCamelCase, and the model of its path. */
export type GeminiRequest = Readonly<{
  model: string;
  contents: readonly Content[];
  systemInstruction?: Content;
  tools?: readonly Tool[];
  toolConfig?: ToolConfig;
  generationConfig?: GenerationConfig;
  safetySettings?: readonly SafetySetting[];
  cachedContent?: string;
}>;

export type GeminiRoute = Readonly<{ model: string; streaming: boolean; sse: boolean }>;

const PATH =
  /^\/v1(?:alpha|beta|beta1)?\/(?:projects\/[^/]+\/locations\/[^/]+\/)?(?:publishers\/[^/]+\/)?(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent)$/;

export function parseRoute(method: string, url: URL): GeminiRoute {
  const match = PATH.exec(url.pathname);
  if (method !== 'POST' || !match?.[1]) {
    throw new GeminiRefusal(
      404,
      `The mock server serves POST …/models/{model}:generateContent and :streamGenerateContent only, got ${method} ${url.pathname}.`,
    );
  }
  const streaming = match[2] === 'streamGenerateContent';
  return { model: decodePath(match[1]), streaming, sse: url.searchParams.get('alt') === 'sse' };
}

function decodePath(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch (cause) {
    throw new GeminiRefusal(400, `Invalid model name in the path: ${segment}`, { cause });
  }
}

/** Requires credentials as the API does: any, or exactly `expected` when a key is configured. */
export function checkCredentials(request: IncomingMessage, url: URL, expected: string | undefined): void {
  const header = request.headers['x-goog-api-key'];
  const key = typeof header === 'string' && header !== '' ? header : url.searchParams.get('key');
  if (!key) {
    if (/^Bearer\s+\S/i.test(request.headers.authorization ?? '')) return;
    throw new GeminiRefusal(
      403,
      "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
    );
  }
  if (expected === undefined || key === expected) return;
  throw invalidArgument('API key not valid. Please pass a valid API key.', [
    {
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
  ]);
}

const SECRET_HEADERS = new Set(['x-goog-api-key', 'authorization', 'proxy-authorization', 'cookie']);

export function headersWithoutSecrets(request: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(request.headers)
      .filter(([name]) => !SECRET_HEADERS.has(name))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}

const MAX_BODY_BYTES = 20 * 1024 * 1024;

/** Reads the whole body; one that is too long is read to its end all the same, so that the client gets the answer. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (bytes > MAX_BODY_BYTES) {
    throw invalidArgument(`Request payload size exceeds the limit: ${MAX_BODY_BYTES} bytes.`);
  }
  return Buffer.concat(chunks).toString('utf8');
}

export function parseBody(body: string): Json {
  let value: unknown;
  try {
    value = body === '' ? {} : JSON.parse(body);
  } catch (cause) {
    const reason = messageOf(cause);
    throw new GeminiRefusal(400, `Invalid JSON payload received. ${reason}`, { cause });
  }
  if (isObject(value)) return camelFields(value) as Json;
  throw invalidArgument('Invalid JSON payload received. Root element must be a message.');
}

export function toGeminiRequest(model: string, body: Json): GeminiRequest {
  return { contents: [], ...body, model };
}

/** The text of the last user message, '' when there is none. */
export function lastUserText(request: GeminiRequest): string {
  const message = request.contents.findLast(isMessage);
  return message?.parts?.map((part) => part.text ?? '').join('') ?? '';
}

/** The function responses since the last user message, those of the newest content first: what the client has run in this turn. */
export function functionResponsesOf({ contents }: GeminiRequest): readonly FunctionResponse[] {
  const turn = contents.slice(Math.max(0, contents.findLastIndex(isMessage)));
  return turn.reverse().flatMap(({ parts = [] }) => parts.flatMap((part) => part.functionResponse ?? []));
}

/** The first part of a content that load_artifacts and load_mcp_resource add after the responses, or after the message. */
const LOADED = /^(Artifact|Resource) .{1,1024} is:$/s;

function isMessage({ role, parts = [] }: Content): boolean {
  const isLoaded = parts.length > 1 && LOADED.test(parts[0]?.text ?? '');
  return role !== 'model' && !isLoaded && parts.some((part) => part.text !== undefined && !part.thought);
}
