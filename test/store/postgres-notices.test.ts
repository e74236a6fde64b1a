import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { followEvents } from '../../src/client/stream/follow-events.ts';
import type { StoreNotice } from '../../src/store/live/live-feed.ts';
import { MOST_TEXT_BYTES, tellableText } from '../../src/store/live/notice-payload.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { findPgBouncer, startPgBouncer } from '../setup/pgbouncer.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { partialText } from './suite/live/notices.ts';
import { newNames, Turn } from './suite/turns/turn.ts';

const server = await startPostgresServer();
let url: string;
let writer: OpenedStore;
let listener: OpenedStore;

beforeAll(async () => {
  url = await server.newDatabase();
  writer = await openStore({ url });
  listener = await openStore({ url, listen: url });
});

afterAll(async () => {
  await Promise.all([writer.close(), listener.close()]);
  await server.close();
});

/**
 * Watches a turn's session; what was heard begins behind what the turn's own store has told so far.
 *
 * @param seq up to which nothing is heard any more: where the session stands may be said late, behind what was told since.
 */
async function watching(
  store: OpenedStore,
  turn: Turn,
  seq = turn.seq,
): Promise<{ heard: StoreNotice[]; stop: () => void }> {
  const { session, invocationId: runKey } = turn;
  const heard: StoreNotice[] = [];
  let known = 0;
  const stop = store.live.watch(session, (notice) => {
    if (notice.type !== 'appended' || notice.seq > known) heard.push(notice);
  });
  onTestFinished(stop);
  // That it listens is said by where the session stands.
  await expect.poll(() => heard).toContainEqual({ type: 'appended', session, seq: turn.seq });
  const mark: StoreNotice = { type: 'text dropped', session, runKey, step: 0, attempt: 0 };
  turn.store.live.tell(mark);
  await expect.poll(() => heard).toContainEqual(mark);
  known = seq;
  heard.length = 0;
  return { heard, stop };
}

async function channels(): Promise<string[]> {
  const rows = await server.query<{ query: string }>(
    `select query from pg_stat_activity where application_name = 'holdfast listen' and query like '%unlisten%'`,
  );
  return rows.map(({ query }) => query);
}

test('who listens hears what others write and tell, in order, and knows where it stands [stream.text]', async () => {
  expect([writer.live.listens, listener.live.listens]).toEqual([false, true]);
  const turn = new Turn(writer);
  await turn.opened(1);
  const { session, invocationId: runKey } = turn;
  const { heard } = await watching(listener, turn);
  const deaf: StoreNotice[] = [];
  writer.live.watch(session, (notice) => deaf.push(notice));
  const texts = Array.from({ length: 40 }, (_, index) => partialText(turn, `${index} `, index));
  for (const text of texts) writer.live.tell(text);
  writer.live.tell({ type: 'text dropped', session, runKey, step: 1, attempt: 2 });
  await turn.commit(1, 1);
  await turn.begin(1, 0);
  await turn.settle(1, 0, { ok: true });
  const callKey = turn.callKey(1, 0);
  const told: StoreNotice[] = [
    ...texts,
    { type: 'text dropped', session, runKey, step: 1, attempt: 2 },
    { type: 'appended', session, seq: 2 },
    { type: 'call started', session, runKey, callKey, tool: 'pay', attempt: 1 },
    { type: 'call finished', session, runKey, callKey, tool: 'pay', failed: false },
  ];
  await expect.poll(() => heard.length).toBe(told.length);
  expect(heard).toEqual(told);
  expect(deaf).toEqual(told);
});

