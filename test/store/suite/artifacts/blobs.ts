import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { BLOCK_BYTES } from '../../../../src/store/artifacts/blob-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** What nobody has used for a week. */
export async function expireBlobs(store: PostgresStore, app: string): Promise<void> {
  await store.db
    .updateTable('holdfast.blobs' as never)
    .set({ used_until: new Date(0) } as never)
    .where(
      'app_key' as never,
      '=',
      createHash('sha256')
        .update(JSON.stringify([app]))
        .digest('base64url') as never,
    )
    .where('used_until' as never, '<', 'infinity' as never)
    .execute();
}

/** Gives up what is due, as the sweeper does, and answers which. */
async function collected(store: PostgresStore): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const given = await store.blobs.giveUp(100);
    if (given.length === 0) return ids;
    for (const { id } of given) await store.blobs.drop(id);
    ids.push(...given.map(({ id }) => id));
  }
}

export function blobSuite(store: () => PostgresStore): void {
  const newApp = () => `app-${randomUUID()}`;

  async function written(app: string, bytes: Uint8Array, bucket?: string): Promise<string | undefined> {
    const id = await store().blobs.begin({ app, ...(bucket === undefined ? {} : { bucket }) });
    const blocks: Buffer[] = [];
    for (let nth = 0; nth * BLOCK_BYTES < bytes.length; nth += 1) {
      const block = bytes.subarray(nth * BLOCK_BYTES, (nth + 1) * BLOCK_BYTES);
      blocks.push(createHash('sha256').update(block).digest());
      await store().blobs.write({ id, nth, bytes: block });
    }
    return store().blobs.finish({
      id,
      sha256: sha256(bytes),
      size: bytes.length,
      blockDigests: Buffer.concat(blocks),
    });
  }

  test('small bytes are kept once for an app, and not shared with another one [artifact.content]', async () => {
    const app = newApp();
    const bytes = randomBytes(1_000);
    const keep = (of: string) => store().blobs.put({ app: of, sha256: sha256(bytes), bytes });
    const [id, again] = await Promise.all([keep(app), keep(app)]);
    expect(again).toBe(id);
    expect(await keep(newApp())).not.toBe(id);
    expect(await store().blobs.find(id)).toEqual({
      id,
      sha256: sha256(bytes),
      size: 1_000,
      blockDigests: createHash('sha256').update(bytes).digest(),
    });
    expect(Buffer.from((await store().blobs.read({ id, nth: 0 })) as Uint8Array)).toEqual(bytes);
    expect(await store().blobs.read({ id, nth: 1 })).toBeUndefined();
    expect(await store().blobs.find('none')).toBeUndefined();
  });

  test('bytes that are written in blocks are there once they are whole [artifact.content]', async () => {
    const app = newApp();
    const bytes = randomBytes(BLOCK_BYTES + 10);
    const id = (await written(app, bytes)) as string;
    expect(await store().blobs.find(id)).toMatchObject({ size: bytes.length, sha256: sha256(bytes) });
    const read = await Promise.all([0, 1].map((nth) => store().blobs.read({ id, nth })));
    expect(Buffer.concat(read as Uint8Array[])).toEqual(bytes);
    // The same bytes again are the same blob, and what was written of them is collected.
    expect(await written(app, bytes)).toBe(id);
    expect(await collected(store())).toHaveLength(1);
    const unfinished = await store().blobs.begin({ app });
    expect(await store().blobs.find(unfinished)).toBeUndefined();
  });

  test('bytes that nobody uses are collected, and those that are finished too late are gone [artifact.garbage]', async () => {
    const app = newApp();
    const bytes = randomBytes(100);
    const kept = await store().blobs.put({ app, sha256: sha256(bytes), bytes });
    const begun = await store().blobs.begin({ app, bucket: 's3://bucket' });
    expect(await collected(store())).not.toContain(kept);
    await expireBlobs(store(), app);
    const given = await store().blobs.giveUp(100);
    expect(given).toContainEqual({ id: kept });
    expect(given).toContainEqual({ id: begun, bucket: 's3://bucket' });
    // Another process removes them, where this one died: not at once.
    expect(await store().blobs.giveUp(100)).toEqual([]);
    expect(await store().blobs.find(kept)).toBeUndefined();
    expect(
      await store().blobs.finish({ id: begun, sha256: 'ab', size: 1, blockDigests: Buffer.alloc(32) }),
    ).toBeUndefined();
    for (const { id } of given) await store().blobs.drop(id);
    expect(await store().blobs.read({ id: kept, nth: 0 })).toBeUndefined();
    // The same bytes, saved again, are new ones.
    expect(await store().blobs.put({ app, sha256: sha256(bytes), bytes })).not.toBe(kept);
  });
}
