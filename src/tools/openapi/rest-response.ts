import { createHash } from 'node:crypto';
import { pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { hasCode } from '../../contract/error.ts';
import { type GuardedStream, retryAfterOf } from '../../net/guarded-fetch.ts';
import { withoutSecretsIn, withoutSecretsInJson, withoutSecretsInStream } from '../../net/removed-secrets.ts';
import { defined, parsedJson } from '../../protocol/json.ts';
import type { Context } from '../context.ts';
import { formOf } from '../spooled/spool-options.ts';
import { SPOOLED_FOLDER } from '../spooled/spooled-artifact.ts';
import { ToolError } from '../tool-error.ts';
import { isJson } from './operation-parser.ts';

/** Bytes of a text that is told as it is; longer ones become artifacts. The tool's `spool` may keep shorter ones, too. */
const MOST_TEXT = 256 * 1024;
/** Characters of the body of an error. */
const MOST_ERROR = 4_000;
const PREVIEW = 600;
const DIGEST = 16;
const LONGEST_HEADER = 1_000;
const TOLD_HEADERS = ['location', 'etag', 'last-modified', 'content-length', 'content-type', 'allow'];
/** Milliseconds that a server may ask to wait for. A longer time is told to the model. */
const LONGEST_WAIT = 300_000;
/** Answers that may be another one later. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524]);
/** Those that a proxy gives, too: after the server had the request. Above 511 those of Cloudflare. */
const OF_PROXIES = new Set([502, 503, 504, 520, 522, 524]);

/** In place of the body of an error. */
const UNREADABLE = { bytes: Buffer.from("(its body can't be read)") };

/** Digits that a number may have no room for. */
const LONG_NUMBER = /\d{16}/;

/** They have headers of a body, and none. */
const BODILESS = new Set([204, 205, 304]);

export interface ResponseSite {
  tool: string;
  method: string;
  context: Context;
  secrets: readonly string[];
  /** Bytes of an answer. */
  maxBytes: number;
  /** Whether the same request may be sent again without a second effect. */
  isRepeatable: boolean;
  /** The answer is nobody's to read but the model's. */
  isSensitive: boolean;
}

/**
 * The result of a call: JSON as it is, texts, and a handle of the artifact that a large or binary answer became.
 *
 * @throws ToolError for a sensitive answer that would become an artifact, and for any but one of success; it has status and body.
 * HOLDFAST_UNKNOWN_OUTCOME where a proxy may have answered
 * for a server that has had its effect.
 */
export async function resultOfResponse(given: GuardedStream, site: ResponseSite): Promise<unknown> {
  const isBodiless = site.method === 'HEAD' || BODILESS.has(given.status);
  const answer = isBodiless ? given : decoded(given, site);
  const { status, headers } = answer;
  if (status < 200 || status > 299) throw await errorOf(answer, site);
  if (isBodiless) {
    answer.drop();
    return emptyResult(answer, site.secrets);
  }
  const type = (headers['content-type'] ?? '').slice(0, 200);
  const isBinary = type === '' ? undefined : !isText(type);
  const head = isBinary === true ? emptyHead() : await headOf(answer.body, MOST_TEXT);
  if (isBinary !== true && head.isWhole) {
    if (head.bytes.length === 0) return emptyResult(answer, site.secrets);
    // Without a type, or with a wrong one, the bytes tell.
    const text = textOf(head.bytes, type);
    if (text !== undefined) {
      const json = isJson(type) || type === '' ? exactJson(text) : undefined;
      return json === undefined
        ? withoutSecretsIn(text, site.secrets)
        : withoutSecretsInJson(json, site.secrets);
    }
  }
  return await artifactOf(answer, { head, type: type || 'application/octet-stream', site });
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Some servers compress what they are asked not to. Limits count for what comes out. */
function decoded(answer: GuardedStream, { tool }: ResponseSite): GuardedStream {
  const encoding = answer.headers['content-encoding']?.trim().toLowerCase() ?? '';
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]?.() : undefined;
  if (decoder === undefined) return answer;
  // A failure comes out where it is read.
  pipeline(Readable.from(answer.body), decoder, () => undefined);
  const drop = () => {
    decoder.destroy();
    answer.drop();
  };
  async function* read(): AsyncGenerator<Buffer> {
    try {
      yield* decoder as AsyncIterable<Buffer>;
    } catch (error) {
      if (hasCode(error, 'HOLDFAST_FETCH_FAILED')) throw error;
      throw new ToolError(`Error in tool '${tool}': the answer can't be decoded as ${encoding}`, {
        cause: error,
      });
    }
  }
  const body = read();
  return { ...answer, body, drop };
}

/** An answer without a body: of HEAD the headers are the answer. */
function emptyResult(
  { status, headers }: GuardedStream,
  secrets: readonly string[],
): Record<string, unknown> {
  const told = TOLD_HEADERS.flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, withoutSecretsIn(value, secrets).slice(0, LONGEST_HEADER)]];
  });
  return told.length === 0 ? { status } : { status, headers: Object.fromEntries(told) };
}

function isText(type: string): boolean {
  const bare = type.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (isJson(bare) || bare.startsWith('text/') || bare.endsWith('+xml')) return true;
  return [
    'application/xml',
    'application/javascript',
    'application/x-www-form-urlencoded',
    'application/yaml',
    'application/x-yaml',
    'application/x-ndjson',
    'application/graphql',
  ].includes(bare);
}

