import type { Selectable } from 'kysely';
import type { StoredCredential } from '../../contract/credentials.ts';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import { sessionKeys } from '../sessions/session-names.ts';
import {
  type CredentialStore,
  type NewCredential,
  PROVIDER,
  type SealedCredential,
} from './credential-store.ts';

/** Content and its facts: $6 to $15. */
const COLUMNS = 'credential_ref, auth_type, label, key_id, sealed, scopes, account, created_at, expires_at';
const VALUES = `$6, $7, $8, $9, $10, $11, $12, coalesce($13::timestamptz, clock_timestamp()),
  coalesce($14::bigint, holdfast.now_ms() + $15::bigint)`;
const PUT = `insert into holdfast.credentials as c (user_key, key_digest, app_key, app, user_id, credential_key,
  ${COLUMNS})
values ($1, sha256(convert_to($5, 'UTF8')), $2, $3, $4, $5, ${VALUES})
on conflict on constraint credentials_pkey do update set lease_by = null,
  (${COLUMNS}) = (${COLUMNS.replace(/\w+/g, 'excluded.$&')})
returning *`;

const REPLACE = `update holdfast.credentials c set lease_by = null, (${COLUMNS}) = (${VALUES})
where c.user_key = $1 and c.key_digest = sha256(convert_to($5, 'UTF8')) and c.app_key = $2 and c.app = $3
  and c.user_id = $4 and c.credential_ref = $6 and c.sealed = $16
  and (c.lease_by = $17 or ($17::text is null and (c.lease_by is null or c.lease_until < holdfast.now_ms()))) returning 1`;

const FIND_OF_SESSION = `select c.*, holdfast.now_ms() as now from holdfast.sessions s
join holdfast.credentials c on c.user_key = s.user_key and c.key_digest = sha256(convert_to($2, 'UTF8')) where s.id = $1`;

const SEALED_OTHERWISE = `select c.*, holdfast.now_ms() as now from holdfast.credentials c
where c.app_key = $1 and c.key_id <> $2 limit 100`;

const LEASE = `update holdfast.credentials c set lease_by = $3, lease_until = holdfast.now_ms() + $4::bigint
where c.user_key = $1 and c.credential_ref = $2 and c.sealed = $5 and c.auth_type = $6
  and (c.lease_by is null or c.lease_by = $3 or c.lease_until < holdfast.now_ms()) returning 1`;

const REMOVE =
  'delete from holdfast.credentials c where c.user_key = $1 and c.credential_ref = $2 returning 1';

type CredentialRow = Selectable<Tables['holdfast.credentials']>;

/** A credential as a statement finds it for its use: `now` is milliseconds since the epoch. */
type FoundRow = CredentialRow & { now: string };

export function postgresCredentials(database: Database): CredentialStore {
  const isDone = async (statement: string, values: unknown[]) =>
    (await database.query(statement, values)).length > 0;
  return {
    /** @throws Unstorable where a name or the key isn't storable */
    async put(credential) {
      const [row] = await database.query<CredentialRow>(PUT, valuesOf(credential));
      return storedCredential(row as CredentialRow);
    },
    async find(find) {
      if ('session' in find) {
        const values = [find.session, storableText(find.credentialKey)];
        const [row] = await database.query<FoundRow>(FIND_OF_SESSION, values);
        return row && foundCredential(row);
      }
      const { app, userId } = find;
      const query = database.db
        .selectFrom('holdfast.credentials')
        .selectAll()
        .select(({ fn }) => fn<string>('holdfast.now_ms').as('now'))
        .where('user_key', '=', keysOf(app, userId).user);
      const [row] = await database.read(
        'credentialRef' in find
          ? query.where('credential_ref', '=', storableText(find.credentialRef)).compile()
          : query.where('credential_key', '=', storableText(find.credentialKey)).compile(),
      );
      return row && foundCredential(row);
    },
    /** By user and key. */
    async list({ app, userId }) {
      const query = database.db.selectFrom('holdfast.credentials').selectAll();
      const rows = await database.read(
        (userId === undefined
          ? query.where('app_key', '=', keysOf(app, '').app)
          : query.where('user_key', '=', keysOf(app, userId).user)
        )
          .where('auth_type', '<>', PROVIDER)
          .orderBy('user_id')
          .orderBy('credential_key')
          .compile(),
      );
      return rows.map(storedCredential);
    },
    async remove({ app, userId, credentialRef }) {
      return await isDone(REMOVE, [keysOf(app, userId).user, storableText(credentialRef)]);
    },
    async lease({ app, userId, credentialRef, sealed, authType }, holder, milliseconds) {
      const which = [keysOf(app, userId).user, storableText(credentialRef)];
      return await isDone(LEASE, [...which, holder, milliseconds, sealed, authType]);
    },
    async replace({ credential, before, holder = null }) {
      return await isDone(REPLACE, [...valuesOf(credential), before, holder]);
    },
    async sealedOtherwise(app, keyId) {
      const rows = await database.query<FoundRow>(SEALED_OTHERWISE, [keysOf(app, '').app, keyId]);
      return rows.map(foundCredential);
    },
  };
}

function valuesOf(credential: NewCredential): unknown[] {
  const { app, userId, credentialKey, credentialRef, authType, label, keyId, sealed } = credential;
  const { scopes, account, createdAt, expiresAt, expiresIn } = credential;
  const keys = keysOf(app, userId, credentialKey);
  const text = (given: string | undefined) => (given === undefined ? null : storableText(given));
  return [
    ...[keys.user, keys.app, app, userId, credentialKey, credentialRef, authType, text(label), keyId, sealed],
    ...[text(scopes?.join(' ')), text(account), createdAt === undefined ? null : new Date(createdAt)],
    ...[expiresAt ?? null, expiresIn === undefined ? null : Math.round(expiresIn)],
  ];
}

/** A key that isn't storable is refused as a name is: it would come back as another one. */
function keysOf(app: string, userId: string, credentialKey = '') {
  return sessionKeys({ app, userId, sessionId: credentialKey });
}

function foundCredential(row: FoundRow): SealedCredential {
  const { key_id: keyId, sealed, expires_at: at, now } = row;
  const expiresIn = at === null ? undefined : Number(at) - Number(now);
  return { ...storedCredential(row), keyId, sealed, ...defined({ expiresIn }) };
}

function storedCredential(row: CredentialRow): StoredCredential {
  return {
    credentialRef: row.credential_ref,
    app: row.app,
    userId: row.user_id,
    credentialKey: row.credential_key,
    authType: row.auth_type,
    ...defined({
      label: row.label ?? undefined,
      scopes: row.scopes?.split(' ').filter((scope) => scope !== ''),
      account: row.account ?? undefined,
      expiresAt: row.expires_at === null ? undefined : Number(row.expires_at),
    }),
    createdAt: row.created_at.getTime(),
  };
}
