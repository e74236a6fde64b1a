import type { Selectable } from 'kysely';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import type { ApiKeyRow, ApiKeyStore, KnownApiKey, NewApiKey } from './api-key-store.ts';

type KeyRow = Selectable<Tables['holdfast.api_keys']>;

/** A repeated one finds its own row. */
const CREATE = `insert into holdfast.api_keys as k (key_id, name, user_id, grants, digest, expires_at)
values ($1, $2, $3, $4, $5, clock_timestamp() + $6::float8 * interval '1 millisecond')
on conflict (key_id) do update set key_id = excluded.key_id where k.digest = excluded.digest
returning k.*`;

/** One statement, however many there are of them. */
const FIND = 'select * from holdfast.api_keys where key_id = any($1::text[])';

/** The same digest again is the same rotation. */
const ROTATE = `update holdfast.api_keys k set digest = $2, rotated_at = clock_timestamp(),
  old_digest = case when k.digest = $2 then k.old_digest else k.digest end,
  old_until = case when k.digest = $2 then k.old_until else clock_timestamp() + $3::float8 * interval '1 millisecond' end
where k.key_id = $1 and k.revoked_at is null
returning k.*`;

const REVOKE = `update holdfast.api_keys k set revoked_at = coalesce(k.revoked_at, clock_timestamp())
where k.key_id = $1 returning k.*`;

const TOUCH = `update holdfast.api_keys k set used_at = clock_timestamp()
where k.key_id = $1 and (k.used_at is null or k.used_at < clock_timestamp() - interval '1 minute')`;

export async function createApiKey(database: Database, key: NewApiKey): Promise<ApiKeyRow> {
  const { keyId, name, userId, grants, digest, expiresIn } = key;
  const [row] = await database.query<KeyRow>(CREATE, [
    storableText(keyId),
    storableText(name),
    userId === undefined ? null : storableText(userId),
    jsonText(grants),
    Buffer.from(digest),
    expiresIn ?? null,
  ]);
  if (row === undefined) throw new Error(`there is another API key ${keyId}`);
  return rowOf(row);
}

export async function findApiKeys(database: Database, keyIds: readonly string[]): Promise<KnownApiKey[]> {
  const rows = await database.query<KeyRow>(FIND, [keyIds.map(storableText)]);
  return rows.map((row) => ({
    ...rowOf(row),
    digest: row.digest,
    ...(row.old_digest === null ? {} : { oldDigest: row.old_digest }),
  }));
}

export async function listApiKeys(database: Database): Promise<ApiKeyRow[]> {
  const query = database.db
    .selectFrom('holdfast.api_keys')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('key_id');
  return (await database.read(query.compile())).map(rowOf);
}

export async function rotateApiKey(
  database: Database,
  { keyId, digest, grace }: Parameters<ApiKeyStore['rotateApiKey']>[0],
): Promise<ApiKeyRow | undefined> {
  const [row] = await database.query<KeyRow>(ROTATE, [storableText(keyId), Buffer.from(digest), grace]);
  return row && rowOf(row);
}

export async function revokeApiKey(database: Database, keyId: string): Promise<ApiKeyRow | undefined> {
  const [row] = await database.query<KeyRow>(REVOKE, [storableText(keyId)]);
  return row && rowOf(row);
}

export async function touchApiKey(database: Database, keyId: string): Promise<void> {
  await database.query(TOUCH, [storableText(keyId)]);
}

function rowOf(row: KeyRow): ApiKeyRow {
  return {
    keyId: row.key_id,
    name: row.name,
    ...(row.user_id === null ? {} : { userId: row.user_id }),
    grants: row.grants,
    createdAt: row.created_at.getTime(),
    ...at('expiresAt', row.expires_at),
    ...at('rotatedAt', row.rotated_at),
    ...at('oldUntil', row.old_until),
    ...at('revokedAt', row.revoked_at),
    ...at('usedAt', row.used_at),
  };
}

function at<Name extends string>(name: Name, time: Date | null): { [name in Name]?: number } {
  return time === null ? {} : ({ [name]: time.getTime() } as { [name in Name]: number });
}