test('a follower of a session that another process makes gets each event once, in order [stream.text]', async () => {
  const names = newNames();
  const stop = new AbortController();
  const seqs: number[] = [];
  const following = (async () => {
    for await (const { seq } of followEvents(listener, names, { signal: stop.signal })) seqs.push(seq);
  })();
  for (let turns = 0; turns < 5; turns += 1) {
    const turn = new Turn(writer, { names });
    await turn.opened(1);
    await expect.poll(() => seqs.length).toBe(2 * turns + 1);
    await turn.commit(1, 0);
  }
  await expect.poll(() => seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  stop.abort();
  await following;
});

test('two that write and listen hear each other, and themselves once [stream.text]', async () => {
  const other = await openStore({ url, listen: url });
  onTestFinished(() => other.close());
  const turn = new Turn(other);
  await turn.opened(1);
  const [ours, theirs] = [await watching(listener, turn), await watching(other, turn)];
  const texts = Array.from({ length: 10 }, (_, index) => partialText(turn, `${index}`, index));
  const heardTexts = () => [ours, theirs].map(({ heard }) => heard.filter(({ type }) => type === 'text'));
  for (const [index, text] of texts.entries()) {
    (index % 2 === 0 ? other : listener).live.tell(text);
    const told = texts.slice(0, index + 1);
    await expect.poll(heardTexts).toEqual([told, told]);
  }
});

test('who waits for a session of some names hears of its first turn elsewhere [stream.text]', async () => {
  const names = newNames();
  let begun = 0;
  onTestFinished(
    listener.live.watchTurns(names, () => {
      begun += 1;
    }),
  );
  // Once when it begins to listen: a turn may have begun before.
  await expect.poll(() => begun).toBe(1);
  await new Turn(writer, { names }).opened(1);
  await expect.poll(() => begun).toBe(2);
  await new Turn(writer).opened(1);
  await new Turn(writer, { names }).opened(1);
  await expect.poll(() => begun).toBe(3);
});

test('text of any characters and of 7 KiB crosses as it is told [stream.text]', async () => {
  const turn = new Turn(writer);
  await turn.opened(1);
  const { heard } = await watching(listener, turn);
  const unit = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1 }),
    fc.constantFrom('\0', '"', '\\', '\n', '€'),
  );
  const texts = fc.sample(fc.tuple(unit, fc.boolean()), 30).map(([characters, long], index) => {
    const times = long ? Math.floor(MOST_TEXT_BYTES / Buffer.byteLength(characters)) : 1;
    return partialText(turn, characters.repeat(times), index);
  });
  for (const text of texts) writer.live.tell(text);
  await expect.poll(() => heard.length).toBe(texts.length);
  expect(heard).toEqual(texts.map((text) => ({ ...text, text: tellableText(text.text) })));
});

