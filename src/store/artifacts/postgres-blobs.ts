import { randomBytes } from 'node:crypto';
import { defined } from '../../protocol/json.ts';
import type { Database } from '../engine/database.ts';
import { appKey } from '../sessions/session-names.ts';
import type { BlobStore } from './blob-store.ts';

/** Milliseconds for which bytes are kept that no version uses: longer than any call that saves them may take. */
const UNUSED_FOR = 7 * 24 * 3_600_000;
/** Milliseconds within which bytes have to be written whole. */
const UNFINISHED_FOR = 24 * 3_600_000;
/** Milliseconds after which another process removes what one has given up. */
const GIVEN_UP_FOR = 600_000;

const ID_BYTES = 16;

const PUT = 'select holdfast.put_blob($1, $2, $3, $4, $5) as id';

const BEGIN = `insert into holdfast.blobs (id, app_key, bucket, used_until)
values ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond') on conflict (id) do nothing`;

const WRITE = `insert into holdfast.blob_blocks as t (blob_id, nth, bytes)
select b.id, $2, $3 from holdfast.blobs b where b.id = $1 and b.sha256 is null and not b.given_up
on conflict (blob_id, nth) do update set bytes = excluded.bytes`;

const FINISH = 'select holdfast.finish_blob($1, $2, $3, $4, $5) as id';

const GIVE_UP = 'select id, bucket from holdfast.give_up_blobs($1, $2)';

export function postgresBlobs(database: Database): BlobStore {
  return {
    async put({ app, sha256, bytes }) {
      const [row] = await database.query<{ id: string }>(PUT, [
        newBlobId(),
        appKey(app),
        sha256,
        buffer(bytes),
        UNUSED_FOR,
      ]);
      return (row as { id: string }).id;
    },
    async begin({ app, bucket }) {
      const id = newBlobId();
      await database.query(BEGIN, [id, appKey(app), bucket ?? null, UNFINISHED_FOR]);
      return id;
    },
    async write({ id, nth, bytes }) {
      await database.query(WRITE, [id, nth, buffer(bytes)]);
    },
    async finish({ id, sha256, size, blockDigests }) {
      const [row] = await database.query<{ id: string | null }>(FINISH, [
        id,
        sha256,
        size,
        buffer(blockDigests),
        UNUSED_FOR,
      ]);
      return row?.id ?? undefined;
    },
    async find(id) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.blobs')
          .select(['sha256', 'size', 'block_digests', 'bucket'])
          .where('id', '=', id)
          .where('sha256', 'is not', null)
          .compile(),
      );
      if (row === undefined || row.sha256 === null || row.block_digests === null) return undefined;
      const { sha256, size, block_digests: blockDigests, bucket } = row;
      return { id, sha256, size: Number(size), blockDigests, ...defined({ bucket: bucket ?? undefined }) };
    },
    async read({ id, nth }) {
      const [row] = await database.read(
        database.db
          .selectFrom('holdfast.blob_blocks')
          .select('bytes')
          .where('blob_id', '=', id)
          .where('nth', '=', nth)
          .compile(),
      );
      return row?.bytes;
    },
    async giveUp(atMost) {
      const rows = await database.query<{ id: string; bucket: string | null }>(GIVE_UP, [
        atMost,
        GIVEN_UP_FOR,
      ]);
      return rows.map(({ id, bucket }) => ({ id, ...defined({ bucket: bucket ?? undefined }) }));
    },
    async drop(id) {
      await database.query('select holdfast.drop_blob($1)', [id]);
    },
  };
}

/** No two of them are equal, and each can be a key of any bucket. */
function newBlobId(): string {
  return randomBytes(ID_BYTES).toString('hex');
}

/** The driver sends a view of other bytes as JSON. */
function buffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
