import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import {
  foreignVersion,
  newestOf,
  outdatedFunctions,
  readApplied,
} from '../../store/schema/applied-schema.ts';
import { STORE_SCHEMA, versionOf } from '../../store/schema/store-schema.ts';
import { type Finding, findingsAbout, problemOf, type Surroundings } from './finding.ts';

const store = findingsAbout('store');
const roundTrip = findingsAbout('latency');
const clock = findingsAbout('clock');
const schema = findingsAbout('schema');
const liveText = findingsAbout('live text');

const ANSWER_TIMEOUT = 5_000;
/** A notice crosses a server in milliseconds. */
const NOTICE_TIMEOUT = 2_000;
const OLDEST_POSTGRES = 15;
const SLOW_ROUND_TRIP = 20;
const TOO_MUCH_SKEW = 2_000;
const FEW_CONNECTIONS = 20;
const ROUND_TRIPS = 5;

const LATEST = versionOf(STORE_SCHEMA);

interface ServerFacts {
  /** `150004` for 15.4. */
  number: number;
  readOnly: boolean;
  /** Process that serves this connection. */
  backend: number;
  connections: number;
  most: number;
  mayCreate: boolean;
  migrated: boolean;
}

const FACTS = `select
  current_setting('server_version_num')::int as number,
  (pg_is_in_recovery() or current_setting('transaction_read_only') = 'on') as "readOnly",
  pg_backend_pid() as backend,
  (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
  current_setting('max_connections')::int as most,
  has_database_privilege(current_database(), 'CREATE') as "mayCreate",
  to_regclass('holdfast.functions') is not null as migrated`;

const OWNER = `select pg_get_userbyid(c.relowner) as owner, pg_has_role(c.relowner, 'USAGE') as "mayMigrate"
  from pg_class c where c.oid = 'holdfast.functions'::regclass`;

/** @param now this machine's clock, milliseconds since the epoch. */
export async function checkStore(
  { folder, env }: Surroundings,
  now: () => number = Date.now,
): Promise<Finding[]> {
  const url = env.HOLDFAST_STORE;
  if (!url) return embeddedStore(resolve(folder));
  const client = clientOf(url);
  if (client === undefined) {
    return store.fail(
      'HOLDFAST_STORE is not a usable postgres:// URL',
      'write postgres://user:password@host:5432/database, special characters of a password percent-encoded',
    );
  }
  const place = `PostgreSQL at ${client.host}:${client.port}, database ${client.database}`;
  try {
    await client.connect();
  } catch (error) {
    await end(client);
    return store.fail(
      `${place} can't be reached: ${problemOf(error)}`,
      'start it, or correct HOLDFAST_STORE (address, database, user, password, sslmode)',
    );
  }
  try {
    const [facts] = (await client.query<ServerFacts>(FACTS)).rows;
    if (facts === undefined) return [];
    return [
      ...checkServer(place, facts),
      ...(await checkSchema(client, facts)),
      ...(await checkLatencyAndClock(client, now)),
      ...(await checkLiveText(client, facts, env.HOLDFAST_STORE_LISTEN)),
    ];
  } catch (error) {
    return store.fail(`${place} has answered with an error: ${problemOf(error)}`, "see the server's log");
  } finally {
    await end(client);
  }
}

function embeddedStore(folder: string): Finding[] {
  const path = join(folder, 'store');
  return store.ok(
    existsSync(path)
      ? `embedded, in ${path}; one process at a time has it, the others go through its gateway`
      : `embedded; the first command makes it in ${path}`,
  );
}

/** Undefined for what no address can be made of; pg's own error would carry the password. */
function clientOf(url: string): pg.Client | undefined {
  if (!/^postgres(ql)?:\/\//.test(url)) return undefined;
  try {
    return new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: ANSWER_TIMEOUT,
      query_timeout: ANSWER_TIMEOUT,
      application_name: 'holdfast doctor',
    }).on('error', () => undefined);
  } catch {
    return undefined;
  }
}

/** A connection that was never made has no end. */
async function end(client: pg.Client): Promise<void> {
  await client.end().catch(() => undefined);
}

function checkServer(place: string, { number, readOnly, connections, most }: ServerFacts): Finding[] {
  const version = `${Math.floor(number / 10_000)}.${number % 10_000}`;
  const findings = store.ok(`${place}, version ${version}`);
  if (readOnly) {
    findings.push(
      ...store.fail(
        'this server takes no writes: it is a standby, or set to read only',
        'name the primary in HOLDFAST_STORE',
      ),
    );
  }
  if (number < OLDEST_POSTGRES * 10_000) {
    findings.push(
      ...store.warn(
        `version ${version} is older than ${OLDEST_POSTGRES}, the oldest that Holdfast is tested with`,
        'upgrade PostgreSQL',
      ),
    );
  }
  if (most - connections < FEW_CONNECTIONS) {
    findings.push(
      ...store.warn(
        `${connections} of at most ${most} connections are in use; each worker takes up to 10`,
        'raise max_connections, or put a pooler in front of it',
      ),
    );
  }
  return findings;
}

