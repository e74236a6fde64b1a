import { type EventEmitter, once } from 'node:events';
import { PGlite } from '@electric-sql/pglite';
import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { servePglite } from '../../src/store/engine/pglite-server.ts';
import { makePrivateSocket } from '../../src/store/engine/private-socket.ts';
import { inTier } from '../setup/tier.ts';

const socket = makePrivateSocket();
const crashes: unknown[] = [];
const database = await PGlite.create();
const server = await servePglite(database, socket.path, (error) => crashes.push(error));

beforeAll(() => database.exec('create table t (client text, n int)'));

afterAll(async () => {
  await server.stop();
  await database.close();
  socket.remove();
  expect(crashes).toEqual([]);
});

async function connect(name: string): Promise<pg.Client> {
  const client = new pg.Client({
    stream: () => socket.connection(),
    user: 'postgres',
    database: 'postgres',
    application_name: name,
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

function kill(client: pg.Client): void {
  (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

async function count(client: pg.Client, where = 'true'): Promise<number> {
  return (
    (await client.query<{ n: number }>(`select count(*)::int as n from t where ${where}`)).rows[0]?.n ?? -1
  );
}

interface Transaction {
  rows: number;
  end: 'commit' | 'rollback' | 'error' | 'death';
}

/** One after another, over one connection until it dies. Returns how many rows it has committed. */
async function run(name: string, transactions: readonly Transaction[]): Promise<number> {
  let committed = 0;
  let client = await connect(name);
  for (const { rows, end } of transactions) {
    await client.query('begin');
    const before = await count(client);
    for (let row = 1; row <= rows; row += 1) {
      await client.query('insert into t values ($1, $2)', [name, row]);
      // Nobody else writes meanwhile.
      expect(await count(client)).toBe(before + row);
    }
    if (end === 'error') await expect(client.query('select from nowhere')).rejects.toThrow('nowhere');
    if (end === 'death') {
      kill(client);
      client = await connect(name);
    } else {
      await client.query(end === 'commit' ? 'commit' : 'rollback');
    }
    if (end === 'commit') committed += rows;
    expect(await count(client, `client = '${name}'`)).toBe(committed);
  }
  await client.end();
  return committed;
}

test('clients at once keep their transactions apart, and what one leaves open is rolled back [cli.dev]', async () => {
  const transaction = fc.record({
    rows: fc.integer({ min: 0, max: 3 }),
    end: fc.constantFrom<Transaction['end']>('commit', 'rollback', 'error', 'death'),
  });
  const clients = fc.array(fc.array(transaction, { minLength: 1, maxLength: 4 }), {
    minLength: 2,
    maxLength: 4,
  });
  await fc.assert(
    fc.asyncProperty(clients, async (scripts) => {
      await database.exec('truncate t');
      const committed = await Promise.all(scripts.map((script, index) => run(`client ${index}`, script)));
      const { rows } = await database.query<{ n: number }>('select count(*)::int as n from t');
      expect(rows[0]?.n).toBe(committed.reduce((sum, each) => sum + each, 0));
    }),
    { numRuns: inTier(5, 25) },
  );
});

test('while one is in a transaction the others wait, and go on once it has died [cli.dev]', async () => {
  const [holder, other] = await Promise.all([connect('holder'), connect('other')]);
  await holder.query('begin');
  await holder.query(`insert into t values ('holder', 1)`);
  let answered = false;
  const waiting = count(other, `client = 'holder'`).finally(() => {
    answered = true;
  });
  for (let times = 0; times < 20; times += 1) await holder.query('select 1');
  expect(answered).toBe(false);
  kill(holder);
  expect(await waiting).toBe(0);
  await other.end();
});

test('the end of one connection takes no statements from another name, nor from who takes its place [cli.dev]', async () => {
  const named = (client: pg.Client) => client.query({ name: 'one', text: 'select 1 as n' });
  const guest = await connect('guest');
  const first = await connect('owner');
  await named(first);
  await guest.query('select $1::int as n', [1]);
  kill(guest);
  const second = await connect('owner');
  await named(second);
  kill(first);
  const next = await connect('guest');
  expect((await next.query('select $1::int as n', [2])).rows).toEqual([{ n: 2 }]);
  await next.end();
  const { rows } = await second.query('select name from pg_prepared_statements');
  expect(rows).toEqual([{ name: 'one' }]);
  await named(second);
  await second.end();
});

test('what a Flush leaves open is ended with its connection [cli.dev]', async () => {
  const [broken, other] = await Promise.all([connect('broken'), connect('other')]);
  const { connection } = broken as unknown as {
    connection: EventEmitter & { parse(query: { text: string }): void; flush(): void };
  };
  const refused = once(connection, 'errorMessage');
  connection.parse({ text: 'select from nowhere' });
  connection.flush();
  await refused;
  kill(broken);
  expect(await count(other, 'false')).toBe(0);
  await other.end();
});

test('an answer of whatever length leaves nobody waiting [cli.dev]', async () => {
  const [one, other] = await Promise.all([connect('one'), connect('another')]);
  // PGlite sends 8,192 bytes at a time: the end of some of these is cut in two.
  for (let length = 8_120; length < 8_140; length += 1) {
    const { rows } = await one.query<{ text: string }>(`select repeat('x', ${length}) as text`);
    expect(rows[0]?.text.length).toBe(length);
    expect(await count(other, 'false')).toBe(0);
  }
  await Promise.all([one.end(), other.end()]);
});
