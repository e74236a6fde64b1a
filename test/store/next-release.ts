import { STORE_SCHEMA, type StoreSchema, versionOf } from '../../src/store/schema/store-schema.ts';

const VERSION = versionOf(STORE_SCHEMA) + 1;

const LABEL_JOB = `-- Jobs have labels, which are counted.
create or replace function holdfast.label_job(job text, new_label text) returns void language plpgsql as $$
begin
  update holdfast.jobs t set label = new_label where t.job_id = job;
  insert into holdfast.labels as l (label, jobs) values (new_label, 1)
    on conflict (label) do update set jobs = l.jobs + 1;
end $$;
`;

function edited(name: string, ...edits: readonly [from: string, to: string][]): [string, string] {
  let sql = STORE_SCHEMA.functions.get(name) ?? '';
  for (const [from, to] of edits) {
    if (!sql.includes(from)) throw new Error(`${name} has no ${from}`);
    sql = sql.replace(from, to);
  }
  return [name, sql];
}

/** A release after this one: a function has other parameters, and those that call it are changed with it. */
export const NEXT_FUNCTIONS: StoreSchema = {
  changes: [...STORE_SCHEMA.changes, { version: VERSION, name: 'functions', sql: '' }],
  functions: new Map([
    ...STORE_SCHEMA.functions,
    edited(
      'address_job',
      ['activity text)', 'activity text, is_newest boolean)'],
      ['  if j.status', '  if is_newest and j.status'],
    ),
    edited('await_job', ['workflow_run, activity)', 'workflow_run, activity, true)']),
    edited('open_job', ['a.activity_id)', 'a.activity_id, true)']),
  ]),
};

const labelling = edited(
  'open_job',
  ['activity_id text)', 'activity_id text, label text)'],
  ['a.activity_id)', 'a.activity_id, true)'],
  [
    '  return',
    "  if began then perform holdfast.label_job(a.job_id, coalesce(a.label, 'none')); end if;\n  return",
  ],
);

/** Another one: that, a column and a table more, a function with an argument that may be left out, and a new function. */
export const NEXT_RELEASE: StoreSchema = {
  changes: [
    ...STORE_SCHEMA.changes,
    {
      version: VERSION,
      name: 'labels',
      sql: `alter table holdfast.jobs add column label text not null default 'none';
        create table holdfast.labels (label text collate "C" primary key, jobs int not null)`,
    },
  ],
  functions: new Map([...NEXT_FUNCTIONS.functions, labelling, ['label_job', LABEL_JOB]]),
};
