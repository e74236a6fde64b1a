import { Readable } from 'node:stream';
import type { ArtifactFile, Artifacts, GetArtifact } from '../../client/artifacts/artifacts.ts';
import type { GatewayContext } from '../gateway-app.ts';

/** Bytes from `start` up to `end`, which is not among them. */
interface ByteRange {
  start: number;
  end: number;
}

const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** The bytes of an artifact, as a request for them says: all, a range, or none where its sender has them. */
export async function download(
  context: GatewayContext,
  artifacts: Pick<Artifacts, 'get'>,
  which: GetArtifact,
): Promise<Response> {
  const { signal } = context.req.raw;
  const whole = await artifacts.get({ ...which, signal });
  if (isKnown(context, whole)) return context.body(null, 304, headersOf(whole));
  const range = rangeOf(context.req.header('range'), whole.size, ifRange(context, whole));
  if (range === 'unsatisfiable') {
    return context.body(null, 416, { ...headersOf(whole), 'content-range': `bytes */${whole.size}` });
  }
  if (range === undefined) return await bytesAnswer(context, whole, range);
  // The version that the headers name may not be the newest by now.
  const part = await artifacts.get({ ...which, version: whole.version, ...range, signal });
  return await bytesAnswer(context, part, range);
}

/** Reads the first bytes before the answer begins: if they can’t be read, the answer is an error, and does not break off. */
async function bytesAnswer(
  context: GatewayContext,
  file: ArtifactFile,
  range: ByteRange | undefined,
): Promise<Response> {
  const { start, end } = range ?? { start: 0, end: file.size };
  const headers = {
    ...headersOf(file),
    'content-length': String(end - start),
    ...(range === undefined ? {} : { 'content-range': `bytes ${start}-${end - 1}/${file.size}` }),
  };
  const status = range === undefined ? 200 : 206;
  if (context.req.method === 'HEAD') return context.body(null, status, headers);
  const blocks = file.bytes[Symbol.asyncIterator]();
  const first = await blocks.next();
  const all = Readable.from(from(first, blocks), { objectMode: false });
  return context.body(Readable.toWeb(all) as ReadableStream<Uint8Array>, status, headers);
}

async function* from(
  first: IteratorResult<Uint8Array>,
  blocks: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for (let next = first; next.done !== true; next = await blocks.next()) yield next.value;
  } finally {
    await blocks.return?.();
  }
}

/** Users and models have written the bytes: no browser shows them as a page of the gateway. */
function headersOf({ name, version, mimeType, sha256 }: ArtifactFile): Record<string, string> {
  return {
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-cache',
    'content-disposition': `attachment; filename*=UTF-8''${encodeURIComponent(name.split('/').at(-1) ?? name)}`,
    'content-security-policy': "default-src 'none'; sandbox",
    'content-type': mimeType ?? 'application/octet-stream',
    etag: `"${sha256}"`,
    'x-artifact-version': String(version),
    'x-content-type-options': 'nosniff',
  };
}

function isKnown({ req }: GatewayContext, { sha256 }: ArtifactFile): boolean {
  const tags = (req.header('if-none-match') ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(`"${sha256}"`);
}

/** Whether the range is of these bytes, as its sender has made sure. */
function ifRange({ req }: GatewayContext, { sha256 }: ArtifactFile): boolean {
  const tag = req.header('if-range');
  return tag === undefined || tag === `"${sha256}"`;
}

/**
 * The bytes that a `Range` header asks for, as RFC 9110 has it. Undefined for all of them: without the header, for several ranges, for one
 * that can't be read, and where the bytes are others than the sender's.
 */
function rangeOf(
  header: string | undefined,
  size: number,
  isOfTheseBytes: boolean,
): ByteRange | 'unsatisfiable' | undefined {
  const [, first = '', last = ''] = ONE_RANGE.exec(header ?? '') ?? [];
  if (!isOfTheseBytes || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}
