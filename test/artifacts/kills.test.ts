import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier } from '../setup/tier.ts';
import type { StoreOperation } from '../setup/wrapped-store.ts';

type Boundary = [place: string, when: 'before' | 'after', operation: StoreOperation, call: number];

const FEW: readonly Boundary[] = [['the bytes in a bucket and their row', 'before', 'blobs.finish', 1]];
const ALL: readonly Boundary[] = [
  ...FEW,
  ['nothing and the first bytes', 'before', 'blobs.put', 1],
  ['bytes in the store and their version', 'after', 'blobs.put', 1],
  ['the beginning of bytes and their bucket', 'after', 'blobs.begin', 1],
  ['finished bytes and their version', 'after', 'blobs.finish', 1],
  ['a number and its use', 'after', 'artifacts.reserveVersion', 2],
  ['the last version and the outcome', 'before', 'turns.settleCall', 1],
  ['the outcome and the end of its activity', 'after', 'turns.settleCall', 1],
];

let server: CrashServer;
beforeAll(async () => {
  server = await CrashServer.open();
});
afterAll(() => server.close());

async function whole(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const block of source) read.push(block);
  return Buffer.concat(read);
}

/** Keys in the bucket, unfinished files included. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}

describe.concurrent('SIGKILL of a worker that saves artifacts', () => {
  test.each(inTier(FEW, ALL))(
    'between %s: each version is there once, with its bytes, and nothing else stays [artifact.kills]',
    (_place, when, operation, call) =>
      CrashScene.play(server, stepCalls([[{ name: 'save' }]]), async (scene) => {
        const doomed = await scene.startWorker({ when, operation, call });
        const handle = await scene.client.sendMessage(scene.turn);
        await doomed.hanging;
        await doomed.kill();
        await scene.startWorker();
        expect(await handle.result()).toMatchObject({ status: 'completed' });
        expect(scene.told(1)).toEqual({ versions: [0, 0, 1] });
        await scene.worker?.kill();
        await scene.withStore(async (store) => {
          const bytes = new ArtifactBytes(store.blobs, { bucket: scene.bucket });
          const kept = await savedIn(store, bytes, scene);
          expect(kept).toEqual({ 'a.txt': ['first', 'second'], 'big.bin': [`${'big'.repeat(699_052)}b`] });
          // As if the time had passed after which bytes that nobody uses are removed.
          await store.db
            .updateTable('holdfast.blobs')
            .set({ used_until: new Date(0) } as never)
            .execute();
          for (let round = 0; round < 3; round += 1) expect((await bytes.collect()).failures).toEqual([]);
          expect(await savedIn(store, bytes, scene)).toEqual(kept);
          const rows = await store.db.selectFrom('holdfast.blobs').select(['id', 'bucket']).execute();
          expect(rows).toHaveLength(3);
          const inBucket = rows.filter(({ bucket }) => bucket !== null).map(({ id }) => id);
          expect(filesIn(join(scene.folder, 'bucket'))).toEqual(inBucket);
          expect(inBucket).toHaveLength(1);
        });
      }),
  );
});

async function savedIn(
  store: Store,
  bytes: ArtifactBytes,
  { names }: CrashScene,
): Promise<Record<string, string[]>> {
  const saved: Record<string, string[]> = {};
  for (const name of await store.artifacts.names(names)) {
    for (const { content } of await store.artifacts.versions(names, name)) {
      if (content.kind === 'file') continue;
      saved[name] = [...(saved[name] ?? []), (await whole(bytes.read(content.blob))).toString()];
    }
  }
  return saved;
}

test('20 processes that save one name at once have 20 versions [artifact.concurrent]', async () => {
  const database = await databaseWithStore();
  const stores = await Promise.all(
    Array.from({ length: 20 }, () => openStore({ url: database.url, poolSize: 2 })),
  );
  try {
    const names = { app: 'shop', userId: 'ada', sessionId: 's1' };
    const saved = await Promise.all(
      stores.map(async (store, nth) => {
        const { blob } = await new ArtifactBytes(store.blobs).keep('shop', Buffer.from(`writer ${nth}`));
        const version = await store.artifacts.save({
          ...names,
          name: 'a.txt',
          content: { kind: 'text', blob },
          key: `writer-${nth}`,
          makesSession: true,
        });
        return [version, `writer ${nth}`] as const;
      }),
    );
    const versions = saved.map(([version]) => version).toSorted((a, b) => Number(a) - Number(b));
    expect(versions).toEqual(Array.from({ length: 20 }, (_, nth) => nth));
    const [store] = stores;
    if (store === undefined) throw new Error('there is no store');
    const bytes = new ArtifactBytes(store.blobs);
    for (const { version, content } of await store.artifacts.versions(names, 'a.txt')) {
      const text = content.kind === 'file' ? '' : (await whole(bytes.read(content.blob))).toString();
      expect(text).toBe(new Map(saved).get(version));
    }
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await database.drop();
  }
});
