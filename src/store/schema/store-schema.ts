import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

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

const FUNCTIONS = new URL('./functions/', import.meta.url);
const SUFFIX = '.sql';

const textOf = (path: string, base: URL) => readFileSync(new URL(path, base), 'utf8');

/** The schema of this release. */
export const STORE_SCHEMA: StoreSchema = {
  changes: [{ version: 1, name: 'tables', sql: textOf('./tables.sql', new URL(import.meta.url)) }],
  functions: new Map(
    readdirSync(FUNCTIONS)
      .filter((file) => file.endsWith(SUFFIX))
      .sort()
      .map((file) => [file.slice(0, -SUFFIX.length), textOf(file, FUNCTIONS)]),
  ),
};

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
