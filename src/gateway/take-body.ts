import type { GatewayContext, GatewayMiddleware } from './gateway-app.ts';
import { RequestRefused } from './gateway-errors.ts';

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

/**
 * Reads a request's body: JSON in UTF-8 of a bounded size, whatever the route. A type that a page of another origin could send
 * without asking is none of ours.
 */
export function takeBody(limit: number): GatewayMiddleware {
  return async (context, next) => {
    const { req } = context;
    // Nobody reads a body of theirs, whatever their headers say.
    if (req.raw.method === 'GET' || req.raw.method === 'HEAD') return await next();
    const type = req.header('content-type');
    if (type !== undefined && !JSON_TYPE.test(type)) throw new RequestRefused('unsupported type');
    if (!/^(identity)?$/i.test(req.header('content-encoding') ?? ''))
      throw new RequestRefused('unsupported type');
    const bytes = await readBody(context, limit);
    if (bytes.length > 0 && type === undefined) throw new RequestRefused('unsupported type');
    // What Hono keeps there are promises, whatever their type says.
    Object.assign(req.bodyCache, { text: Promise.resolve(textOf(bytes)) });
    await next();
  };
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
    throw new RequestRefused('bad request', 'body: it breaks off', {}, { cause });
  }
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RequestRefused('unsupported type');
  }
}

function tooLarge(limit: number): RequestRefused {
  return new RequestRefused(
    'body too large',
    `the body has more than ${limit} bytes, the most that is taken`,
  );
}
