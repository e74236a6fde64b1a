import type { Selectable } from 'kysely';
import type { StoredCredential } from '../../contract/credentials.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import { sessionKeys } from '../sessions/session-names.ts';
import type { CredentialStore, SealedCredential } from './credential-store.ts';

const PUT = `insert into holdfast.credentials as c (user_key, key_digest, app_key, app, user_id, credential_key,
  credential_ref, auth_type, label, key_id, sealed)
values ($1, sha256(convert_to($5, 'UTF8')), $2, $3, $4, $5, $6, $7, $8, $9, $10)
on conflict on constraint credentials_pkey do update set credential_ref = excluded.credential_ref,
  auth_type = excluded.auth_type, label = excluded.label, key_id = excluded.key_id, sealed = excluded.sealed,
  created_at = excluded.created_at
returning *`;

/** Where there is none. Repeated, each of the two finds its own work. */
const ADD = `insert into holdfast.credentials as c (user_key, key_digest, app_key, app, user_id, credential_key,
  credential_ref, auth_type, label, key_id, sealed, created_at)
values ($1, sha256(convert_to($5, 'UTF8')), $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($11, clock_timestamp()))
on conflict on constraint credentials_pkey do update set credential_ref = excluded.credential_ref,
  auth_type = excluded.auth_type, label = excluded.label, key_id = excluded.key_id, sealed = excluded.sealed,
  created_at = excluded.created_at
where c.credential_ref = excluded.credential_ref
returning 1`;

/** In the place of one; where that is gone, nothing comes back. */
const SWAP = `update holdfast.credentials c set credential_ref = $6, auth_type = $7, label = $8, key_id = $9, sealed = $10,
  created_at = coalesce($11, clock_timestamp())
where c.user_key = $1 and c.key_digest = sha256(convert_to($5, 'UTF8')) and c.app_key = $2 and c.app = $3
  and c.user_id = $4 and c.credential_ref in ($6, $12)
returning 1`;

const REMOVE =
  'delete from holdfast.credentials c where c.user_key = $1 and c.credential_ref = $2 returning 1';

type CredentialRow = Selectable<Tables['holdfast.credentials']>;

export function postgresCredentials(database: Database): CredentialStore {
  return {
    /** @throws Unstorable where a name or the key isn't storable */
    async put(credential) {
      const [row] = await database.query<CredentialRow>(PUT, valuesOf(credential));
      return storedCredential(row as CredentialRow);
    },
    /** @throws Unstorable where a name or the key isn't storable */
    async swap({ credential, before }) {
      const { createdAt } = credential;
      const values = [...valuesOf(credential), createdAt === undefined ? null : new Date(createdAt)];
      const swapped =
        before === undefined
          ? await database.query(ADD, values)
          : await database.query(SWAP, [...values, storableText(before)]);
      return swapped.length > 0;
    },
    async find(find) {
      const { app, userId } = find;
      const query = database.db
        .selectFrom('holdfast.credentials')
        .selectAll()
        .where('user_key', '=', keysOf(app, userId).user);
      const [row] = await database.read(
        'credentialRef' in find
          ? query.where('credential_ref', '=', storableText(find.credentialRef)).compile()
          : query.where('credential_key', '=', storableText(find.credentialKey)).compile(),
      );
      return row && { ...storedCredential(row), keyId: row.key_id, sealed: row.sealed };
    },
    /** By user and key. */
    async list({ app, userId }) {
      const query = database.db.selectFrom('holdfast.credentials').selectAll();
      const rows = await database.read(
        (userId === undefined
          ? query.where('app_key', '=', keysOf(app, '').app)
          : query.where('user_key', '=', keysOf(app, userId).user)
        )
          .orderBy('user_id')
          .orderBy('credential_key')
          .compile(),
      );
      return rows.map(storedCredential);
    },
    async remove({ app, userId, credentialRef }) {
      const removed = await database.query(REMOVE, [keysOf(app, userId).user, storableText(credentialRef)]);
      return removed.length > 0;
    },
  };
}

function valuesOf(credential: Omit<SealedCredential, 'createdAt'>): unknown[] {
  const { app, userId, credentialKey, credentialRef, authType, label, keyId, sealed } = credential;
  const keys = keysOf(app, userId, credentialKey);
  const shown = label === undefined ? null : storableText(label);
  return [keys.user, keys.app, app, userId, credentialKey, credentialRef, authType, shown, keyId, sealed];
}

/** A key that isn't storable is refused as a name is: it would come back as another one. */
function keysOf(app: string, userId: string, credentialKey = '') {
  return sessionKeys({ app, userId, sessionId: credentialKey });
}

function storedCredential(row: CredentialRow): StoredCredential {
  return {
    credentialRef: row.credential_ref,
    app: row.app,
    userId: row.user_id,
    credentialKey: row.credential_key,
    authType: row.auth_type,
    ...(row.label === null ? {} : { label: row.label }),
    createdAt: row.created_at.getTime(),
  };
}
