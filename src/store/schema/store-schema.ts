import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A change of tables, indexes and types. A released change stays as it is; the next release adds one with the next version. */
export interface TableChange {
  version: number;
  name: string;
  sql: string;
}

/** Tables as a chain of changes; functions by name, each with its one definition. README.md says what a release may change. */
export interface StoreSchema {
  changes: readonly TableChange[];
  functions: ReadonlyMap<string, string>;
}

/** Each noun's room has the SQL of its functions. */
const ROOMS = fileURLToPath(new URL('../', import.meta.url));
const TABLES = join(ROOMS, 'schema', 'tables.sql');

/** Between two definitions, each with the comment before it and the trigger after it. */
const BETWEEN = /\n\n(?=--|create )/;
const NAME = /^create or replace function holdfast\.(\w+)/m;

/** The schema of this release. */
export const STORE_SCHEMA: StoreSchema = {
  changes: [{ version: 1, name: 'tables', sql: sqlIn(TABLES) }],
  functions: new Map(
    globSync('*/*.sql', { cwd: ROOMS })
      .map((path) => join(ROOMS, path))
      .filter((path) => path !== TABLES)
      .flatMap((path) => definitionsIn(sqlIn(path)))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  ),
};

/** The same checksum on every system: Git may have written `\r\n`. */
function sqlIn(path: string): string {
  return readFileSync(path, 'utf8').replaceAll('\r\n', '\n');
}

function definitionsIn(sql: string): [name: string, sql: string][] {
  return sql.split(BETWEEN).map((definition) => {
    const name = NAME.exec(definition)?.[1];
    if (name === undefined) throw new TypeError(`no definition of a function: ${definition.slice(0, 80)}`);
    return [name, `${definition.trim()}\n`];
  });
}

export function versionOf({ changes }: StoreSchema): number {
  return Math.max(...changes.map(({ version }) => version));
}

/** By which a store knows a text again. */
export function checksumOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

/**
 * Parameters and result of a function's definition: PostgreSQL replaces none that has others.
 *
 * @throws TypeError where the text defines no function of the schema `holdfast`
 */
export function signatureOf(sql: string): string {
  const [, signature] = /^create or replace function holdfast\.\w+\s*(\(.*?)\s+language\s/ms.exec(sql) ?? [];
  if (signature === undefined) throw new TypeError(`no definition of a function: ${sql.slice(0, 80)}`);
  return signature.replaceAll(/\s+/g, ' ');
}
