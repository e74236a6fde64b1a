import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { ApiKeyRow, Denial } from '../../contract/keys.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import type { Database } from '../engine/database.ts';
import { jsonArray, jsonText, storableText } from '../engine/json-text.ts';
import type { Tables } from '../engine/tables.ts';
import type { IssuerPerson, KeyStore, UsedLink } from './key-store.ts';

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

const LONGEST_SIGN_IN = 12 * 3_600_000;
const LONGEST_IDLE = 3_600_000;

/** Sign-ins of one owner: one who has signed in more often has forgotten the first ones. */
const MOST_SIGN_INS = 20;

/** Milliseconds in which requests of one browser are written down once. */
const SEEN_EVERY = 60_000;
const TAKE = 'select holdfast.take_link($1, $2, $3) as used';
const USE = 'update holdfast.used_links set outcome = $3 where jti = $1 and holder = $2';
const RELEASE = 'delete from holdfast.used_links where jti = $1 and holder = $2 and outcome is null';
const FIND_LINK = 'select used_at, outcome from holdfast.used_links where jti = $1';

const OPEN = `with ended as (
  delete from holdfast.sign_ins where since < holdfast.now_ms() - ${LONGEST_SIGN_IN}
), crowded_out as (
  delete from holdfast.sign_ins s where s.token_hash in (
    select o.token_hash from holdfast.sign_ins o where o.owner = $2 and o.token_hash <> $1
    order by o.since desc, o.token_hash desc offset ${MOST_SIGN_INS - 1})
)
insert into holdfast.sign_ins (token_hash, owner, key_digest, person, since, seen_at)
values ($1, $2, $3, $4, holdfast.now_ms(), holdfast.now_ms()) on conflict (token_hash) do nothing`;

/** Many that are opened at once see nothing of each other. */
const FIND_SIGN_INS = `with found as (
  select * from holdfast.sign_ins s where s.token_hash in (select decode(h, 'hex') from unnest($1::text[]) h)
    and s.since > holdfast.now_ms() - ${LONGEST_SIGN_IN} and s.seen_at > holdfast.now_ms() - ${LONGEST_IDLE}
    and not exists (select from holdfast.sign_ins n where n.owner = s.owner
      and (n.since, n.token_hash) > (s.since, s.token_hash) offset ${MOST_SIGN_INS - 1})
), seen as (
  update holdfast.sign_ins s set seen_at = holdfast.now_ms() from found f
  where s.token_hash = f.token_hash and f.seen_at < holdfast.now_ms() - ${SEEN_EVERY}
)
select encode(token_hash, 'hex') as token, owner, key_digest, person, since from found`;

const END = 'delete from holdfast.sign_ins where token_hash = $1';

interface SignInRow {
  token: string;
  owner: string;
  key_digest: Buffer | null;
  person: IssuerPerson | null;
  since: string;
}

type Taken = { at: number; outcome: string | null } | null;

const MINUTE = 60_000;

/** A statement that is repeated after a lost connection may count twice: a count too many is better than none. */
const NOTE = `insert into holdfast.denials as d (minute, kind, facts, count, first_at, last_at)
select date_trunc('minute', to_timestamp(n.first / 1000)), decode(n.kind, 'hex'), n.facts, n.count,
  to_timestamp(n.first / 1000), to_timestamp(n.last / 1000)
from json_to_recordset($1::json) as n (kind text, facts json, count bigint, first float8, last float8)
order by 1, 2
on conflict (minute, kind) do update set count = d.count + excluded.count,
  first_at = least(d.first_at, excluded.first_at), last_at = greatest(d.last_at, excluded.last_at)`;

const SWEEP = `delete from holdfast.denials where minute < clock_timestamp() - interval '30 days'`;

type DenialRow = Selectable<Tables['holdfast.denials']>;