async function checkSchema(client: pg.Client, { migrated, mayCreate }: ServerFacts): Promise<Finding[]> {
  if (!migrated) {
    const { rows } = await client.query<{ there: boolean }>(
      `select to_regnamespace('holdfast') is not null as there`,
    );
    if (mayCreate || rows[0]?.there) return schema.ok('the first worker makes it');
    return schema.fail(
      'there is none, and this user may not make one',
      'as an owner of the database: create schema holdfast authorization <user>',
    );
  }
  const applied = await readApplied(client);
  const foreign = foreignVersion(applied, STORE_SCHEMA);
  if (foreign !== undefined) {
    return schema.fail(
      `migration ${foreign} isn't this release's: a version of Holdfast that was never released made it`,
      'use another database',
    );
  }
  const version = newestOf(applied);
  if (version > LATEST) {
    return schema.warn(
      `version ${version} is newer than this release's ${LATEST}: neighbouring releases share a schema, older ones don't`,
      'upgrade this installation to the release of the other workers',
    );
  }
  const functions = outdatedFunctions(applied, STORE_SCHEMA).length;
  if (version === LATEST && functions === 0) return schema.ok(`version ${version}, this release's`);
  const work = version < LATEST ? `brings it to ${LATEST}` : `replaces ${functions} functions`;
  const { rows } = await client.query<{ owner: string; mayMigrate: boolean }>(OWNER);
  if (rows[0]?.mayMigrate) {
    return schema.ok(`version ${version}; the next start ${work}, while others work`);
  }
  return schema.fail(
    `version ${version} is older than this release, and this user may not migrate it`,
    `start one worker as ${rows[0]?.owner}: it ${work}`,
  );
}

async function checkLatencyAndClock(client: pg.Client, now: () => number): Promise<Finding[]> {
  const trips: { ms: number; skew: number }[] = [];
  for (let round = 0; round < ROUND_TRIPS; round += 1) {
    const sent = performance.now();
    const began = now();
    const { rows } = await client.query<{ now: number }>(
      'select extract(epoch from clock_timestamp())::double precision * 1000 as now',
    );
    const ms = performance.now() - sent;
    trips.push({ ms, skew: (rows[0]?.now ?? 0) - (began + ms / 2) });
  }
  const best = trips.reduce((one, other) => (other.ms < one.ms ? other : one));
  const latency =
    best.ms <= SLOW_ROUND_TRIP
      ? roundTrip.ok(`${best.ms.toFixed(1)} ms to the store and back`)
      : roundTrip.warn(
          `${best.ms.toFixed(0)} ms to the store and back; each step of a turn takes four such ways and more`,
          'run workers near the database',
        );
  const seconds = (best.skew / 1_000).toFixed(1);
  const kept =
    Math.abs(best.skew) <= TOO_MUCH_SKEW
      ? clock.ok(`${seconds} s apart from the store's`)
      : clock.warn(
          `this machine's clock and the store's are ${seconds} s apart: times in transcripts, ages of sessions and ` +
            'time budgets are off',
          'have both keep time by NTP',
        );
  return [...latency, ...kept];
}

/** Whether followers hear of other processes: NOTIFY must cross from the store's connections to the listening one. */
async function checkLiveText(
  client: pg.Client,
  { backend }: ServerFacts,
  listenUrl: string | undefined,
): Promise<Finding[]> {
  // A pooler answers with a process id of its own when a connection begins.
  const { processID } = client as pg.Client & { processID?: number | null };
  const isPooled = processID !== backend;
  if (!listenUrl) {
    return liveText.warn(
      'HOLDFAST_STORE_LISTEN is not set: followers in other processes poll twice a second and get no partial text',
      isPooled
        ? "set it to the database's own address, past the pooler that HOLDFAST_STORE names"
        : 'set it to the same URL as HOLDFAST_STORE',
    );
  }
  const listener = clientOf(listenUrl);
  if (listener === undefined) {
    return liveText.fail(
      'HOLDFAST_STORE_LISTEN is not a usable postgres:// URL',
      'write postgres://user:password@host:5432/database, or unset it',
    );
  }
  const place = `${listener.host}:${listener.port}`;
  const channel = `holdfast_doctor_${process.pid}`;
  try {
    const { promise: heard, resolve } = Promise.withResolvers<true>();
    listener.on('notification', () => resolve(true));
    await listener.connect();
    await listener.query(`listen ${channel}`);
    await client.query('select pg_notify($1, $2)', [channel, '']);
    const came = await Promise.race([heard, setTimeout(NOTICE_TIMEOUT, false, { ref: false })]);
    if (came) return liveText.ok(`followers listen at ${place}`);
    return liveText.fail(
      `what is told through HOLDFAST_STORE doesn't arrive at ${place}: another database, or a pooler in between`,
      'name the same database in HOLDFAST_STORE_LISTEN, by an address without a pooler',
    );
  } catch (error) {
    return liveText.fail(
      `HOLDFAST_STORE_LISTEN, ${place}, can't be used: ${problemOf(error)}`,
      'correct it, or unset it: then followers poll',
    );
  } finally {
    await end(listener);
  }
}
