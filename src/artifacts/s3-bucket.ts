import { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { messageOf } from '../protocol/message-of.ts';
import { BucketFailed } from './artifact-errors.ts';
import type { Bucket } from './bucket.ts';

export interface S3BucketOptions {
  bucket: string;
  /** Before each key, such as `holdfast/`. @default none */
  prefix?: string;
  /** An `S3Client`, or its configuration: region, endpoint, credentials. @default what the SDK reads from the environment */
  client?: object;
}

/** Bytes of a part of an upload: 10,000 parts are 80 GiB. */
const PART_BYTES = 8 * 1024 * 1024;

/**
 * A bucket of Amazon S3, or of a service that speaks its protocol. Needs the packages `@aws-sdk/client-s3` and `@aws-sdk/lib-storage`.
 *
 * An upload that ends with its process leaves parts that S3 keeps until a lifecycle rule (`AbortIncompleteMultipartUpload`) removes them.
 *
 * @throws BucketFailed where the packages are not installed
 * @example
 * createWorker({ artifacts: { bucket: await s3Bucket({ bucket: 'acme-agents', prefix: 'artifacts/' }) } });
 */
export async function s3Bucket({
  bucket,
  prefix = '',
  client: given = {},
}: S3BucketOptions): Promise<Bucket> {
  const { S3Client, GetObjectCommand, DeleteObjectCommand } = await imported(
    () => import('@aws-sdk/client-s3'),
  );
  const { Upload } = await imported(() => import('@aws-sdk/lib-storage'));
  const isOwn = !('send' in given);
  const client = isOwn ? new S3Client(given as S3ClientConfig) : (given as S3Client);
  const url = `s3://${bucket}/${prefix}`;
  const failed = (what: string, key: string, error: unknown) =>
    new BucketFailed(`could not ${what} ${url}${key}: ${messageOf(error)}`, { cause: error });
  return {
    url,
    async write(key, bytes, { signal } = {}) {
      const upload = new Upload({
        client,
        // Keys are written once: what another one has written under it is not replaced.
        params: { Bucket: bucket, Key: `${prefix}${key}`, Body: bytesOf(bytes), IfNoneMatch: '*' },
        partSize: PART_BYTES,
        queueSize: 2,
      });
      const abort = () => void upload.abort();
      signal?.addEventListener('abort', abort, { once: true });
      try {
        signal?.throwIfAborted();
        await upload.done();
      } catch (error) {
        signal?.throwIfAborted();
        throw failed('write', key, error);
      } finally {
        signal?.removeEventListener('abort', abort);
      }
    },
    async *read(key, { start, end }) {
      try {
        const command = new GetObjectCommand({
          Bucket: bucket,
          Key: `${prefix}${key}`,
          Range: `bytes=${start}-${end - 1}`,
        });
        const { Body } = await client.send(command);
        yield* Body as AsyncIterable<Uint8Array>;
      } catch (error) {
        throw failed('read', key, error);
      }
    },
    async remove(key) {
      try {
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: `${prefix}${key}` }));
      } catch (error) {
        throw failed('remove', key, error);
      }
    },
    close() {
      if (isOwn) client.destroy();
    },
  };
}

/** The SDK takes streams and knows no async iterables. */
function bytesOf(bytes: AsyncIterable<Uint8Array>): Readable {
  return Readable.from(bytes, { objectMode: false });
}

async function imported<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw new BucketFailed(
      `a bucket of S3 needs two packages: npm install @aws-sdk/client-s3 @aws-sdk/lib-storage (${messageOf(error)})`,
      { cause: error },
    );
  }
}
