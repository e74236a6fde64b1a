import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import type { Bucket } from '../../src/artifacts/bucket.ts';
import { folderBucket } from '../../src/artifacts/folder-bucket.ts';
import { BLOCK_BYTES } from '../../src/store/artifacts/blob-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';

let store: PostgresStore;
let folder: string;
let bucket: Bucket;
beforeAll(async () => {
  store = await openStore(await databaseWithStore());
  folder = await mkdtemp(join(tmpdir(), 'holdfast-bucket-'));
  bucket = folderBucket(folder);
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

const newApp = () => `app-${randomUUID()}`;

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

async function readAll(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const block of bytes) {
    expect(block.length).toBeLessThanOrEqual(BLOCK_BYTES);
    read.push(block);
  }
  return Buffer.concat(read);
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Sizes around the borders of blocks. */
const size = fc.oneof(
  fc.nat(3),
  fc.constantFrom(BLOCK_BYTES - 1, BLOCK_BYTES, BLOCK_BYTES + 1, 2 * BLOCK_BYTES, 2 * BLOCK_BYTES + 7),
);

test.each(['the store', 'a bucket'])(
  'bytes in %s are read as they were saved, whole and in ranges [artifact.bytes]',
  async (where) => {
    const bytesOf = new ArtifactBytes(store.blobs, where === 'a bucket' ? { bucket } : {});
    await fc.assert(
      fc.asyncProperty(
        size,
        fc.integer({ min: 1_000, max: 3_000_000 }),
        fc.nat(),
        fc.nat(),
        async (length, piece, from, to) => {
          const bytes = randomBytes(length);
          const app = newApp();
          const kept = await bytesOf.keep(app, pieces(bytes, piece));
          expect(kept).toMatchObject({ size: length, sha256: sha256(bytes) });
          expect((await readAll(bytesOf.read(kept.blob))).equals(bytes)).toBe(true);
          const [start, end] = [from % (length + 2), to % (length + 2)];
          const part = await readAll(bytesOf.read(kept.blob, { start, end }));
          expect(part.equals(bytes.subarray(start, Math.max(start, end)))).toBe(true);
          // The same bytes again, whole this time, are the same blob.
          expect((await bytesOf.keep(app, bytes)).blob).toBe(kept.blob);
        },
      ),
      { numRuns: 12 },
    );
  },
);

test('bytes above the limit of the store go to the bucket, and smaller ones never [artifact.bytes]', async () => {
  const bytesOf = new ArtifactBytes(store.blobs, { bucket, storeLimit: 2 * BLOCK_BYTES });
  const small = await bytesOf.keep(newApp(), randomBytes(2 * BLOCK_BYTES));
  const large = await bytesOf.keep(newApp(), randomBytes(2 * BLOCK_BYTES + 1));
  expect(await store.blobs.find(small.blob)).not.toHaveProperty('bucket');
  expect(await store.blobs.find(large.blob)).toMatchObject({ bucket: bucket.url });
});

test('more bytes than an artifact may have are refused, as soon as they are seen [artifact.bytes]', async () => {
  let sent = 0;
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) {
      sent += BLOCK_BYTES;
      yield Buffer.alloc(BLOCK_BYTES);
    }
  }
  const bytesOf = new ArtifactBytes(store.blobs, { mostBytes: 3 * BLOCK_BYTES });
  await expect(bytesOf.keep(newApp(), endless())).rejects.toMatchObject({
    code: 'HOLDFAST_ARTIFACT_TOO_LARGE',
  });
  expect(sent).toBeLessThanOrEqual(5 * BLOCK_BYTES);
});

