import { createHash, type Hash } from 'node:crypto';
import { variable } from '../environment.ts';
import { defined } from '../protocol/json.ts';
import { BLOCK_BYTES, type Blob, type BlobStore } from '../store/artifacts/blob-store.ts';
import { ArtifactCollected } from '../store/store-errors.ts';
import { ArtifactCorrupt, ArtifactTooLarge, UnknownBucket } from './artifact-errors.ts';
import type { Bucket } from './bucket.ts';
import { bucketOfUrl } from './bucket-of-url.ts';

/** Bytes to keep: all at once, or as they come. */
export type ByteSource = Uint8Array | AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>;

/** Bytes that were kept. */
export interface KeptBytes {
  blob: string;
  /** Hexadecimal. */
  sha256: string;
  size: number;
}

/** Place of the bytes of artifacts. */
export interface ArtifactBytesOptions {
  /**
   * Keeps bytes of more than `storeLimit`; without it the store keeps all. A bucket, or its address: `s3://…`, `gs://…`, `file:///…`.
   *
   * @default HOLDFAST_ARTIFACTS
   */
  bucket?: Bucket | string;
  /** Further buckets, whose bytes are read. */
  formerBuckets?: readonly (Bucket | string)[];
  /** Bytes up to which the store itself keeps an artifact where there is a bucket; 1 MiB at least. @default 1 MiB */
  storeLimit?: number;
  /** Bytes of the largest artifact. @default 100 MiB without a bucket, 50 GiB with one */
  mostBytes?: number;
}

const DIGEST_BYTES = 32;
const MOST_IN_STORE = 100 * 1024 * 1024;
const MOST_IN_BUCKET = 50 * 1024 * 1024 * 1024;

/** Reads and writes bytes of artifacts, a block at a time, and verifies each block that is read. */
export class ArtifactBytes {
  readonly #blobs: BlobStore;
  readonly #bucket: Bucket | undefined;
  readonly #buckets: ReadonlyMap<string, Bucket>;
  readonly #storeLimit: number;
  readonly #mostBytes: number;

  /** @throws DefinitionError for an address of a bucket that is none. */
  constructor(blobs: BlobStore, options: ArtifactBytesOptions = {}) {
    const { bucket: given, formerBuckets = [], storeLimit = BLOCK_BYTES } = options;
    const bucket = given === undefined ? undefined : opened(given, 'bucket');
    const former = formerBuckets.map((each, index) => opened(each, `formerBuckets[${index}]`));
    this.#blobs = blobs;
    this.#bucket = bucket;
    this.#buckets = new Map([...former, ...(bucket ? [bucket] : [])].map((each) => [each.url, each]));
    this.#mostBytes = options.mostBytes ?? (bucket ? MOST_IN_BUCKET : MOST_IN_STORE);
    this.#storeLimit = bucket ? storeLimit : this.#mostBytes;
  }

  /** With the bucket of `HOLDFAST_ARTIFACTS` where the options name none. */
  static of(blobs: BlobStore, options: ArtifactBytesOptions = {}): ArtifactBytes {
    const bucket = options.bucket ?? variable('HOLDFAST_ARTIFACTS');
    return new ArtifactBytes(blobs, { ...options, ...defined({ bucket }) });
  }