/** Bytes as UTF-8, or as the type's charset says; undefined for those that are no text. */
function textOf(bytes: Buffer, type = ''): string | undefined {
  const charset = /;\s*charset\s*=\s*"?([\w:.-]{1,40})/i.exec(type)?.[1] ?? 'utf-8';
  for (const label of new Set(['utf-8', charset])) {
    try {
      const text = new TextDecoder(label, { fatal: true }).decode(bytes);
      if (!text.includes('\0')) return text;
    } catch {
      // It is in another one, or in one that nobody knows.
    }
  }
  return undefined;
}

/** JSON whose numbers are those of the text: ids are often longer than a number is exact, and stay a text then. */
function exactJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return parsedJson(text);
  const exact = (_: string, value: unknown, { source }: { source?: string } = {}) => {
    if (typeof value !== 'number' || source === undefined) return value;
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isExact || !/^-?\d+$/.test(source) ? value : source;
  };
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    // It is nested too deeply to be looked at, or is none.
    return error instanceof RangeError ? parsedJson(text) : undefined;
  }
}

interface Head {
  bytes: Buffer;
  isWhole: boolean;
  rest: AsyncIterator<Buffer> | undefined;
}

function emptyHead(): Head {
  return { bytes: Buffer.alloc(0), isWhole: false, rest: undefined };
}

async function headOf(body: AsyncIterable<Buffer>, most: number): Promise<Head> {
  const rest = body[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let size = 0;
  while (size <= most) {
    const next = await rest.next();
    if (next.done === true) return { bytes: Buffer.concat(chunks), isWhole: true, rest: undefined };
    chunks.push(next.value);
    size += next.value.length;
  }
  return { bytes: Buffer.concat(chunks), isWhole: false, rest };
}

async function artifactOf(
  answer: GuardedStream,
  { head, type, site }: { head: Head; type: string; site: ResponseSite },
): Promise<Record<string, unknown>> {
  const { context, tool, maxBytes } = site;
  if (site.isSensitive) {
    answer.drop();
    const problem = `its result is sensitive, and is told only as a text of at most ${MOST_TEXT} bytes: artifacts are listed to people`;
    throw new ToolError(`Error in tool '${tool}': ${problem}; it has run`, {
      code: 'HOLDFAST_HTTP_STATUS',
      retryable: false,
    });
  }
  const mimeType =
    /^[a-z0-9][\w.+-]*\/[a-z0-9][\w.+-]*$/i.exec(type.split(';', 1)[0]?.trim() ?? '')?.[0] ??
    'application/octet-stream';
  const key = context.functionCallId === undefined ? `${Date.now()}` : context.idempotencyKey;
  const digest = createHash('sha256').update(key).digest('hex').slice(0, DIGEST);
  const artifact = `${SPOOLED_FOLDER}${tool}/${digest}`;
  let bytes = 0;
  let first = '';
  const isTextual = formOf(mimeType) !== 'binary';
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of withoutSecretsInStream(chunksOf(answer, head), site.secrets, isTextual)) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        throw new ToolError(
          `Error in tool '${tool}': the answer has more than ${maxBytes} bytes (maxResponseBytes); it has run`,
          {
            code: 'HOLDFAST_HTTP_STATUS',
            retryable: false,
          },
        );
      }
      if (first.length < PREVIEW && isTextual) first += chunk.subarray(0, PREVIEW).toString('utf8');
      yield chunk;
    }
  }
  try {
    const version = await context.saveArtifact(artifact, { stream: counted(), mimeType });
    const preview = isTextual ? `${first.slice(0, PREVIEW).toWellFormed()}…` : undefined;
    const note = isTextual
      ? 'The answer is too large to be told, and kept as an artifact. Query it by the artifact_… tools, which take its name.'
      : 'The answer is no text, and kept as an artifact.';
    return { artifact, version, mimeType, bytes, ...defined({ preview }), note };
  } finally {
    answer.drop();
  }
}

async function* chunksOf({ body }: GuardedStream, { bytes, isWhole, rest }: Head): AsyncGenerator<Buffer> {
  if (bytes.length > 0) yield bytes;
  if (isWhole) return;
  const left = rest ?? body[Symbol.asyncIterator]();
  for (let next = await left.next(); next.done !== true; next = await left.next()) yield next.value;
}

async function errorOf(
  answer: GuardedStream,
  { tool, secrets, isRepeatable, context }: ResponseSite,
): Promise<ToolError> {
  const { status, headers } = answer;
  // The status says more than why its body can't be read.
  const { bytes } = await headOf(answer.body, MOST_TEXT).catch(() => UNREADABLE);
  answer.drop();
  const text = withoutSecretsIn(textOf(bytes, headers['content-type']) ?? '', secrets).trim();
  const body = text.length <= MOST_ERROR ? text : `${text.slice(0, MOST_ERROR).toWellFormed()}… (cut)`;
  const wait = retryAfterOf(headers['retry-after'], Date.now());
  const later = wait === undefined ? '' : `; the server asks to wait ${Math.ceil(wait / 1000)} s`;
  const message = `Error in tool '${tool}': the server answered ${status}${later}${body === '' ? '' : `: ${body}`}`;
  if (OF_PROXIES.has(status) && !isRepeatable)
    return new ToolError(`${message}; it may have run`, { code: 'HOLDFAST_UNKNOWN_OUTCOME' });
  // A request that was refused before it began may be sent again, even a write.
  const isPassing = PASSING.has(status) && (isRepeatable || status === 429);
  const retryable = isPassing && (wait ?? 0) <= LONGEST_WAIT && !context.abortSignal.aborted;
  return new ToolError(message, {
    code: 'HOLDFAST_HTTP_STATUS',
    retryable,
    ...(retryable && wait !== undefined ? { retryAfter: wait } : {}),
  });
}