export function postgresKeys(database: Database): KeyStore {
  return {
    async create(key) {
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
    },
    async find(keyIds) {
      const rows = await database.query<KeyRow>(FIND, [keyIds.map(storableText)]);
      return rows.map((row) => ({
        ...rowOf(row),
        digest: row.digest,
        ...(row.old_digest === null ? {} : { oldDigest: row.old_digest }),
      }));
    },
    async list() {
      const query = database.db
        .selectFrom('holdfast.api_keys')
        .selectAll()
        .orderBy('created_at', 'desc')
        .orderBy('key_id');
      return (await database.read(query.compile())).map(rowOf);
    },
    async rotate({ keyId, digest, grace }) {
      const [row] = await database.query<KeyRow>(ROTATE, [storableText(keyId), Buffer.from(digest), grace]);
      return row && rowOf(row);
    },
    async revoke(keyId) {
      const [row] = await database.query<KeyRow>(REVOKE, [storableText(keyId)]);
      return row && rowOf(row);
    },
    async touch(keyId) {
      await database.query(TOUCH, [storableText(keyId)]);
    },
    async takeLink({ id, requestId, holder }) {
      const [row] = await database.query<{ used: Taken }>(TAKE, [
        storableText(id),
        storableText(requestId),
        holder,
      ]);
      const used = row?.used ?? undefined;
      return used && usedLink(used.at, used.outcome);
    },
    async useLink({ id, holder, outcome }) {
      await database.query(USE, [storableText(id), holder, outcome]);
    },
    async releaseLink({ id, holder }) {
      await database.query(RELEASE, [storableText(id), holder]);
    },
    async findUsedLink(id) {
      const [row] = await database.query<{ used_at: string; outcome: string | null }>(FIND_LINK, [
        storableText(id),
      ]);
      return row && usedLink(Number(row.used_at), row.outcome);
    },
    async openSignIn({ tokenHash, ...owner }) {
      const values =
        'ofIssuer' in owner
          ? [storableText(owner.ofIssuer.name), null, jsonText(owner.ofIssuer)]
          : [storableText(owner.keyId), Buffer.from(owner.keyDigest), null];
      await database.query(OPEN, [Buffer.from(tokenHash), ...values]);
    },
    async findSignIns(tokenHashes) {
      const hashes = tokenHashes.map((each) => Buffer.from(each).toString('hex'));
      const rows = await database.query<SignInRow>(FIND_SIGN_INS, [hashes]);
      return rows.map(({ token, owner: keyId, key_digest: keyDigest, person: ofIssuer, since }) => {
        const owner = ofIssuer === null ? { keyId, keyDigest: keyDigest as Buffer } : { ofIssuer };
        return { token, since: Number(since), ...owner };
      });
    },
    async endSignIn(tokenHash) {
      await database.query(END, [Buffer.from(tokenHash)]);
    },
    async noteDenials(denials, { sweep = false } = {}) {
      if (denials.length > 0) await database.query(NOTE, [jsonArray(notesOf(denials))]);
      if (sweep) await database.query(SWEEP);
    },
    async listDenials({ since, limit = 100 } = {}) {
      let query = database.db.selectFrom('holdfast.denials').selectAll();
      if (since !== undefined) query = query.where('last_at', '>=', new Date(since));
      const rows = await database.read(
        query
          .orderBy('minute', 'desc')
          .orderBy('last_at', 'desc')
          .orderBy('kind')
          .limit(Math.min(limit, MOST_LISTED))
          .compile(),
      );
      return rows.map(denialOf);
    },
  };
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

function usedLink(at: number, outcome: string | null): UsedLink {
  return { at, ...(outcome === null ? {} : { outcome }) };
}

/** One for each row: a statement can't add to a row twice. */
function notesOf(denials: readonly Denial[]): string[] {
  const notes = new Map<
    string,
    { kind: string; facts: string; times: Pick<Denial, 'count' | 'firstAt' | 'lastAt'> }
  >();
  for (const { count, firstAt, lastAt, ...kind } of denials) {
    const { reason, route, who, address, permission, app } = kind;
    const facts = jsonText({ reason, route, who, address, permission, app });
    const digest = createHash('sha256').update(facts).digest('hex');
    const row = `${Math.floor(firstAt / MINUTE)} ${digest}`;
    const { times = { count: 0, firstAt, lastAt } } = notes.get(row) ?? {};
    times.count += count;
    times.firstAt = Math.min(times.firstAt, firstAt);
    times.lastAt = Math.max(times.lastAt, lastAt);
    notes.set(row, { kind: digest, facts, times });
  }
  return [...notes.values()].map(
    ({ kind, facts, times: { count, firstAt, lastAt } }) =>
      `{"kind":"${kind}","facts":${facts},"count":${count},"first":${firstAt},"last":${lastAt}}`,
  );
}

function denialOf({ facts, count, first_at: first, last_at: last }: DenialRow): Denial {
  return { ...facts, count: Number(count), firstAt: first.getTime(), lastAt: last.getTime() };
}