test('bytes that have changed since are not handed out, and the error names both checksums [artifact.checksum]', async () => {
  const bytesOf = new ArtifactBytes(store.blobs, { bucket });
  const bytes = randomBytes(3 * BLOCK_BYTES);
  const { blob } = await bytesOf.keep(newApp(), bytes);
  const place = join(folder, blob.slice(0, 2), blob);
  const kept = await readFile(place);
  kept[BLOCK_BYTES + 5] = (kept[BLOCK_BYTES + 5] ?? 0) ^ 1;
  await writeFile(place, kept);
  expect((await readAll(bytesOf.read(blob, { end: BLOCK_BYTES }))).length).toBe(BLOCK_BYTES);
  const expected = sha256(bytes.subarray(BLOCK_BYTES, 2 * BLOCK_BYTES));
  const found = sha256(kept.subarray(BLOCK_BYTES, 2 * BLOCK_BYTES));
  const problem = await readAll(bytesOf.read(blob)).catch(
    (error: unknown) => error as Error & { code: string },
  );
  expect(problem).toMatchObject({ code: 'HOLDFAST_ARTIFACT_CORRUPT' });
  expect((problem as Error).message).toContain(expected);
  expect((problem as Error).message).toContain(found);
  // Cut off at a block's end, nothing is wrong with any block.
  await writeFile(place, bytes.subarray(0, 2 * BLOCK_BYTES));
  await expect(readAll(bytesOf.read(blob))).rejects.toMatchObject({ code: 'HOLDFAST_ARTIFACT_CORRUPT' });
  await rm(place);
  await expect(readAll(bytesOf.read(blob))).rejects.toMatchObject({ code: 'HOLDFAST_BUCKET_FAILED' });
});

test('a source that fails leaves no file, and what it left in the store is collected [artifact.garbage]', async () => {
  const bytesOf = new ArtifactBytes(store.blobs, { bucket });
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield randomBytes(2 * BLOCK_BYTES);
    throw new Error('the line was cut');
  }
  const before = (await readdir(folder, { recursive: true })).length;
  await expect(bytesOf.keep(newApp(), failing())).rejects.toThrow('the line was cut');
  const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  expect(files.filter(({ name }) => name.endsWith('.part'))).toEqual([]);
  expect((await readdir(folder, { recursive: true })).length).toBeLessThanOrEqual(before + 1);
});

test('what nobody uses is removed from its bucket, also after a failure [artifact.garbage]', async () => {
  let refuses = true;
  const unwilling: Bucket = {
    ...bucket,
    url: `file:///unwilling-${randomUUID()}`,
    async remove(key) {
      if (refuses) throw new Error('not now');
      await bucket.remove(key);
    },
  };
  const bytesOf = new ArtifactBytes(store.blobs, { bucket: unwilling, formerBuckets: [bucket] });
  const { blob } = await bytesOf.keep(newApp(), randomBytes(BLOCK_BYTES + 1));
  const expire = () =>
    store.db
      .updateTable('holdfast.blobs')
      .set({ used_until: new Date(0) } as never)
      .where('id', '=', blob)
      .execute();
  await expire();
  expect((await bytesOf.collect()).failures).toEqual([new Error('not now')]);
  expect(await store.blobs.find(blob)).toBeUndefined();
  refuses = false;
  await expire();
  expect(await bytesOf.collect()).toEqual({ removed: 1, failures: [] });
  await expect(readFile(join(folder, blob.slice(0, 2), blob))).rejects.toThrow('ENOENT');
});

test('a bucket that this process does not know is named [artifact.bytes]', async () => {
  const { blob } = await new ArtifactBytes(store.blobs, { bucket }).keep(
    newApp(),
    randomBytes(BLOCK_BYTES + 1),
  );
  await expect(readAll(new ArtifactBytes(store.blobs).read(blob))).rejects.toMatchObject({
    code: 'HOLDFAST_UNKNOWN_BUCKET',
    message: expect.stringContaining(bucket.url),
  });
});

test('bytes that don’t come whole leave nothing in the store [artifact.bytes]', async () => {
  const begun: string[] = [];
  const blobs = {
    ...store.blobs,
    begin: async (blob: { app: string }) => {
      begun.push(await store.blobs.begin(blob));
      return begun.at(-1) as string;
    },
  };
  async function* breaking() {
    yield randomBytes(2 * BLOCK_BYTES);
    const first = await store.blobs.read({ id: begun[0] as string, nth: 0 });
    expect(first?.length).toBe(BLOCK_BYTES);
    throw new Error('the client has gone');
  }
  await expect(new ArtifactBytes(blobs).keep(newApp(), breaking())).rejects.toThrow('the client has gone');
  const large = pieces(randomBytes(3 * BLOCK_BYTES), BLOCK_BYTES);
  await expect(
    new ArtifactBytes(blobs, { mostBytes: 2 * BLOCK_BYTES }).keep(newApp(), large),
  ).rejects.toThrow();
  expect(begun).toHaveLength(2);
  for (const id of begun) expect(await store.blobs.read({ id, nth: 0 })).toBeUndefined();
});
