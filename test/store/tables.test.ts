import { readFileSync } from 'node:fs';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listApprovals } from '../../src/contract/approvals.ts';
import { listJobs } from '../../src/contract/jobs.ts';
import { APPROVAL_COLUMNS, SIGNATURE_COLUMNS } from '../../src/store/approvals/approval-row.ts';
import type { StoredSignature } from '../../src/store/approvals/approval-store.ts';
import type { Column } from '../../src/store/engine/row.ts';
import { JOB_COLUMNS } from '../../src/store/jobs/job-row.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { folderWithStore } from './temporary-folder.ts';

const source = readFileSync(new URL('../../src/store/engine/tables.ts', import.meta.url), 'utf8');
const ROWS = { approvals: APPROVAL_COLUMNS, jobs: JOB_COLUMNS, signatures: SIGNATURE_COLUMNS };

const folder = folderWithStore();
let store: OpenedStore;
beforeAll(async () => {
  store = await openStore({ folder });
});
afterAll(() => store.close());

/** Which types of PostgreSQL a type of a column stands for; where none fits, it is a name of ours: text or JSON. */
const TYPES: readonly [declared: RegExp, types: readonly string[]][] = [
  [/^BigInteger\b/, ['int8']],
  [/^number\b/, ['int4', 'float8']],
  [/^(Generated<)?boolean>?( \| null)?$/, ['bool']],
  [/^(Generated<)?Date\b/, ['timestamptz']],
  [/^(Buffer|Uint8Array)\b/, ['bytea']],
  [/^string( \||$)/, ['text', 'uuid']],
  [/^JSONColumnType</, ['json', 'jsonb']],
  [/./, ['text', 'json', 'jsonb']],
];

/** Columns as `Tables` and the maps of rows name them, with the types that each may have in PostgreSQL. */
function declaredColumns(): { column: string; types: readonly string[]; isNullable: boolean }[] {
  const tables = source.matchAll(/^ {2}'holdfast\.(\w+)': .*?\{(.*?)\};$/gms);
  const named = [...tables].flatMap(([, table, members = '']) =>
    members.split(members.includes('\n') ? /;\n/ : ';').flatMap((member) => {
      const [, name, type = ''] = /^\s*(\w+): (.+)$/s.exec(member) ?? [];
      const [, types = []] = TYPES.find(([pattern]) => pattern.test(type)) ?? [];
      const isNullable = /\| null$|^unknown$/.test(type);
      return name === undefined ? [] : { column: `${table}.${name}`, types, isNullable };
    }),
  );
  const mapped = Object.entries(ROWS).flatMap(([table, columns]) =>
    Object.entries(columns).map(([name, { type, isNullable }]) => {
      return { column: `${table}.${name}`, types: [type], isNullable };
    }),
  );
  return [...named, ...mapped];
}

test('the columns that typed queries name are those of the tables, with their types [store.schema]', async () => {
  const declared = declaredColumns();
  expect(declared.length).toBeGreaterThan(200);
  const { rows } = await sql<{ column: string; type: string; isNullable: boolean }>`
    select table_name || '.' || column_name as "column", udt_name as type, is_nullable = 'YES' as "isNullable"
    from information_schema.columns where table_schema = 'holdfast'`.execute(store.db);
  const actual = new Map(rows.map((row) => [row.column, row]));
  const wrong = declared.filter(({ column, types, isNullable }) => {
    const found = actual.get(column);
    return found === undefined || !types.includes(found.type) || found.isNullable !== isNullable;
  });
  expect(wrong.map((each) => ({ ...each, actual: actual.get(each.column) }))).toEqual([]);
});

/** A row with a value in each column that is read. */
async function insertFull(table: keyof typeof ROWS, given: object): Promise<void> {
  const values = { json: { at: 1 }, int4: 1, int8: Number.MAX_SAFE_INTEGER, bool: true };
  const full = Object.entries<Column<unknown, unknown>>(ROWS[table]).map(([name, { type }]) => [
    name,
    type === 'text' ? name : values[type],
  ]);
  const row = JSON.stringify({ app_key: '', user_key: '', ...Object.fromEntries(full), ...given });
  const rows = sql.table(`holdfast.${table}`);
  const read = sql`select (json_populate_record(null::${rows}, ${row}::json)).*`;
  await sql`insert into ${rows} ${read}`.execute(store.db);
}

test('full rows are objects of the contracts, with all their fields [store.schema]', async () => {
  const names = { app: 'a', userId: 'u', sessionId: 's' };
  await store.sessions.create(names);
  const { session = '' } = (await store.sessions.find(names)) ?? {};
  const given = { session_id: session, status: 'answered', terms: {}, votes: [], history: [] };
  await insertFull('approvals', { ...given, kind: 'input', path: [], sensitive: true });
  await insertFull('signatures', given);
  const ended = { status: 'failed', mode: 'parked', ended_by: 'poll', not_yet: 2, failed_polls: 3 };
  await insertFull('jobs', { ...given, ...ended, model_seq: 1, hidden: false });

  const [job, request] = [await store.jobs.find('job_id'), await store.approvals.find('request_id')];
  const jobs = listJobs.output.shape.jobs.element.omit({ args: true });
  const requests = listApprovals.output.shape.approvals.element;
  for (const [row, contract] of [
    [job, jobs],
    [request, requests],
  ] as const) {
    expect(contract.parse(row)).toEqual(row);
    expect(Object.keys(row ?? {}).sort()).toEqual(Object.keys(contract.shape).sort());
  }
  const at = Number.MAX_SAFE_INTEGER;
  expect(job).toMatchObject({
    ...{
      session,
      heardAt: at,
      endedByPerson: 'ended_person',
      outcome: { response: { at: 1 }, failed: true },
    },
    address: { workflowId: 'workflow_id', runId: 'workflow_run_id', activityId: 'activity_id' },
    polls: { notYet: 2, failed: 3, failedInARow: 1, lastError: 'poll_error', lastAt: at },
  });
  const signature: Required<Omit<StoredSignature, 'key' | 'says'>> = {
    ...{
      requestId: 'request_id',
      digest: 'digest',
      principal: 'principal',
      jws: 'jws',
      n: 1,
      at,
      cameAt: at,
    },
    ...{ signedResponse: 'signed_response', meantResponse: 'meant_response' },
  };
  const signatures = await store.approvals.listSignatures(session);
  expect(signatures).toEqual([{ ...signature, key: { at: 1 }, says: 'says' }]);
});
