import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { SessionNews } from '../../src/client/stream/session-news.ts';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { isDeep } from '../setup/tier.ts';
import { SteadyTurns } from './steady-turns.ts';
import { partialText } from './suite/live/notices.ts';
import { newNames, Turn } from './suite/turns/turn.ts';
import { folderWithStore } from './temporary-folder.ts';

const folder = folderWithStore();
let owner: OpenedStore;
let socket: string;

beforeAll(async () => {
  owner = await openStore({ folder });
  socket = owner.socket ?? expect.fail('an embedded store has a socket');
});
afterAll(() => owner.close());

async function join(): Promise<OpenedStore> {
  const joined = await openStore({ socket });
  onTestFinished(() => joined.close());
  return joined;
}

async function preparedStatements(): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from pg_prepared_statements where name like 'holdfast%'`.execute(owner.db);
  return rows[0]?.n ?? 0;
}

test('stores that join write at once with the owner, whose statements stay prepared [cli.dev]', async () => {
  const joined = await Promise.all([join(), join()]);
  const loads = [owner, ...joined].map((store) => new SteadyTurns(store, 3));
  await Promise.all(loads.map((load) => load.more(8)));
  await Promise.all(loads.map((load) => load.end()));
  for (const load of loads) expect(load.failures).toEqual([]);
  expect(await preparedStatements()).toBeGreaterThan(3);
  await joined[0]?.close();
  const turn = new Turn(owner);
  await turn.opened(1);
  expect(await preparedStatements()).toBeGreaterThan(3);
  expect(await joined[1]?.sessions.readEvents(turn.names)).toMatchObject([{ seq: 1 }]);
});

test('one session is written from two processes in order and without a gap [cli.dev]', async () => {
  const joined = await join();
  const names = newNames();
  for (const store of [owner, joined, owner, joined]) {
    const turn = new Turn(store, { names });
    await turn.opened(1);
    await turn.commit(1, 0);
  }
  expect((await joined.sessions.readEvents(names)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('what a joined store does is heard where its notices are passed on [cli.dev]', async () => {
  const joined = await join();
  expect([owner.live.listens, joined.live.listens, joined.socket]).toEqual([true, false, undefined]);
  joined.live.onNotice((notice) => owner.live.hear(structuredClone(notice)));
  const turn = new Turn(joined);
  let begun = 0;
  owner.live.watchTurns(turn.names, () => {
    begun += 1;
  });
  const everything: StoreNotice[] = [];
  owner.live.onNotice((notice) => everything.push(notice));
  await turn.opened(1);
  await expect.poll(() => begun).toBe(1);
  const heard: StoreNotice[] = [];
  owner.live.watch(turn.session, (notice) => heard.push(notice));
  const { session } = turn;
  const text = partialText(turn, 'Hel');
  joined.live.tell(text);
  await turn.commit(1, 0);
  await expect.poll(() => heard).toEqual([text, { type: 'appended', session, seq: 2 }]);
  expect(everything).toEqual([{ type: 'appended', session, seq: 1, names: turn.names }, ...heard]);
});

test('who follows looks twice a second where the store does not hear of others, and seldom where it does [stream.text]', async () => {
  const joined = await join();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const { store, session, interval } of [
    { store: owner, session: 's', interval: 5_000 },
    { store: owner, session: undefined, interval: 500 },
    { store: joined, session: 's', interval: 500 },
  ]) {
    const news = new SessionNews(store, session, newNames());
    let looks = 0;
    const waiting = news.wait().then(() => {
      looks += 1;
    });
    await vi.advanceTimersByTimeAsync(interval - 1);
    expect(looks).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    news.close();
  }
});

test('a process that is killed in a transaction leaves neither a lock nor half of it [cli.dev]', async () => {
  const script = fileURLToPath(new URL('./joining-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, socket, 'left'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  await expect.poll(() => lines).toContain('holding');
  const turn = new Turn(owner);
  let isOpen = false;
  const opening = turn.opened(1).then(() => {
    isOpen = true;
  });
  await new Promise(setImmediate);
  expect(isOpen).toBe(false);
  child.kill('SIGKILL');
  await Promise.all([once(child, 'exit'), opening]);
  const left = await owner.db
    .selectFrom('holdfast.app_state' as never)
    .selectAll()
    .execute();
  expect(left).toEqual([]);
  expect(await owner.sessions.readEvents(JSON.parse(lines[0] ?? ''))).toHaveLength(2);
});

if (isDeep) {
  test('a breakdown of the thread moves nobody: the socket stays, and those who joined go on [cli.dev]', async () => {
    const joined = await join();
    const turn = new Turn(joined);
    await turn.opened(1);
    const crash = sql`select (repeat('[', 3000000) || repeat(']', 3000000))::jsonb`.execute(joined.db);
    await expect(crash).rejects.toThrow();
    // Without any help of the owner's.
    await expect.poll(() => turn.events().catch(String)).toHaveLength(1);
    expect(owner.socket).toBe(socket);
    expect(await turn.commit(1, 0)).toMatchObject({ seq: 2 });
    expect(await owner.sessions.readEvents(turn.names)).toHaveLength(2);
  });
}

test('without its owner a joined store is unavailable, and says why [cli.dev]', async () => {
  const joined = await join();
  const names = newNames();
  expect(await joined.sessions.readEvents(names)).toEqual([]);
  await owner.close();
  const error = {
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: expect.stringContaining('the process that owns it'),
  };
  await expect(joined.sessions.readEvents(names)).rejects.toMatchObject(error);
  await expect(openStore({ socket })).rejects.toMatchObject(error);
  owner = await openStore({ folder });
});

test.each([
  [{ socket: '/tmp/s', url: 'postgres://localhost/shop' }, 'socket'],
  [{ socket: 5 as unknown as string }, 'socket'],
  [{ listen: 'postgres://localhost/shop' }, 'listen'],
])('options that exclude each other are refused by name: %o', async (options, field) => {
  await expect(openStore(options)).rejects.toMatchObject({
    code: 'HOLDFAST_DEFINITION',
    owner: 'openStore',
    field,
  });
});
