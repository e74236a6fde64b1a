import { mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test, vi } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { isDeep } from '../setup/tier.ts';
import { Turn } from './suite/turns/turn.ts';
import { folderWithStore, temporaryFolder } from './temporary-folder.ts';

test('a store is made once, keeps what it has, and is open in one place at a time [store.embedded]', async () => {
  const folder = temporaryFolder();
  const progress: string[] = [];
  const started = performance.now();
  const first = await openStore({ folder, onProgress: (line) => progress.push(line) });
  console.log(`first initialisation: ${(performance.now() - started).toFixed(0)} ms`);
  expect(progress).toEqual([expect.stringContaining('initialising'), expect.stringContaining('creating')]);
  const turn = new Turn(first);
  await turn.opened(1);
  await expect(openStore({ folder })).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_IN_USE',
    message: expect.stringContaining(folder),
  });
  await turn.commit(1, 0);
  await first.close();
  await first.close();
  await expect(turn.open(1)).rejects.toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });

  const reopening = performance.now();
  const second = await openStore({ folder, onProgress: (line) => progress.push(line) });
  console.log(`reopened: ${(performance.now() - reopening).toFixed(0)} ms`);
  expect(progress).toHaveLength(2);
  expect(await second.sessions.readEvents(turn.names)).toHaveLength(2);
  await second.close();
});

test('the socket is this user’s alone, and goes with the store [store.embedded]', async () => {
  const home = folderWithStore();
  vi.stubEnv('TMPDIR', temporaryFolder());
  const store = await openStore({ folder: home });
  const folders = readdirSync(tmpdir());
  expect(folders).toHaveLength(1);
  const [folder = ''] = folders;
  if (process.platform !== 'win32') {
    expect(statSync(join(tmpdir(), folder)).mode & 0o777).toBe(0o700);
    expect(statSync(join(tmpdir(), folder, 's')).isSocket()).toBe(true);
  }
  if (process.platform === 'linux') {
    const descriptors = openDescriptors();
    const listening = ['/proc/net/tcp', '/proc/net/tcp6']
      .flatMap((table) => readFileSync(table, 'utf8').split('\n'))
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && descriptors.has(`socket:[${inode}]`));
    expect(listening).toEqual([]);
  }
  await store.close();
  expect(readdirSync(tmpdir())).toEqual([]);
  vi.unstubAllEnvs();
});

test('a folder for temporary files that is too deep for a socket is named', async () => {
  const deep = join(temporaryFolder(), 'd'.repeat(90));
  mkdirSync(deep);
  const home = temporaryFolder();
  vi.stubEnv('TMPDIR', deep);
  await expect(openStore({ folder: home })).rejects.toThrow('TMPDIR');
  vi.unstubAllEnvs();
});

if (isDeep) {
  test('a crash of its thread fails what it was doing, and the store goes on by itself [store.unavailable]', async () => {
    const store = await openStore({ folder: folderWithStore() });
    const turn = new Turn(store);
    await turn.opened(1);
    for (let crashes = 0; crashes < 2; crashes += 1) {
      // Overflows the stack of the WebAssembly instance.
      const crash = sql`select (repeat('[', 3000000) || repeat(']', 3000000))::jsonb`.execute(store.db);
      await expect(crash).rejects.toThrow();
      expect((await Promise.all([turn.events(), turn.events(), turn.events()]))[2]).toHaveLength(1);
    }
    expect(await turn.commit(1, 0)).toMatchObject({ kind: 'committed', seq: 2 });
    await store.close();
    await expect(turn.events()).rejects.toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
  });
}

test('a folder that can not hold a store is named, and nothing is left behind [store.unavailable]', async () => {
  const parent = temporaryFolder();
  const file = join(parent, 'file');
  writeFileSync(file, '');
  const error = await openStore({ folder: file }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
  expect((error as Error).message).toContain(file);

  const damaged = temporaryFolder();
  mkdirSync(join(damaged, 'store'));
  writeFileSync(join(damaged, 'store', 'PG_VERSION'), 'nonsense');
  await expect(openStore({ folder: damaged })).rejects.toMatchObject({ code: 'HOLDFAST_STORE_UNAVAILABLE' });
});

function openDescriptors(): Set<string> {
  const targets = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // The process closed it since the folder was read.
      return '';
    }
  });
  return new Set(targets);
}
