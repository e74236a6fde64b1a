import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Storage as StorageClient, StorageOptions } from '@google-cloud/storage';
import { messageOf } from '../protocol/message-of.ts';
import { BucketFailed } from './artifact-errors.ts';
import type { Bucket } from './bucket.ts';

export interface GcsBucketOptions {
  bucket: string;
  /** Before each key, such as `holdfast/`. @default none */
  prefix?: string;
  /** A `Storage`, or its options: project and credentials. @default what the SDK finds in the environment */
  storage?: object;
}

/**
 * A bucket of Google Cloud Storage. Needs the package `@google-cloud/storage`.
 *
 * @throws BucketFailed where the package is not installed
 * @example
 * createWorker({ artifacts: { bucket: await gcsBucket({ bucket: 'acme-agents', prefix: 'artifacts/' }) } });
 */
export async function gcsBucket({
  bucket,
  prefix = '',
  storage: given = {},
}: GcsBucketOptions): Promise<Bucket> {
  const { Storage } = await imported();
  const storage = 'bucket' in given ? (given as StorageClient) : new Storage(given as StorageOptions);
  const url = `gs://${bucket}/${prefix}`;
  const fileOf = (key: string) => storage.bucket(bucket).file(`${prefix}${key}`);
  const failed = (what: string, key: string, error: unknown) =>
    new BucketFailed(`could not ${what} ${url}${key}: ${messageOf(error)}`, { cause: error });
  return {
    url,
    async write(key, bytes, { signal } = {}) {
      // Generation 0: keys are written once, and what another one has written under it is not replaced.
      const upload = fileOf(key).createWriteStream({
        resumable: true,
        validation: 'crc32c',
        preconditionOpts: { ifGenerationMatch: 0 },
        metadata: { contentType: 'application/octet-stream' },
      });
      try {
        await pipeline(
          Readable.from(bytes, { objectMode: false }),
          upload,
          signal === undefined ? {} : { signal },
        );
      } catch (error) {
        signal?.throwIfAborted();
        throw failed('write', key, error);
      }
    },
    async *read(key, { start, end }) {
      try {
        // `end` is read too. A range has no checksum of its own: blocks are verified by those that read them.
        yield* fileOf(key).createReadStream({ start, end: end - 1, validation: false });
      } catch (error) {
        throw failed('read', key, error);
      }
    },
    async remove(key) {
      try {
        await fileOf(key).delete({ ignoreNotFound: true });
      } catch (error) {
        throw failed('remove', key, error);
      }
    },
  };
}

async function imported(): Promise<typeof import('@google-cloud/storage')> {
  try {
    return await import('@google-cloud/storage');
  } catch (error) {
    throw new BucketFailed(
      `a bucket of Google Cloud Storage needs a package: npm install @google-cloud/storage (${messageOf(error)})`,
      { cause: error },
    );
  }
}