  /**
   * Keeps bytes for as long as a version uses them, and for a week before.
   *
   * @throws ArtifactTooLarge, BucketFailed
   */
  async keep(app: string, source: ByteSource, signal?: AbortSignal): Promise<KeptBytes> {
    const blocks = new Blocks(source, this.#mostBytes);
    const first = await blocks.next();
    if (blocks.isOver) {
      const bytes = first ?? new Uint8Array();
      const { sha256, size } = blocks.digest();
      return { blob: await this.#blobs.put({ app, sha256, bytes }), sha256, size };
    }
    const ahead = await blocks.upTo(this.#storeLimit, first as Uint8Array);
    return this.#bucket === undefined || blocks.size <= this.#storeLimit
      ? this.#keepInStore(app, blocks, ahead)
      : this.#keepInBucket(app, this.#bucket, blocks, ahead, signal);
  }

  /**
   * Bytes of a blob, verified.
   *
   * @param range bytes from `start`, by default 0, up to `end`, by default the last one
   * @throws ArtifactCorrupt, BucketFailed, UnknownBucket
   */
  async *read(
    id: string,
    range: { start?: number; end?: number } = {},
  ): AsyncGenerator<Uint8Array, void, void> {
    const blob = await this.#blobs.find(id);
    if (blob === undefined)
      throw new ArtifactCorrupt(`the bytes of this artifact are not in the store (blob ${id})`);
    const start = Math.min(range.start ?? 0, blob.size);
    const end = Math.min(range.end ?? blob.size, blob.size);
    if (start >= end) return;
    let nth = Math.floor(start / BLOCK_BYTES);
    for await (const block of this.#blocksOf(blob, nth, Math.ceil(end / BLOCK_BYTES))) {
      verify(blob, nth, block);
      const offset = nth * BLOCK_BYTES;
      yield block.subarray(Math.max(start - offset, 0), Math.min(end - offset, block.length));
      nth += 1;
    }
    if (nth * BLOCK_BYTES < end)
      throw new ArtifactCorrupt(`blob ${id} ends before byte ${end}: its block ${nth} is missing`);
  }

  /** Removes bytes that nobody uses. Those that could not be removed are tried again ten minutes later, by any process. */
  async collect(atMost = 100): Promise<{ removed: number; failures: unknown[] }> {
    const failures: unknown[] = [];
    let removed = 0;
    for (const { id, bucket } of await this.#blobs.giveUp(atMost)) {
      try {
        if (bucket !== undefined) await this.#bucketOf(bucket).remove(id);
        await this.#blobs.drop(id);
        removed += 1;
      } catch (error) {
        failures.push(error);
      }
    }
    return { removed, failures };
  }

  async #keepInStore(app: string, blocks: Blocks, ahead: readonly Uint8Array[]): Promise<KeptBytes> {
    const id = await this.#blobs.begin({ app });
    let nth = 0;
    try {
      for await (const bytes of chained(ahead, blocks)) {
        await this.#blobs.write({ id, nth, bytes });
        nth += 1;
      }
    } catch (error) {
      // Uploads that break off would fill the store. If the store is away, they are collected a day later.
      await Promise.allSettled([this.#blobs.drop(id)]);
      throw error;
    }
    return this.#finished(id, blocks);
  }

  async #keepInBucket(
    app: string,
    bucket: Bucket,
    blocks: Blocks,
    ahead: readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<KeptBytes> {
    const id = await this.#blobs.begin({ app, bucket: bucket.url });
    await bucket.write(id, chained(ahead, blocks), defined({ signal }));
    return this.#finished(id, blocks);
  }

  async #finished(id: string, blocks: Blocks): Promise<KeptBytes> {
    const digest = blocks.digest();
    const blob = await this.#blobs.finish({ id, ...digest });
    if (blob === undefined) throw new ArtifactCollected('these bytes took more than a day to be written');
    const { sha256, size } = digest;
    return { blob, sha256, size };
  }

  async *#blocksOf(blob: Blob, from: number, to: number): AsyncGenerator<Uint8Array, void, void> {
    if (blob.bucket !== undefined) {
      const range = { start: from * BLOCK_BYTES, end: Math.min(to * BLOCK_BYTES, blob.size) };
      yield* inBlocks(this.#bucketOf(blob.bucket).read(blob.id, range));
      return;
    }
    for (let nth = from; nth < to; nth += 1) {
      const bytes = await this.#blobs.read({ id: blob.id, nth });
      if (bytes === undefined) return;
      yield bytes;
    }
  }

  #bucketOf(url: string): Bucket {
    const bucket = this.#buckets.get(url);
    if (bucket !== undefined) return bucket;
    throw new UnknownBucket(
      `the bytes are in ${url}, which this process does not know: add it to formerBuckets`,
    );
  }
}

function opened(given: Bucket | string, field: string): Bucket {
  return typeof given === 'string' ? bucketOfUrl(given, field) : given;
}

/** Bytes as blocks of one size but the last, with their digests. */
class Blocks {
  readonly #blocks: AsyncIterator<Uint8Array>;
  readonly #most: number;
  readonly #whole: Hash = createHash('sha256');
  readonly #digests: Buffer[] = [];
  size = 0;
  /** All of them were read. */
  isOver = false;

  constructor(source: ByteSource, most: number) {
    this.#blocks = inBlocks(source instanceof Uint8Array ? slices(source) : source)[Symbol.asyncIterator]();
    this.#most = most;
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.isOver) return undefined;
    const { value, done } = await this.#blocks.next();
    if (done === true) {
      this.isOver = true;
      return undefined;
    }
    this.size += value.length;
    if (this.size > this.#most) throw tooLarge(this.#most);
    this.#whole.update(value);
    this.#digests.push(createHash('sha256').update(value).digest());
    this.isOver = value.length < BLOCK_BYTES;
    return value;
  }

  /** `first` and those after it, until there are more bytes than `bytes`. */
  async upTo(bytes: number, first: Uint8Array): Promise<Uint8Array[]> {
    const read = [first];
    // Without a bucket all goes to the store, whatever comes.
    while (!this.isOver && this.size <= bytes && bytes < this.#most) {
      const next = await this.next();
      if (next !== undefined) read.push(next);
    }
    return read;
  }

  digest(): { sha256: string; size: number; blockDigests: Uint8Array } {
    const blockDigests = Buffer.concat(this.#digests);
    return { sha256: this.#whole.digest('hex'), size: this.size, blockDigests };
  }
}

function tooLarge(most: number): ArtifactTooLarge {
  return new ArtifactTooLarge(
    `the artifact has more than ${most} bytes; keep large artifacts in a bucket (\`artifacts.bucket\`), or raise \`artifacts.mostBytes\``,
  );
}

async function* chained(
  ahead: readonly Uint8Array[],
  blocks: Blocks,
): AsyncGenerator<Uint8Array, void, void> {
  yield* ahead;
  for (let block = await blocks.next(); block !== undefined; block = await blocks.next()) yield block;
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  for (let start = 0; start < bytes.length; start += BLOCK_BYTES)
    yield bytes.subarray(start, start + BLOCK_BYTES);
}

async function* inBlocks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let held: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    for (let rest: Uint8Array = piece; rest.length > 0; ) {
      const taken = rest.subarray(0, BLOCK_BYTES - size);
      rest = rest.subarray(taken.length);
      held.push(taken);
      size += taken.length;
      if (size === BLOCK_BYTES) {
        yield held.length === 1 ? taken : Buffer.concat(held);
        held = [];
        size = 0;
      }
    }
  }
  if (size > 0) yield Buffer.concat(held);
}

function verify({ id, size, blockDigests }: Blob, nth: number, block: Uint8Array): void {
  const expected = Buffer.from(blockDigests.subarray(nth * DIGEST_BYTES, (nth + 1) * DIGEST_BYTES)).toString(
    'hex',
  );
  const found = createHash('sha256').update(block).digest('hex');
  if (expected === found) return;
  const last = Math.min((nth + 1) * BLOCK_BYTES, size);
  throw new ArtifactCorrupt(
    `bytes ${nth * BLOCK_BYTES} to ${last} of blob ${id} have the SHA-256 ${found}; ${expected} was saved`,
  );
}
