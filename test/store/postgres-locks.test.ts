import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { AskingTurn, entry } from './suite/approvals/asking-turn.ts';
import { Turn } from './suite/turns/turn.ts';

const server = await startPostgresServer();
afterAll(() => server.close());

let url: string;
beforeAll(async () => {
  url = await server.newDatabase();
});

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

const isWaiting = async () => {
  const [row] = await server.query<{ waiting: number }>(
    `select count(*)::int as waiting from pg_stat_activity where wait_event_type = 'Lock'`,
  );
  return row?.waiting;
};

test('a session that is deleted while another statement makes it is made again [session.create]', async () => {
  const store = await openStore({ url });
  const turn = new Turn(store);
  await turn.opened(1);
  const [deleting, making] = [await connected(), await connected()];
  await deleting.query('begin');
  const { rows } = await deleting.query('select * from holdfast.sessions where id = $1 for update', [
    turn.session,
  ]);
  const made = making.query('select (holdfast.make_session($1, $2)).id', [
    rows[0]?.name_key,
    JSON.stringify({ ...rows[0], session: 'a-new-one' }),
  ]);
  await expect.poll(isWaiting).toBe(1);
  await deleting.query('delete from holdfast.sessions where id = $1', [turn.session]);
  await deleting.query('commit');
  expect((await made).rows).toEqual([{ id: 'a-new-one' }]);
  expect((await store.sessions.find(turn.names))?.session).toBe('a-new-one');
  await Promise.all([deleting.end(), making.end(), store.close()]);
});

test('a step’s input is seen while its session is locked [plugin.events]', async () => {
  const store = await openStore({ url });
  const turn = new Turn(store);
  await turn.opened(1);
  await turn.commit(1, 1);
  await turn.settle(1, 0, { ok: true });
  const writing = await connected();
  await writing.query('begin');
  await writing.query('select from holdfast.sessions where id = $1 for update', [turn.session]);
  await writing.query('update holdfast.runs set step = 9 where session_id = $1', [turn.session]);
  expect(await turn.peek(2)).toMatchObject({ begun: false, seq: 2 });
  await writing.query('rollback');
  await Promise.all([writing.end(), store.close()]);
});

test('an approved call that is settled while it begins anew keeps its outcome [confirm.once]', async () => {
  const store = await openStore({ url });
  const turn = new AskingTurn(store);
  const request = await turn.asked();
  const approved = entry(request.requestId, 1, 'approved');
  await turn.beginAnswered(request, [approved]);
  // Of the attempt whose worker was taken for dead.
  const settling = await connected();
  await settling.query('begin');
  await settling.query(
    `update holdfast.ledger set status = 'settled', response = '{"paid":40}', failed = false, actions = '{}'
     where session_id = $1 and key = $2`,
    [turn.session, request.callKey],
  );
  const begun = turn.beginAnswered(request, [approved]);
  await expect.poll(isWaiting).toBe(1);
  await settling.query('commit');
  expect(await begun).toMatchObject({ kind: 'settled', response: { paid: 40 } });
  const unknown = {
    session: turn.session,
    callKey: request.callKey,
    response: { error: 'unknown' },
    failed: true,
  };
  expect(await store.turns.settleCall({ ...unknown, actions: {} })).toMatchObject({ first: false });
  await Promise.all([settling.end(), store.close()]);
});

test('a statement that the server gives up is unavailable, and the next one goes on [store.unavailable]', async () => {
  const before = await openStore({ url });
  const turn = new Turn(before);
  await turn.opened(1);
  await before.close();
  const { database } = new pg.Client({ connectionString: url });
  await server.query(`alter database "${database}" set statement_timeout = 300`);
  const store = await openStore({ url });
  const holding = await connected();
  await holding.query('begin');
  await holding.query('select from holdfast.sessions where id = $1 for update', [turn.session]);
  const again = new Turn(store, turn);
  Object.assign(again, { session: turn.session, seq: turn.seq });
  await expect(again.commit(1, 0)).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    retryable: true,
    message: expect.stringContaining('statement timeout'),
  });
  await holding.query('commit');
  expect(await again.commit(1, 0)).toMatchObject({ kind: 'committed', seq: 2 });
  await Promise.all([holding.end(), store.close()]);
});
