import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { startPostgresServer } from '../setup/postgres-server.ts';

/** Programs of an installed PostgreSQL whose extensions have `plpgsql_check`; the one that other tests run has none. */
function programsWithCheck(): string | undefined {
  return globSync('/usr/lib/postgresql/*/bin').find((programs) => {
    if (!existsSync(join(programs, 'pg_config'))) return false;
    const shared = execFileSync(join(programs, 'pg_config'), ['--sharedir'], { encoding: 'utf8' }).trim();
    return existsSync(join(shared, 'extension', 'plpgsql_check.control'));
  });
}

/** A literal counts as text to it: `delta jsonb := '{}'` is none of its business. */
const FINDINGS = `select concat_ws(' ', p.proname || ':', c.level, 'in line ' || c.lineno || ':', c.message, c.detail, c.query) as finding
  from pg_proc p join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  left join pg_trigger t on t.tgfoid = p.oid
  cross join lateral plpgsql_check_function_tb(p.oid, coalesce(t.tgrelid, 0), fatal_errors => false,
    extra_warnings => true, performance_warnings => false, security_warnings => true) c
  where p.pronamespace = 'holdfast'::regnamespace
    and not (c.message like 'target type is different%' and c.detail like 'cast "text" value to %')
  order by finding`;

const FAULTY = `create function holdfast.faulty() returns void language plpgsql as $$
declare
  unused int;
begin
  perform from holdfast.sessions t where t.nothing;
end $$`;

test('plpgsql_check finds nothing in the functions of the store [store.schema]', async (context) => {
  const programs = programsWithCheck();
  if (programs === undefined) {
    return context.skip(
      'no PostgreSQL with plpgsql_check is installed (Debian: postgresql-15-plpgsql-check)',
    );
  }
  const server = await startPostgresServer({ programs });
  onTestFinished(() => server.close());
  const url = await server.newDatabase();
  await (await openStore({ url })).close();
  const database = new URL(url).pathname.slice(1);
  await server.query('create extension plpgsql_check', database);
  await server.query(FAULTY, database);
  const findings = await server.query<{ finding: string }>(FINDINGS, database);
  expect(findings.map(({ finding }) => finding)).toEqual([
    expect.stringContaining('column t.nothing does not exist'),
    expect.stringContaining('unused variable "unused"'),
  ]);
});
