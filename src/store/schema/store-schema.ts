import { createHash } from 'node:crypto';
import { SQL_FILES } from './sql-files.ts';

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

const { 'schema/tables.sql': TABLES = '', ...FUNCTIONS } = SQL_FILES;

/** Between two definitions, each with the comment before it and the trigger after it. */
const BETWEEN = /\n\n(?=--|create )/;
const NAME = /^create or replace function holdfast\.(\w+)/m;

/** The schema of this release. */
export const STORE_SCHEMA: StoreSchema = {
  changes: [{ version: 1, name: 'tables', sql: TABLES }],
  functions: new Map(
    Object.values(FUNCTIONS)
      .flatMap(definitionsIn)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  ),
};

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
