import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { geminiErrorBody } from './gemini-error.ts';
import type { ContentReply, ErrorReply, GeminiPace, GeminiReply } from './gemini-reply.ts';
import type { GeminiRoute } from './gemini-request.ts';
import {
  blockedResponse,
  contentChunks,
  mergeChunks,
  type ResponseContext,
  rawChunks,
  wholeContent,
} from './gemini-stream.ts';

/** A write failed: the client is gone, though its socket has not closed yet. */
export class ConnectionLost extends Error {
  constructor(cause: Error) {
    super('The client closed the connection.', { cause });
    this.name = 'ConnectionLost';
  }
}

export type SendContext = Omit<ResponseContext, 'wordsPerChunk'> &
  Readonly<{
    response: ServerResponse;
    route: GeminiRoute;
    pace: Required<GeminiPace>;
    signal: AbortSignal;
    /** Called before the mock server itself cuts the connection. */
    onCut: () => void;
  }>;

/** Sends a reply. Rejects with an AbortError as soon as `signal` aborts, or with {@link ConnectionLost}. */
export async function sendReply(reply: GeminiReply, context: SendContext): Promise<void> {
  const { response, route, signal } = context;
  const pace = { ...context.pace, ...reply.pace };
  const building = { ...context, wordsPerChunk: pace.wordsPerChunk };
  const stream = () => openStream(response, route.sse, pace.chunkDelayMs, signal);
  if (pace.latencyMs > 0) await sleep(pace.latencyMs, undefined, { signal });

  switch (reply.kind) {
    case 'hang':
      if (!signal.aborted) await once(signal, 'abort');
      return;
    case 'disconnect':
      await cut(reply.after, reply.afterChunks, context, building);
      return;
    case 'error':
      if (route.streaming && reply.after) {
        const write = stream();
        for (const chunk of withoutEnd(contentChunks(reply.after, building))) await write(chunk);
        await write(errorBody(reply));
        return write.end();
      }
      return sendError(reply, response);
  }

  const chunks =
    reply.kind === 'content'
      ? route.streaming
        ? contentChunks(reply, building)
        : [wholeContent(reply, building)]
      : reply.kind === 'raw'
        ? rawChunks(reply, building)
        : [blockedResponse(reply, building)];
  if (!route.streaming) return sendJson(response, 200, mergeChunks(chunks));
  const write = stream();
  for (const chunk of chunks) await write(chunk);
  write.end();
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json; charset=UTF-8',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

function sendError(reply: ErrorReply, response: ServerResponse): void {
  const { retryAfterMs } = reply;
  const headers = retryAfterMs !== undefined && { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) };
  sendJson(response, reply.status, errorBody(reply), { ...headers });
}

function errorBody({ status, message, retryAfterMs, details }: ErrorReply): object {
  const retryInfo = retryAfterMs !== undefined && {
    '@type': 'type.googleapis.com/google.rpc.RetryInfo',
    retryDelay: `${retryAfterMs / 1000}s`,
  };
  return geminiErrorBody(status, message, [...(retryInfo ? [retryInfo] : []), ...details]);
}

/** Chunks of a response that breaks off: none of them says that it is finished. */
function withoutEnd(chunks: ReturnType<typeof contentChunks>): object[] {
  return chunks.map((chunk) => ({
    ...chunk,
    candidates: chunk.candidates?.map(({ finishReason: _, ...candidate }) => candidate),
  }));
}

async function cut(
  after: ContentReply | undefined,
  afterChunks: number,
  { response, route, pace, signal, onCut }: SendContext,
  building: ResponseContext,
): Promise<void> {
  if (after && route.streaming) {
    const write = openStream(response, route.sse, pace.chunkDelayMs, signal);
    for (const chunk of withoutEnd(contentChunks(after, building)).slice(0, afterChunks)) await write(chunk);
  } else if (after) {
    const body = Buffer.from(JSON.stringify(wholeContent(after, building)));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    await flushed(response, body.subarray(0, Math.ceil(body.length / 2)));
  }
  onCut();
  response.destroy();
}

type StreamWriter = ((chunk: object) => Promise<void>) & { end: () => void };

/** Server-sent events, or without `alt=sse` one JSON array, as the API does. */
function openStream(
  response: ServerResponse,
  sse: boolean,
  chunkDelayMs: number,
  signal: AbortSignal,
): StreamWriter {
  response.writeHead(200, {
    'content-type': sse ? 'text/event-stream' : 'application/json; charset=UTF-8',
    'cache-control': 'no-cache',
  });
  let count = 0;
  const write = async (chunk: object) => {
    // Without a pause of its own a chunk yields all the same, or a long stream would starve a client in this process.
    if (count > 0) await (chunkDelayMs > 0 ? sleep(chunkDelayMs, undefined, { signal }) : nextTurn());
    signal.throwIfAborted();
    const json = JSON.stringify(chunk);
    await flushed(response, sse ? `data: ${json}\r\n\r\n` : `${count > 0 ? ',\r\n' : '['}${json}`);
    count++;
  };
  return Object.assign(write, { end: () => response.end(sse ? '' : count > 0 ? ']' : '[]') });
}

async function flushed(response: ServerResponse, data: string | Uint8Array): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  response.write(data, (cause) => (cause ? reject(new ConnectionLost(cause)) : resolve()));
  await promise;
}
