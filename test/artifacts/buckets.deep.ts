import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import type { Bucket } from '../../src/artifacts/bucket.ts';
import { folderBucket } from '../../src/artifacts/folder-bucket.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { OBJECT_STORES, type ServedBucket } from '../setup/object-stores.ts';

const MIB = 1024 * 1024;

const SERVERS: typeof OBJECT_STORES = {
  folder: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-folder-bucket-'));
    return {
      bucket: folderBucket(folder),
      stop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  ...OBJECT_STORES,
};

async function* blocks(content: Buffer): AsyncGenerator<Uint8Array, void, void> {
  for (let at = 0; at < content.length; at += MIB) yield content.subarray(at, at + MIB);
}

async function whole(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const block of source) read.push(block);
  return Buffer.concat(read);
}

describe.each(Object.entries(SERVERS))('a bucket of %s', (name, serve) => {
  let served: ServedBucket;
  let bucket: Bucket;
  let store: Store;
  let folder: string;
  // Three parts of an upload, and a bit.
  const content = randomBytes(25 * MIB + 77);

  beforeAll(async () => {
    served = await serve();
    bucket = served.bucket;
    folder = mkdtempSync(join(tmpdir(), 'holdfast-bucket-store-'));
    store = await openStore({ folder });
  }, 900_000);
  afterAll(async () => {
    await store?.close();
    await served?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('gives what was written, whole and in ranges [artifact.bucket]', async () => {
    const key = randomUUID();
    await bucket.write(key, blocks(content));
    expect((await whole(bucket.read(key, { start: 0, end: content.length }))).equals(content)).toBe(true);
    for (const [start, end] of [
      [0, 1],
      [8 * MIB - 3, 8 * MIB + 3],
      [content.length - 1, content.length],
    ] as const) {
      expect((await whole(bucket.read(key, { start, end }))).equals(content.subarray(start, end))).toBe(true);
    }
    await bucket.remove(key);
    await expect(whole(bucket.read(key, { start: 0, end: 1 }))).rejects.toMatchObject({
      code: 'HOLDFAST_BUCKET_FAILED',
    });
    await bucket.remove(key);
  });

  test('keeps what was written first [artifact.bucket]', async () => {
    // Keys of a folder are random, and nobody else writes there.
    if (name === 'folder') return;
    const key = randomUUID();
    await bucket.write(key, blocks(Buffer.from('first')));
    await expect(bucket.write(key, blocks(Buffer.from('second')))).rejects.toMatchObject({
      code: 'HOLDFAST_BUCKET_FAILED',
    });
    expect((await whole(bucket.read(key, { start: 0, end: 5 }))).toString()).toBe('first');
  });

  test('has nothing of a write that was given up [artifact.bucket]', async () => {
    const key = randomUUID();
    const ended = new AbortController();
    async function* endless() {
      for (let nth = 0; ; nth += 1) {
        if (nth === 12) ended.abort(new Error('given up'));
        yield Buffer.alloc(MIB, nth);
      }
    }
    await expect(bucket.write(key, endless(), { signal: ended.signal })).rejects.toThrow('given up');
    await expect(whole(bucket.read(key, { start: 0, end: 1 }))).rejects.toMatchObject({
      code: 'HOLDFAST_BUCKET_FAILED',
    });
  });

  test('keeps artifacts, verified as they are read, and gives up those that nobody uses [artifact.bucket]', async () => {
    const bytes = new ArtifactBytes(store.blobs, { bucket });
    const { blob, size } = await bytes.keep('shop', blocks(content));
    expect(size).toBe(content.length);
    expect((await whole(bytes.read(blob))).equals(content)).toBe(true);
    expect(
      (await whole(bytes.read(blob, { start: 9 * MIB, end: 9 * MIB + 5 }))).equals(
        content.subarray(9 * MIB, 9 * MIB + 5),
      ),
    ).toBe(true);
    expect(await store.blobs.find(blob)).toMatchObject({ bucket: bucket.url });
  });
});