test('a listening connection that is cut comes back by itself, and says what was missed [stream.text]', async () => {
  const turn = new Turn(writer);
  await turn.opened(1);
  const { session } = turn;
  const { heard } = await watching(listener, turn, 0);
  const listening = () =>
    server.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'holdfast listen'`,
    );
  const [before] = await listening();
  await server.query(`select pg_terminate_backend(${before?.pid})`);
  await expect.poll(() => heard).toContainEqual({ type: 'appended', session, seq: 1 });
  expect(await listening()).not.toEqual([before]);
  expect(listener.live.listens).toBe(true);
  writer.live.tell(partialText(turn, 'after'));
  await expect.poll(() => heard.at(-1)).toEqual(partialText(turn, 'after'));
});

test('a server that goes away fails no notice, and all is heard again once it is back [stream.text]', async () => {
  const turn = new Turn(writer);
  await turn.opened(1);
  const { session } = turn;
  const { heard } = await watching(listener, turn);
  await server.stop();
  for (let index = 0; index < 100; index += 1) writer.live.tell(partialText(turn, 'lost', index));
  await expect.poll(() => listener.live.listens).toBe(false);
  await server.start();
  await expect.poll(() => listener.live.listens).toBe(true);
  await turn.commit(1, 0);
  await expect.poll(() => heard.at(-1)).toEqual({ type: 'appended', session, seq: 2 });
});

test('a channel is left a while after its last watcher, who comes and goes for nothing [stream.text]', async () => {
  const turn = new Turn(writer);
  await turn.opened(1);
  const { stop } = await watching(listener, turn);
  const hints: StoreNotice[] = [];
  for (let visits = 0; visits < 50; visits += 1) {
    const leave = listener.live.watch(turn.session, (notice) => hints.push(notice));
    leave();
    leave();
  }
  stop();
  const last = listener.live.watch(turn.session, (notice) => hints.push(notice));
  await turn.commit(1, 0);
  await expect.poll(() => hints).toEqual([{ type: 'appended', session: turn.session, seq: 2 }]);
  last();
  await expect.poll(channels).toHaveLength(1);
});

test('an address for listening that does not work is named when the store is opened [stream.text]', async () => {
  const dead = new URL(url);
  dead.port = '1';
  const unavailable = await openStore({ url, listen: dead.href }).catch((error: unknown) => error);
  expect(unavailable).toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: expect.stringMatching(/listen: PostgreSQL at 127\.0\.0\.1:1,.*ECONNREFUSED/),
  });
  expect(inspect(unavailable, { depth: 9, showHidden: true })).not.toContain(server.password);
  await expect(openStore({ url, listen: 'localhost' })).rejects.toMatchObject({
    code: 'HOLDFAST_INVALID_STORE_URL',
    message: expect.stringContaining('listen:'),
  });
});

test('a store that is closed sends what it had to tell first, and leaves no connection [stream.text]', async () => {
  const closing = await openStore({ url, listen: url });
  const turn = new Turn(closing);
  await turn.opened(1);
  const { heard } = await watching(listener, turn);
  for (let index = 0; index < 5; index += 1) closing.live.tell(partialText(turn, 'last words', index));
  await closing.close();
  await expect.poll(() => heard.length).toBe(5);
  const open = () => server.query(`select from pg_stat_activity where application_name = 'holdfast listen'`);
  await expect.poll(open).toHaveLength(1);
});

test('a store is closed soon where nothing comes from its listening connection any more [stream.text]', async () => {
  const sockets: Socket[] = [];
  const between = createServer((near) => {
    const far = connect(server.port, '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) sockets.push(socket.on('error', () => undefined));
  });
  await new Promise<void>((done) => between.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    between.close();
  });
  const listen = new URL(url);
  listen.port = `${(between.address() as AddressInfo).port}`;
  const closing = await openStore({ url, listen: listen.href });
  for (const socket of sockets) socket.unpipe().pause();
  await closing.close();
  expect(closing.live.listens).toBe(false);
});

const program = findPgBouncer();

test('through PgBouncer notices are sent; a listener behind it, or on another database, is refused [stream.text]', async ({
  skip,
}) => {
  if (program === undefined) return skip('pgbouncer is not installed');
  const bouncer = await startPgBouncer(program, server);
  onTestFinished(() => bouncer.close());
  const pooled = bouncer.urlOf(new URL(url).pathname.slice(1));
  const both = await openStore({ url: pooled, listen: url });
  onTestFinished(() => both.close());
  const turn = new Turn(both);
  await turn.opened(1);
  const { heard } = await watching(listener, turn);
  both.live.tell(partialText(turn, 'pooled'));
  await expect.poll(() => heard.at(-1)).toEqual(partialText(turn, 'pooled'));
  const elsewhere = await server.newDatabase();
  const refusals = [pooled, elsewhere].map((listen) =>
    expect(openStore({ url: pooled, listen, connectTimeout: 3_000 })).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_STORE_URL',
      message: expect.stringMatching(/listen: .* the same database, and not through a pooler/),
    }),
  );
  await Promise.all(refusals);
  const left = () =>
    server.query(`select from pg_stat_activity where application_name = 'holdfast listen'
        and datname = '${new URL(elsewhere).pathname.slice(1)}'`);
  await expect.poll(left).toEqual([]);
});

test('a payload that is no notice harms nobody [stream.text]', async () => {
  const turn = new Turn(writer);
  await turn.opened(1);
  const { heard } = await watching(listener, turn);
  const stranger = new pg.Client({ connectionString: url });
  await stranger.connect();
  onTestFinished(() => stranger.end());
  const [channel] = (
    await stranger.query<{ c: string }>(
      `select 'holdfast_' || left(encode(sha256(convert_to($1, 'UTF8')), 'hex'), 32) as c`,
      [turn.session],
    )
  ).rows.map(({ c }) => c);
  for (const payload of ['', 'nonsense', '{}\n', '{"origin":"o","type":"appended","seq":"x"}\n']) {
    await stranger.query('select pg_notify($1, $2)', [channel, payload]);
  }
  await stranger.query('select pg_notify($1, $2)', [channel, '{"origin":"o","type":"appended","seq":9}\n']);
  await expect.poll(() => heard).toEqual([{ type: 'appended', session: turn.session, seq: 9 }]);
});
