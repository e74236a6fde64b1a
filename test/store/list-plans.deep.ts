import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JOB_STATUSES, REQUEST_ENDS, REQUEST_STATUSES } from '../../src/contract/lists.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';
import { intercepting } from './suite/statements.ts';

/** Sessions, requests and jobs, of a thousand users of twenty apps. */
const MANY = 1_000_000;

/** Rows of one table that a list of a hundred may read: the first ones of each status and kind, and each session's root. */
const MOST_ROWS = 250;

/** `sessionKeys` in SQL, of names without characters that JSON escapes. */
const KEY = (...names: string[]) =>
  `translate(encode(sha256(convert_to('["' || ${names.join(` || '","' || `)} || '"]', 'UTF8')), 'base64'), '+/=', '-_')`;

const APP = `'app-' || n % 20`;
const USER = `'user-' || n % 1000`;

const ROWS = [
  `insert into holdfast.sessions (id, name_key, app_key, user_key, app, user_id, name, listed_at)
    select 'id-' || n, ${KEY(APP, USER, `'s-' || n`)}, ${KEY(APP)}, ${KEY(APP, USER)}, ${APP}, ${USER}, 's-' || n,
      to_timestamp(1700000000 + n) from generate_series(1, ${MANY}) n`,
  `insert into holdfast.sessions (id, name_key, app_key, user_key, app, user_id, name, root_session)
    select 'below-' || n, 'below-' || n, ${KEY(APP)}, ${KEY(APP, USER)}, ${APP}, ${USER}, 'below-' || n, 'id-' || n
    from generate_series(1, ${MANY}, 50) n`,
  `insert into holdfast.approvals (session_id, request_id, app_key, user_key, run_key, invocation_id, call_key, call_id, kind,
      tool, agent, path, workflow_id, root_workflow_id, hint, args, args_digest, gate_digest, sensitive, terms, status, since)
    select 'id-' || n, 'rq-' || n, s.app_key, s.user_key, 'r', 'r', 'call-' || n, 'c',
      case when n % 997 = 0 then 'input' when n % 991 = 0 then 'credential' else 'confirmation' end, 't', 'a', '[]', 'w',
      'root-' || n / 10, '', '{}', '', '', 'false', '{}',
      case when n / 1000 % 200 = 3 then 'pending' else (array['${REQUEST_ENDS.join("','")}'])[1 + n / 1000 % 5] end, n
    from generate_series(1, ${MANY}) n join holdfast.sessions s on s.id = 'id-' || n`,
  `insert into holdfast.jobs (session_id, job_id, app_key, user_key, run_key, invocation_id, call_key, call_id, tool, agent,
      model_seq, status, since, until)
    select 'id-' || n, 'j-' || n, s.app_key, s.user_key, 'r', 'r', 'call-' || n, 'c', 't', 'a', 1,
      (array['${JOB_STATUSES.join("','")}'])[1 + n / 1000 % 5], n, n
    from generate_series(1, ${MANY}) n join holdfast.sessions s on s.id = 'id-' || n`,
  'analyze',
];

const server = await startPostgresServer({ settings: { max_wal_size: '8GB', shared_buffers: '512MB' } });
let url: string;
let store: OpenedStore;

beforeAll(async () => {
  url = await server.newDatabase();
  store = await openStore({ url });
  for (const rows of ROWS) await server.query(rows, new URL(url).pathname.slice(1));
});
afterAll(async () => {
  await store.close();
  await server.close();
});

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** A literal of a parameter as the store gives it. */
function literal(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]::text[]`;
  return pg.escapeLiteral(String(value));
}

/** The nodes of a statement's plans: one made for its parameters, and one for any, as a connection has after a while. */
async function planned(client: pg.Client, { text, values }: pg.QueryConfig): Promise<PlanNode[]> {
  const nodes: PlanNode[] = [];
  const collect = (node: PlanNode) => {
    nodes.push(node);
    for (const below of node.Plans ?? []) collect(below);
  };
  const given = (values ?? []).map(literal).join(', ');
  for (const mode of ['force_custom_plan', 'force_generic_plan']) {
    await client.query(`set plan_cache_mode = ${mode}; prepare listed as ${text}`);
    const execute = `explain (analyze, format json) execute listed${given === '' ? '' : `(${given})`}`;
    const { rows } = await client.query(execute);
    collect(rows[0]['QUERY PLAN'][0].Plan);
    await client.query('deallocate listed');
  }
  return nodes;
}

/** Complaints about the plans of a list's statements. */
async function greed(list: () => Promise<unknown>): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const found: string[] = [];
  await intercepting(async (used, statement, send) => {
    for (const node of await planned(client, statement as pg.QueryConfig)) {
      const { 'Relation Name': table, 'Node Type': type } = node;
      if (table === undefined) continue;
      const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
      if (type === 'Seq Scan') found.push(`sequential scan of ${table}`);
      if (rows > MOST_ROWS) found.push(`${rows} rows of ${table} by ${type}`);
    }
    return await send.call(used, statement);
  }, list);
  await client.end();
  return [...new Set(found)];
}

const names = { app: 'app-3', userId: 'user-203', sessionId: 's-5203' };
const { app, userId, sessionId } = names;

test('a list of sessions reads its page, of an app of fifty thousand as of one user [store.lists]', async () => {
  const { next = '' } = await store.sessions.list({ app, limit: 1, offset: 10 });
  for (const whose of [{ app }, { app, userId }]) {
    for (const order of ['asc', 'desc'] as const) {
      for (const place of [{}, { after: next }, { offset: 50 }]) {
        const list = { ...whose, order, ...place };
        expect.soft(await greed(() => store.sessions.list(list)), JSON.stringify(list)).toEqual([]);
      }
    }
  }
});

const WHOSE = [
  ...[
    {},
    { app },
    { app, userId },
    { userId },
    { sessionId },
    { app, sessionId },
    { userId, sessionId },
    names,
  ],
];

test('a list of requests reads its page, whichever requests it is about [store.lists]', async () => {
  const sets = [['pending'], ['approved'], REQUEST_ENDS, REQUEST_STATUSES] as const;
  for (const whose of [
    ...WHOSE,
    { rootWorkflowId: 'root-520' },
    { app, userId, rootWorkflowId: 'root-520' },
  ]) {
    for (const status of sets) {
      for (const kind of [{}, { kind: 'input' as const }]) {
        for (const place of [{}, { order: 'newest' as const, after: { since: 500_000, requestId: 'rq' } }]) {
          const list = { ...whose, ...kind, ...place, status };
          expect.soft(await greed(() => store.approvals.list(list)), JSON.stringify(list)).toEqual([]);
        }
      }
    }
  }
});

test('a list of jobs reads its page, whichever jobs it is about [store.lists]', async () => {
  for (const whose of WHOSE) {
    for (const status of [['running'], ['completed', 'failed'], JOB_STATUSES] as const) {
      for (const place of [{}, { order: 'newest' as const, after: { since: 500_000, jobId: 'j' } }]) {
        const list = { ...whose, ...place, status };
        expect.soft(await greed(() => store.jobs.list(list)), JSON.stringify(list)).toEqual([]);
      }
    }
  }
});
