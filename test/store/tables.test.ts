import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { folderWithStore } from './temporary-folder.ts';

const STORE = fileURLToPath(new URL('../../src/store/', import.meta.url));
const sources = globSync('**/*.ts', { cwd: STORE }).map((file) => readFileSync(STORE + file, 'utf8'));
const folder = folderWithStore();

/** Which types of PostgreSQL a type of a column stands for; where none fits, it is a name of ours: text or JSON. */
const TYPES: readonly [declared: RegExp, types: readonly string[]][] = [
  [/^(BigInteger|number \| string)\b/, ['int8']],
  [/^number\b/, ['int4', 'float8']],
  [/^(Generated<)?boolean>?( \| null)?$/, ['bool']],
  [/^(Generated<)?Date\b/, ['timestamptz']],
  [/^(Buffer|Uint8Array)\b/, ['bytea']],
  [/^string( \||$)/, ['text', 'uuid']],
  [/^JSONColumnType</, ['json', 'jsonb']],
];
const OF_NAMED = ['text', 'json', 'jsonb'];

type Columns = Map<string, string>;

/** Members of the first type literal behind some text. */
function membersBehind(start: string): Columns {
  const source = sources.find((each) => each.includes(start)) ?? expect.fail(`no ${start}`);
  const literal = source.slice(source.indexOf('{', source.indexOf(start)) + 1);
  const [line = ''] = literal.split('\n', 1);
  const members = line.includes('}')
    ? line.slice(0, line.indexOf('}')).split(';')
    : (literal.split(/\n {0,2}\}/, 1)[0] ?? '').split(/;\n/);
  return new Map(
    members.flatMap((member) => {
      const [, name, type] = /^\s*(\w+): (.+?);?\s*$/s.exec(member) ?? [];
      return name === undefined || type === undefined ? [] : [[name, type]];
    }),
  );
}

function declaredTables(): Map<string, Columns> {
  const tables = sources.find((source) => source.includes('export interface Tables {')) ?? '';
  return new Map(
    [...tables.matchAll(/^ {2}'holdfast\.(\w+)': (?:Omit<(\w+))?/gm)].map(([start, table = '', base]) => {
      const own = membersBehind(start);
      const inherited = base === undefined ? [] : membersBehind(`export interface ${base} {`);
      return [table, new Map([...inherited, ...own])];
    }),
  );
}

test('the columns that typed queries name are those of the tables, with their types [store.schema]', async () => {
  const declared = declaredTables();
  expect(declared.size).toBeGreaterThan(10);
  const store = await openStore({ folder });
  const { rows } = await sql<{ table: string; column: string; type: string; isNull: boolean }>`
    select table_name as "table", column_name as "column", udt_name as type, is_nullable = 'YES' as "isNull"
    from information_schema.columns where table_schema = 'holdfast'`.execute(store.db);
  await store.close();
  const actual = new Map(rows.map((row) => [`${row.table}.${row.column}`, row]));
  const wrong = [...declared].flatMap(([table, columns]) => {
    expect(columns.size, table).toBeGreaterThan(2);
    return [...columns].flatMap(([column, type]) => {
      const found = actual.get(`${table}.${column}`);
      const [, types] = TYPES.find(([pattern]) => pattern.test(type)) ?? [type, OF_NAMED];
      const mayBeNull = /\| null$|^unknown$/.test(type);
      const fits = found !== undefined && types.includes(found.type) && found.isNull === mayBeNull;
      return fits ? [] : [`${table}.${column}: ${type}, not ${found?.type} ${found?.isNull ? '| null' : ''}`];
    });
  });
  expect(wrong).toEqual([]);
});
