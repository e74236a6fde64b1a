import { LONGEST_MEDIA_TYPE, MEDIA_TYPE } from '../contract/artifacts.ts';
import type { Part } from '../events/content.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { ArtifactContent } from '../store/artifacts/artifact-store.ts';
import type { ArtifactBytes, ByteSource } from './artifact-bytes.ts';
import { ArtifactTooLarge, InvalidArtifact } from './artifact-errors.ts';

/** Bytes to save as they come, so that none but a block of them is in memory. */
export interface ArtifactStream {
  stream: ByteSource;
  /** Such as `application/pdf`. */
  mimeType: string;
  /** File name for people. */
  displayName?: string;
  /** JSON. */
  customMetadata?: Record<string, unknown>;
}

/** Bytes that are handed out as one part, which is base64 in memory. */
const MOST_PART_BYTES = 64 * 1024 * 1024;
const LONGEST_TEXT = 2_000;

/**
 * Keeps the bytes of a part, or of a stream.
 *
 * @throws InvalidArtifact, ArtifactTooLarge, BucketFailed
 */
export async function keptContent(
  bytes: ArtifactBytes,
  app: string,
  artifact: Part | ArtifactStream,
  signal?: AbortSignal,
): Promise<ArtifactContent> {
  const described = descriptionOf(artifact);
  if ('uri' in described) return described;
  const { source, ...content } = described;
  const { blob } = await bytes.keep(app, source, signal);
  return { ...content, blob } as ArtifactContent;
}

type Described =
  | Extract<ArtifactContent, { kind: 'file' }>
  | { kind: 'text'; source: ByteSource }
  | { kind: 'inline'; source: ByteSource; mimeType: string; displayName?: string };

function descriptionOf(artifact: unknown): Described {
  if (!isRecord(artifact)) throw invalid(`expected a part, got ${kindOf(artifact)}`);
  const { inlineData, text, fileData, stream } = artifact;
  if (stream !== undefined) {
    return { kind: 'inline', source: byteSource(stream), ...typed(artifact, 'application/octet-stream') };
  }
  if (isRecord(inlineData)) {
    const { data } = inlineData;
    if (typeof data !== 'string' && !(data instanceof Uint8Array))
      throw invalid('inlineData.data: expected base64');
    const source = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
    return { kind: 'inline', source, ...typed(inlineData, 'application/octet-stream') };
  }
  if (typeof text === 'string') return { kind: 'text', source: Buffer.from(text) };
  if (isRecord(fileData)) {
    const uri = fileData.fileUri;
    if (typeof uri !== 'string' || uri === '' || uri.length > LONGEST_TEXT) {
      throw invalid(`fileData.fileUri: expected an address of at most ${LONGEST_TEXT} characters`);
    }
    return { kind: 'file', uri, ...typed(fileData) };
  }
  throw invalid('expected a part with inlineData, text or fileData, or a stream');
}

/**
 * The artifact as a part. A stream is read into memory.
 *
 * @throws InvalidArtifact; ArtifactTooLarge for a stream of more than 64 MiB.
 */
export async function partFrom(artifact: Part | ArtifactStream): Promise<Part> {
  const described = descriptionOf(artifact);
  if (!('stream' in artifact) || described.kind !== 'inline') return artifact as Part;
  const { source, mimeType, displayName } = described;
  const read = await collected(source instanceof Uint8Array ? [source] : source, 'the stream');
  return { inlineData: { data: read.toString('base64'), mimeType, ...defined({ displayName }) } };
}

async function collected(
  source: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | Iterable<Uint8Array>,
  name: string,
): Promise<Buffer> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const block of source) {
    size += block.length;
    if (size > MOST_PART_BYTES) {
      throw new ArtifactTooLarge(
        `${name} has more than ${MOST_PART_BYTES} bytes, too many for one part: read it with openArtifact`,
      );
    }
    read.push(block);
  }
  return Buffer.concat(read);
}

function typed(of: Record<string, unknown>, otherwise: string): { mimeType: string; displayName?: string };
function typed(of: Record<string, unknown>): { mimeType?: string; displayName?: string };
function typed({ mimeType, displayName }: Record<string, unknown>, otherwise?: string) {
  const type = mimeType ?? otherwise;
  if (
    type !== undefined &&
    !(typeof type === 'string' && type.length <= LONGEST_MEDIA_TYPE && MEDIA_TYPE.test(type))
  ) {
    throw invalid(`mimeType: expected one such as "application/pdf", got ${shown(type)}`);
  }
  if (displayName !== undefined && !(typeof displayName === 'string' && displayName.length <= LONGEST_TEXT)) {
    throw invalid(`displayName: expected a text of at most ${LONGEST_TEXT} characters`);
  }
  return defined({ mimeType: type, displayName });
}

function byteSource(stream: unknown): ByteSource {
  const isSource =
    stream instanceof Uint8Array ||
    (typeof stream === 'object' && stream !== null && Symbol.asyncIterator in stream);
  if (!isSource) throw invalid(`stream: expected bytes or an async iterable of bytes, got ${kindOf(stream)}`);
  return stream as ByteSource;
}

function shown(value: unknown): string {
  return typeof value === 'string'
    ? JSON.stringify(value.slice(0, LONGEST_MEDIA_TYPE).toWellFormed())
    : kindOf(value);
}

function invalid(problem: string): InvalidArtifact {
  return new InvalidArtifact(`this is no artifact: ${problem}`);
}

/**
 * The part that was saved.
 *
 * @throws ArtifactTooLarge for more than 64 MiB, ArtifactCorrupt, BucketFailed, UnknownBucket
 */
export async function partOf(bytes: ArtifactBytes, name: string, content: ArtifactContent): Promise<Part> {
  if (content.kind === 'file') {
    const { uri: fileUri, mimeType, displayName } = content;
    return { fileData: { fileUri, ...defined({ mimeType, displayName }) } };
  }
  const whole = await collected(bytes.read(content.blob), JSON.stringify(name));
  if (content.kind === 'text') return { text: whole.toString() };
  const { mimeType, displayName } = content;
  return { inlineData: { data: whole.toString('base64'), mimeType, ...defined({ displayName }) } };
}
