import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkStore } from '../../src/cli/doctor/check-store.ts';
import { checkTemporal } from '../../src/cli/doctor/check-temporal.ts';
import { deleteSession, showSession } from '../../src/cli/sessions/session-commands.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { openStore } from '../../src/store/open-store.ts';
import { answers } from '../../worker/temporal/probe.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { freePort } from '../setup/free-port.ts';
import { findPgBouncer, startPgBouncer } from '../setup/pgbouncer.ts';
import { type PostgresServer, startPostgresServer } from '../setup/postgres-server.ts';
import { capturedOutput } from './captured-output.ts';
import { surroundings, told } from './doctor-surroundings.ts';

let server: PostgresServer;
let address: string;
let stop: () => Promise<void>;
let down: ReturnType<typeof checkTemporal>;

beforeAll(async () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-doctor-server-'));
  // Takes its time, beside the other tests.
  down = checkTemporal(
    surroundings({ env: { TEMPORAL_ADDRESS: '127.0.0.1:9' }, folder: join(work, 'none') }),
  );
  const port = await freePort();
  address = `127.0.0.1:${port}`;
  // One of nobody's configuring: without Holdfast's search attributes.
  const flags = ['--headless', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'never'];
  const temporal = spawn(process.env.HOLDFAST_TEMPORAL_CLI ?? 'temporal', ['server', 'start-dev', ...flags], {
    cwd: work,
    stdio: 'ignore',
  });
  const ended = once(temporal, 'exit');
  stop = async () => {
    temporal.kill('SIGKILL');
    await ended;
    rmSync(work, { recursive: true, force: true });
  };
  server = await startPostgresServer({ settings: { max_connections: '20' } });
  expect(await answers(address, 30_000)).toBe(true);
});
afterAll(async () => {
  await stop();
  await server.close();
});

describe('the Temporal server', () => {
  const check = (env: NodeJS.ProcessEnv, taskQueue?: string) =>
    checkTemporal(surroundings({ env, ...(taskQueue === undefined ? {} : { taskQueue }) }));

  test('one without search attributes and workers: what to run for them; with them all is well [cli.doctor]', async () => {
    const env = { TEMPORAL_ADDRESS: address };
    const bare = await check(env, 'orders');
    expect(told(bare, 'temporal')).toEqual([
      expect.stringMatching(/^ok: server \d+\.\d+\.\d+ at .*namespace default$/),
    ]);
    expect(told(bare, 'search attributes')).toEqual([
      expect.stringMatching(
        /^warn: HoldfastApp, .* not registered: .*temporal operator search-attribute create --namespace default --name HoldfastApp --type Keyword/,
      ),
    ]);
    expect(told(bare, 'workers')).toEqual([
      expect.stringMatching(
        /^warn: no worker for workflows and tools .* task queue orders .*→ start one: holdfast worker/,
      ),
    ]);

    const connection = await Connection.connect({ interceptors: retriesUntilClosed(), address });
    onTestFinished(() => connection.close());
    const { workflowService, operatorService } = connection;
    const { INDEXED_VALUE_TYPE_KEYWORD: keyword } = proto.temporal.api.enums.v1.IndexedValueType;
    await operatorService.addSearchAttributes({
      namespace: 'default',
      searchAttributes: Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, keyword])),
    });
    const poll = { namespace: 'default', taskQueue: { name: 'orders' }, identity: 'worker-1' };
    const looked = new AbortController();
    // A server takes no poll without a deadline.
    const polling = [
      (): Promise<unknown> => workflowService.pollWorkflowTaskQueue(poll),
      (): Promise<unknown> => workflowService.pollActivityTaskQueue(poll),
    ].map((begin) =>
      connection
        .withDeadline(Date.now() + 120_000, () => connection.withAbortSignal(looked.signal, begin))
        .catch(() => undefined),
    );
    await expect
      .poll(async () => {
        const findings = await check(env, 'orders');
        return findings.map(({ about, status }) => `${about} ${status}`);
      })
      .toEqual(['temporal ok', 'search attributes ok', 'workers ok']);
    looked.abort();
    await Promise.all(polling);
  });

  test('a namespace that isn’t there [cli.doctor]', async () => {
    const findings = await check({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: 'nowhere' });
    expect(told(findings, 'temporal')).toEqual([
      expect.stringMatching(/^fail: .*no namespace "nowhere".*temporal operator namespace create/),
    ]);
  });

  test('one that is down, and a configuration that is none [cli.doctor]', async () => {
    const broken = await check({ TEMPORAL_ADDRESS: 'http://temporal:7233' });
    expect(told(broken, 'temporal')).toEqual([expect.stringMatching(/^fail: .*host:port/)]);
    const file = await check({ TEMPORAL_CONFIG_FILE: '/no/such/file' });
    expect(told(file, 'temporal')).toEqual([
      expect.stringMatching(/^fail: TEMPORAL_CONFIG_FILE names a file/),
    ]);
    expect(told(await down, 'temporal')).toEqual([
      expect.stringMatching(/^fail: .*127\.0\.0\.1:9 doesn't answer/),
    ]);
  });

  test('none: which program starts one, or that one is fetched [cli.doctor]', async () => {
    const none = surroundings().folder;
    const found = await check({ HOLDFAST_TEMPORAL_CLI: process.env.HOLDFAST_TEMPORAL_CLI });
    expect(told(found, 'temporal')).toEqual([
      expect.stringMatching(/^ok: no server is named or runs; .*is started by/),
    ]);
    expect(told(await check({ HOLDFAST_CACHE: none, PATH: none }), 'temporal')).toEqual([
      expect.stringMatching(/^warn: .*downloads or builds one → install the Temporal CLI/),
    ]);
    expect(told(await check({ HOLDFAST_TEMPORAL_CLI: none }), 'temporal')).toEqual([
      expect.stringMatching(/^fail: .*→ correct HOLDFAST_TEMPORAL_CLI/s),
    ]);
  });
});

