import type { Selectable } from 'kysely';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { Tables } from '../engine/tables.ts';
import { newSession, type SessionNames, sessionKeys } from '../sessions/session-names.ts';
import type { ArtifactContent, ArtifactOwner, ArtifactStore, StoredArtifact } from './artifact-store.ts';

type VersionRow = Pick<
  Selectable<Tables['holdfast.artifact_versions']>,
  'name' | 'version' | 'kind' | 'blob_id' | 'mime_type' | 'display_name' | 'uri' | 'metadata' | 'created_at'
> &
  Pick<Selectable<Tables['holdfast.blobs']>, 'size' | 'sha256'>;

const RESERVE = 'select holdfast.reserve_artifact_version($1, $2, $3, $4) as version';

/** `$1` is the store's id of a session, or else `$2` the key of its names and `$3` that of its user. */
const SCOPES = `scopes as (
  select coalesce(s.root_session, s.id) as own, s.user_key as users from holdfast.sessions s where s.id = $1::text or s.name_key = $2::text
  union all
  select null, $3::text where $3 is not null and not exists (select from holdfast.sessions s where s.name_key = $2)
)`;

const SCOPE_OF_NAME = `(select case when starts_with($4, 'user:') then t.users else t.own end from scopes t)`;

const COLUMNS =
  'v.name, v.version, v.kind, v.blob_id, v.mime_type, v.display_name, v.uri, v.metadata, v.created_at, b.size, b.sha256';

const VERSION = 'holdfast.artifact_versions v left join holdfast.blobs b on b.id = v.blob_id';

const FIND = `with ${SCOPES} select ${COLUMNS} from ${VERSION}
where v.scope = ${SCOPE_OF_NAME} and v.name = $4 and ($5::bigint is null or v.version = $5)
order by v.version desc limit 1`;

const VERSIONS = `with ${SCOPES} select ${COLUMNS} from ${VERSION}
where v.scope = ${SCOPE_OF_NAME} and v.name = $4 and v.kind is not null order by v.version`;

// Where a rewind has gone back to before an artifact was there, its newest version says so.
const NAMES = `with ${SCOPES} select a.name from scopes t
join holdfast.artifacts a on a.scope in (t.own, t.users)
where (select v.kind from holdfast.artifact_versions v where v.scope = a.scope and v.name = a.name
  order by v.version desc limit 1) is not null
order by a.name collate "C"`;

const LIST = `with ${SCOPES} select ${COLUMNS} from scopes t
join holdfast.artifacts a on a.scope in (t.own, t.users)
cross join lateral (select * from holdfast.artifact_versions n where n.scope = a.scope and n.name = a.name
  order by n.version desc limit 1) v
left join holdfast.blobs b on b.id = v.blob_id
where v.kind is not null and ($4::text is null or a.name collate "C" > $4)
order by a.name collate "C" limit $5`;

const SHARED_BY = `select r.app, r.user_id as "userId", r.name as "sessionId" from holdfast.sessions s
join holdfast.sessions r on r.id = coalesce(s.root_session, s.id) where s.id = $1`;

const DELETE = `with ${SCOPES} select holdfast.delete_artifact(${SCOPE_OF_NAME}, $4) as deleted`;

export function postgresArtifacts(database: Database): ArtifactStore {
  return {
    async reserveVersion({ session, key, name, nth }) {
      const [row] = await database.query<{ version: string }>(RESERVE, [
        session,
        key,
        storableText(name),
        nth,
      ]);
      return Number(row?.version);
    },
    async save({ app, userId, sessionId, name, content, metadata, key, makesSession = false }) {
      const keys = sessionKeys({ app, userId, sessionId });
      const version = await callFunction<string | null>(database, 'save_artifact', {
        name_key: keys.name,
        user_key: keys.user,
        make: makesSession ? newSession({ app, userId, sessionId }) : null,
        name,
        saved_by: key,
        ...columnsOf(content),
        metadata: metadata && JsonDocument.of(metadata),
      });
      return version === null ? undefined : Number(version);
    },
    async find(owner, name, version) {
      const [row] = await database.query<VersionRow>(FIND, [
        ...ownerColumns(owner),
        storableText(name),
        version ?? null,
      ]);
      return row && storedArtifact(row);
    },
    async names(owner) {
      const rows = await database.query<{ name: string }>(NAMES, ownerColumns(owner));
      return rows.map(({ name }) => name);
    },
    async list(owner, { limit, after }) {
      const place = after === undefined ? null : storableText(after);
      const rows = await database.query<VersionRow>(LIST, [...ownerColumns(owner), place, limit]);
      return rows.flatMap((row) => storedArtifact(row) ?? []);
    },
    async versions(owner, name) {
      const rows = await database.query<VersionRow>(VERSIONS, [...ownerColumns(owner), storableText(name)]);
      return rows.flatMap((row) => storedArtifact(row) ?? []);
    },
    async sharedBy(session) {
      const [row] = await database.query<SessionNames>(SHARED_BY, [session]);
      return row;
    },
    async delete(owner, name) {
      const [row] = await database.query<{ deleted: number }>(DELETE, [
        ...ownerColumns(owner),
        storableText(name),
      ]);
      return row?.deleted ?? 0;
    },
  };
}

/** As the functions of the store read the content of a version. */
function columnsOf(content: ArtifactContent) {
  switch (content.kind) {
    case 'text':
      return { kind: content.kind, blob: content.blob };
    case 'inline':
      return {
        kind: content.kind,
        blob: content.blob,
        mime_type: content.mimeType,
        display_name: content.displayName,
      };
    case 'file':
      return {
        kind: content.kind,
        uri: content.uri,
        mime_type: content.mimeType,
        display_name: content.displayName,
      };
  }
}

function ownerColumns(owner: ArtifactOwner): [string | null, string | null, string | null] {
  if ('session' in owner) return [owner.session, null, null];
  const { name, user } = sessionKeys(owner);
  return [null, name, user];
}

function storedArtifact(row: VersionRow): StoredArtifact | undefined {
  const content = contentOf(row);
  return (
    content && {
      name: row.name,
      version: Number(row.version),
      content,
      ...defined({ metadata: row.metadata ?? undefined }),
      ...(row.sha256 === null || row.size === null
        ? {}
        : { bytes: { size: Number(row.size), sha256: row.sha256 } }),
      savedAt: row.created_at.getTime(),
    }
  );
}

function contentOf(row: VersionRow): ArtifactContent | undefined {
  const { kind, blob_id: blob, mime_type: mimeType, display_name: displayName, uri } = row;
  const optional = defined({ mimeType: mimeType ?? undefined, displayName: displayName ?? undefined });
  if (kind === 'text' && blob !== null) return { kind, blob };
  if (kind === 'inline' && blob !== null) return { kind, blob, mimeType: '', ...optional };
  if (kind === 'file' && uri !== null) return { kind, uri, ...optional };
  return undefined;
}
