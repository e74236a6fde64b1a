import type pg from 'pg';
import { checksumOf, type StoreSchema, versionOf } from './store-schema.ts';

/** The tables and functions that a store already has. */
export interface AppliedSchema {
  /** Checksums of its changes by version. */
  changes: ReadonlyMap<number, string>;
  /** Of the functions that are there, by name. */
  functions: ReadonlyMap<string, { checksum: string; signature: string }>;
}

const RECORDS = `select
  coalesce((select json_agg(json_build_array(m.version, m.checksum)) from holdfast.migrations m), '[]') as changes,
  coalesce((
    select json_agg(json_build_array(f.name, json_build_object('checksum', f.checksum, 'signature', f.signature)))
    from holdfast.functions f
    where exists (select from pg_proc p where p.proname = f.name and p.pronamespace = 'holdfast'::regnamespace)
  ), '[]') as functions`;

interface Records {
  changes: [number, string][];
  functions: [string, { checksum: string; signature: string }][];
}

export async function readApplied(client: pg.ClientBase): Promise<AppliedSchema> {
  const { rows: there } = await client.query<{ is: boolean }>(
    `select to_regclass('holdfast.functions') is not null as is`,
  );
  if (!there[0]?.is) return { changes: new Map(), functions: new Map() };
  const { rows } = await client.query<Records>(RECORDS);
  return { changes: new Map(rows[0]?.changes), functions: new Map(rows[0]?.functions) };
}

/** 0 of an empty store. */
export function newestOf({ changes }: AppliedSchema): number {
  return Math.max(0, ...changes.keys());
}

/** Version of a change that the store has otherwise; those that this release doesn't know are none of its business. */
export function foreignVersion({ changes }: AppliedSchema, schema: StoreSchema): number | undefined {
  return schema.changes.find(({ version, sql }) => {
    const applied = changes.get(version);
    return applied !== undefined && applied !== checksumOf(sql);
  })?.version;
}

/** Functions of this release that the store lacks or, unless the store is of a newer release, has otherwise. */
export function outdatedFunctions(
  applied: AppliedSchema,
  schema: StoreSchema,
): [name: string, sql: string][] {
  const isNewer = newestOf(applied) > versionOf(schema);
  return [...schema.functions].filter(([name, sql]) => {
    const there = applied.functions.get(name);
    // The newer release may have stopped between its tables and its functions, or have none of those that only this one calls.
    return there === undefined || (!isNewer && there.checksum !== checksumOf(sql));
  });
}
