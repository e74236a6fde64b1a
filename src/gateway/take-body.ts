import { MOST_LEVELS, tooDeepText } from '../contract/message-limits.ts';
import type { GatewayContext, GatewayMiddleware } from './gateway-app.ts';
import { RequestRefused } from './gateway-errors.ts';

/** Those of what a body carries, and some for what it carries it in. */
const MOST_BODY_LEVELS = MOST_LEVELS + 10;
const TOO_DEEP = `body: ${tooDeepText(MOST_BODY_LEVELS)}`;

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Reads a request's body: JSON in UTF-8 of a bounded size, on every route. A type that a page of another origin could send
 * without asking is none of ours.
 */
export function takeBody(limit: number): GatewayMiddleware {
  return async (context, next) => {
    const { req } = context;
    // Their body is never read, with any headers.
    if (req.raw.method === 'GET' || req.raw.method === 'HEAD') return await next();
    const type = req.header('content-type');
    if (type !== undefined && !JSON_TYPE.test(type))
      throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
    if (!/^(identity)?$/i.test(req.header('content-encoding') ?? ''))
      throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
    const bytes = await readBody(context, limit);
    if (bytes.length > 0 && type === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
    // Hono keeps promises there, against their type.
    const text = textOf(bytes);
    if (isNestedTooDeeply(text)) throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', TOO_DEEP);
    Object.assign(req.bodyCache, { text: Promise.resolve(text) });
    await next();
  };
}

/** Bytes of a refused body that are read, at most. */
const MOST_DRAINED = 16 * 1024 * 1024;

/**
 * Reads the rest of a body that its route has not read, and throws it away: a sender reads the answer after it has sent its body, and a
 * connection that is closed before has no answer.
 */
export const drainBody: GatewayMiddleware = async ({ req }, next) => {
  await next();
  const { body } = req.raw;
  if (body === null || body.locked) return;
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.length;
      if (size > MOST_DRAINED) return;
    }
  } catch {
    // The sender has gone away.
  }
};

/** Bytes of a body as they come; the rest stays to be drained. @throws RequestRefused where it breaks off. */
export async function* bytesOfBody({ req }: GatewayContext): AsyncGenerator<Uint8Array, void, void> {
  try {
    yield* req.raw.body?.values({ preventCancel: true }) ?? [];
  } catch (cause) {
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'body: it breaks off', {}, { cause });
  }
}

/** @throws RequestRefused where it is too large, or breaks off. */
export async function readBody({ req }: GatewayContext, limit: number): Promise<Buffer> {
  if (Number(req.header('content-length') ?? 0) > limit) throw tooLarge(limit);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of whole(req.raw.body)) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** A sender that goes away in the middle is no failure of the gateway. */
async function* whole(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body ?? [];
  } catch (cause) {
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', 'body: it breaks off', {}, { cause });
  }
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE');
  }
}

/** Whether JSON is, without parsing it. Of text that is no JSON it may be said as well. */
function isNestedTooDeeply(text: string): boolean {
  let levels = 0;
  let isInText = false;
  for (let index = 0; index < text.length; index += 1) {
    const sign = text[index];
    if (sign === '"') isInText = !isInText;
    else if (isInText) {
      if (sign === '\\') index += 1;
    } else if (sign === '{' || sign === '[') levels += 1;
    else if (sign === '}' || sign === ']') levels -= 1;
    if (levels > MOST_BODY_LEVELS) return true;
  }
  return false;
}

function tooLarge(limit: number): RequestRefused {
  return new RequestRefused(
    'HOLDFAST_GATEWAY_BODY_TOO_LARGE',
    `the body has more than ${limit} bytes, the most that is taken`,
  );
}