describe('the store', () => {
  const check = (HOLDFAST_STORE: string, more: NodeJS.ProcessEnv = {}, now?: () => number) =>
    checkStore(surroundings({ env: { HOLDFAST_STORE, ...more } }), now);
  const nameOf = (url: string) => new URL(url).pathname.slice(1);

  async function migrated(): Promise<string> {
    const url = await server.newDatabase();
    await (await openStore({ url })).close();
    return url;
  }

  test('an embedded one [cli.doctor]', async () => {
    expect(told(await checkStore(surroundings()), 'store')).toEqual([expect.stringMatching(/^ok: embedded/)]);
  });

  test.each([
    [
      'an address of another kind',
      'mysql://ada:secret-word@db/shop',
      /^fail: HOLDFAST_STORE is not a usable/,
    ],
    ['a malformed address', 'postgres://ada:secret-word@db:port/x', /^fail: HOLDFAST_STORE is not a usable/],
    [
      'nobody there',
      'postgres://ada:secret-word@127.0.0.1:9/shop',
      /^fail: PostgreSQL at 127\.0\.0\.1:9, .* can't be reached/,
    ],
  ])('%s: no password is told [cli.doctor]', async (_what, url, message) => {
    const findings = await check(url);
    expect(told(findings, 'store')).toEqual([expect.stringMatching(message)]);
    expect(JSON.stringify(findings)).not.toContain('secret-word');
  });

  test('a wrong password [cli.doctor]', async () => {
    const url = new URL(await server.newDatabase());
    url.password = 'secret-word';
    const findings = await check(url.href);
    expect(told(findings, 'store')).toEqual([
      expect.stringMatching(/^fail: .*can't be reached: .*authentication failed/),
    ]);
    expect(JSON.stringify(findings)).not.toContain('secret-word');
  });

  test('an empty database, then one of this release, of a newer one, and of none [cli.doctor]', async () => {
    const url = await server.newDatabase();
    const fresh = await check(url);
    expect(told(fresh, 'schema')).toEqual(['ok: the first worker makes it']);
    expect(told(fresh, 'store')).toEqual([
      expect.stringMatching(/^ok: PostgreSQL at 127\.0\.0\.1:\d+, database test_\d+, version \d+/),
      expect.stringMatching(/^warn: \d+ of at most 20 connections are in use.* → raise max_connections/),
    ]);
    expect(told(fresh, 'latency')).toEqual([expect.stringContaining('ms to the store and back')]);
    expect(told(fresh, 'clock')).toEqual([expect.stringMatching(/^ok: -?\d+\.\d s apart/)]);
    await (await openStore({ url })).close();
    expect(told(await check(url), 'schema')).toEqual([
      expect.stringMatching(/^ok: version \d+, this release's/),
    ]);
    await server.query(`update holdfast.functions set checksum = 'other' where name = 'job'`, nameOf(url));
    expect(told(await check(url), 'schema')).toEqual([
      expect.stringMatching(/^ok: version \d+; the next start replaces 1 functions/),
    ]);
    await server.query(`create role doctor_reader login password 'of reader'`);
    await server.query(
      `grant usage on schema holdfast to doctor_reader;
       grant select on all tables in schema holdfast to doctor_reader`,
      nameOf(url),
    );
    const reader = new URL(url);
    reader.username = 'doctor_reader';
    reader.password = 'of reader';
    expect(told(await check(reader.href), 'schema')).toEqual([
      expect.stringMatching(/^fail: .*this user may not migrate it → start one worker as postgres/),
    ]);
    await server.query(`insert into holdfast.migrations values (999, 'later', 'x')`, nameOf(url));
    expect(told(await check(url), 'schema')).toEqual([
      expect.stringMatching(
        /^warn: version 999 is newer than this release's \d+.* → upgrade this installation/,
      ),
    ]);
    await server.query(`update holdfast.migrations set checksum = 'other' where version = 1`, nameOf(url));
    expect(told(await check(url), 'schema')).toEqual([
      expect.stringMatching(/^fail: migration 1 isn't this release's/),
    ]);
  });

  test('a user who may not make a schema, and a server that takes no writes [cli.doctor]', async () => {
    const url = new URL(await server.newDatabase());
    await server.query(`create role doctor_clerk login password 'of clerk'`);
    url.username = 'doctor_clerk';
    url.password = 'of clerk';
    expect(told(await check(url.href), 'schema')).toEqual([
      expect.stringMatching(/^fail: .*may not make one → .*create schema holdfast authorization/),
    ]);
    const standby = await server.newDatabase();
    await server.query(`alter database ${nameOf(standby)} set default_transaction_read_only = on`);
    expect(told(await check(standby), 'store')[1]).toMatch(
      /^fail: this server takes no writes.* → name the primary/,
    );
  });

  test('followers of other processes: no address, one that hears, one of another database [cli.doctor]', async () => {
    const [url, other] = await Promise.all([migrated(), server.newDatabase()]);
    expect(told(await check(url), 'live text')).toEqual([
      expect.stringMatching(
        /^warn: HOLDFAST_STORE_LISTEN is not set: .*no partial text → .*same URL as HOLDFAST_STORE/,
      ),
    ]);
    const [hears, deaf, wrong] = await Promise.all([
      check(url, { HOLDFAST_STORE_LISTEN: url }),
      check(url, { HOLDFAST_STORE_LISTEN: other }),
      check(url, { HOLDFAST_STORE_LISTEN: 'postgres://ada:secret-word@127.0.0.1:9/x' }),
    ]);
    expect(told(hears, 'live text')).toEqual([
      expect.stringMatching(/^ok: followers listen at 127\.0\.0\.1:/),
    ]);
    expect(told(deaf, 'live text')).toEqual([
      expect.stringMatching(/^fail: .*doesn't arrive.*another database/),
    ]);
    expect(told(wrong, 'live text')).toEqual([
      expect.stringMatching(/^fail: HOLDFAST_STORE_LISTEN, 127\.0\.0\.1:9, can't be used/),
    ]);
    expect(JSON.stringify(wrong)).not.toContain('secret-word');
  });

  const pooler = findPgBouncer();
  test('behind a pooler, listening goes past it [cli.doctor]', async ({ skip }) => {
    if (pooler === undefined) return skip('pgbouncer is not installed');
    const bouncer = await startPgBouncer(pooler, server);
    onTestFinished(() => bouncer.close());
    const direct = await migrated();
    const pooled = bouncer.urlOf(nameOf(direct));
    expect(told(await check(pooled), 'live text')).toEqual([
      expect.stringMatching(/^warn: .*→ set it to the database's own address, past the pooler/),
    ]);
    const [past, through] = await Promise.all([
      check(pooled, { HOLDFAST_STORE_LISTEN: direct }),
      check(pooled, { HOLDFAST_STORE_LISTEN: pooled }),
    ]);
    expect(told(past, 'live text')).toEqual([expect.stringMatching(/^ok/)]);
    expect(told(through, 'live text')).toEqual([expect.stringMatching(/^fail: .*pooler/)]);
  });

  test('a clock that is off, and a database far away [cli.doctor]', async () => {
    const url = new URL(await migrated());
    const hour = () => Date.now() + 3_600_000;
    expect(told(await check(url.href, {}, hour), 'clock')).toEqual([
      expect.stringMatching(/^warn: .* -3[56]\d\d\.\d s apart.* → .*NTP/),
    ]);
    url.port = String(await slowWay(server.port, 15));
    expect(told(await check(url.href), 'latency')).toEqual([
      expect.stringMatching(/^warn: \d\d+ ms to the store and back.* → run workers near the database/),
    ]);
  });
});

test('sessions of the server and store that the environment names: no folder is made, no server started [cli.sessions]', async () => {
  const folder = join(surroundings().folder, 'none');
  const url = await server.newDatabase();
  const store = await openStore({ url });
  onTestFinished(() => store.close());
  const names = { app: 'shop', userId: 'user', sessionId: 's1' };
  await store.sessions.create({ ...names, state: { tier: 'gold' } });
  const places = { folder, env: { HOLDFAST_STORE: url, TEMPORAL_ADDRESS: address } };
  const shown = capturedOutput();
  await showSession('s1', { ...places, state: true }, shown);
  expect(shown.lines).toEqual([expect.stringMatching(/^shop\/user\/s1 · 0 events/), '  tier = "gold"']);
  const deleted = capturedOutput();
  expect(await deleteSession('s1', { ...places, yes: true, json: true }, deleted)).toBe(0);
  expect(deleted.values()).toEqual([{ sessions: [names], runs: 0 }]);
  await expect(showSession('s1', places, capturedOutput())).rejects.toThrow(/there are no sessions/);
  const nonsense = { folder, env: { HOLDFAST_STORE: 'nonsense' } };
  await expect(showSession('s1', nonsense, capturedOutput())).rejects.toThrow(/^HOLDFAST_STORE: .*postgres:/);
  expect(existsSync(folder)).toBe(false);
});

/** A port that leads to another one, each way taking some milliseconds. */
async function slowWay(to: number, ms: number): Promise<number> {
  const proxy = createServer((near) => {
    const far = connect(to, '127.0.0.1');
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (data) => void setTimeout(ms).then(() => into.write(data)));
      from.on('error', () => into.destroy());
      from.on('close', () => into.destroy());
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return (proxy.address() as { port: number }).port;
}
