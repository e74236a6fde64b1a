import type { Database } from '../engine/database.ts';
import { storableText } from '../engine/json-text.ts';
import type { PageStore, SignIn, UsedLink } from './page-store.ts';

const LONGEST_SIGN_IN = 12 * 3_600_000;
const LONGEST_IDLE = 3_600_000;
/** Of one key: who has signed in more often has forgotten the first ones. */
const MOST_SIGN_INS = 20;
/** Milliseconds in which requests of one browser are written down once. */
const SEEN_EVERY = 60_000;

const TAKE = 'select holdfast.take_link($1, $2, $3) as used';
const USE = 'update holdfast.used_links set outcome = $3 where jti = $1 and holder = $2';
const GIVE_BACK = 'delete from holdfast.used_links where jti = $1 and holder = $2 and outcome is null';
const FIND_LINK = 'select used_at, outcome from holdfast.used_links where jti = $1';

const OPEN = `with ended as (
  delete from holdfast.sign_ins where since < holdfast.now_ms() - ${LONGEST_SIGN_IN}
), crowded_out as (
  delete from holdfast.sign_ins s where s.token_hash in (
    select o.token_hash from holdfast.sign_ins o where o.key_id = $2 and o.token_hash <> $1
    order by o.since desc, o.token_hash desc offset ${MOST_SIGN_INS - 1})
)
insert into holdfast.sign_ins (token_hash, key_id, key_digest, since, seen_at)
values ($1, $2, $3, holdfast.now_ms(), holdfast.now_ms()) on conflict (token_hash) do nothing`;

/** Many that are opened at once see nothing of each other. */
const FIND_SIGN_INS = `with found as (
  select * from holdfast.sign_ins s where s.token_hash in (select decode(h, 'hex') from unnest($1::text[]) h)
    and s.since > holdfast.now_ms() - ${LONGEST_SIGN_IN} and s.seen_at > holdfast.now_ms() - ${LONGEST_IDLE}
    and not exists (select from holdfast.sign_ins n where n.key_id = s.key_id
      and (n.since, n.token_hash) > (s.since, s.token_hash) offset ${MOST_SIGN_INS - 1})
), seen as (
  update holdfast.sign_ins s set seen_at = holdfast.now_ms() from found f
  where s.token_hash = f.token_hash and f.seen_at < holdfast.now_ms() - ${SEEN_EVERY}
)
select encode(token_hash, 'hex') as token, key_id, key_digest, since from found`;

const END = 'delete from holdfast.sign_ins where token_hash = $1';

interface SignInRow {
  token: string;
  key_id: string;
  key_digest: Buffer;
  since: string;
}

type Taken = { at: number; outcome: string | null } | null;

export async function takeLink(
  database: Database,
  { id, requestId, holder }: Parameters<PageStore['takeLink']>[0],
): Promise<UsedLink | undefined> {
  const [row] = await database.query<{ used: Taken }>(TAKE, [
    storableText(id),
    storableText(requestId),
    holder,
  ]);
  const used = row?.used ?? undefined;
  return used && usedLink(used.at, used.outcome);
}

export async function useLink(
  database: Database,
  { id, holder, outcome }: Parameters<PageStore['useLink']>[0],
): Promise<void> {
  await database.query(USE, [storableText(id), holder, outcome]);
}

export async function giveLinkBack(
  database: Database,
  { id, holder }: Parameters<PageStore['giveLinkBack']>[0],
): Promise<void> {
  await database.query(GIVE_BACK, [storableText(id), holder]);
}

export async function findUsedLink(database: Database, id: string): Promise<UsedLink | undefined> {
  const [row] = await database.query<{ used_at: string; outcome: string | null }>(FIND_LINK, [
    storableText(id),
  ]);
  return row && usedLink(Number(row.used_at), row.outcome);
}

export async function openSignIn(
  database: Database,
  { tokenHash, keyId, keyDigest }: Parameters<PageStore['openSignIn']>[0],
): Promise<void> {
  await database.query(OPEN, [Buffer.from(tokenHash), storableText(keyId), Buffer.from(keyDigest)]);
}

export async function findSignIns(database: Database, tokenHashes: readonly Uint8Array[]): Promise<SignIn[]> {
  const hashes = tokenHashes.map((each) => Buffer.from(each).toString('hex'));
  const rows = await database.query<SignInRow>(FIND_SIGN_INS, [hashes]);
  return rows.map(({ token, key_id: keyId, key_digest: keyDigest, since }) => ({
    ...{ token, keyId, keyDigest },
    since: Number(since),
  }));
}

export async function endSignIn(database: Database, tokenHash: Uint8Array): Promise<void> {
  await database.query(END, [Buffer.from(tokenHash)]);
}

function usedLink(at: number, outcome: string | null): UsedLink {
  return { at, ...(outcome === null ? {} : { outcome }) };
}
