import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../protocol/message-of.ts';
import { thrownField } from '../schema/thrown-message.ts';
import { BucketFailed } from './artifact-errors.ts';
import type { Bucket } from './bucket.ts';

/** Characters of a key that name the folder of its file: no folder has too many files. */
const PREFIX = 2;

/**
 * A bucket in a folder: for one machine, or a file system that all machines share. Files appear whole, or not at all.
 *
 * @example
 * createWorker({ artifacts: { bucket: folderBucket('/var/lib/holdfast/artifacts') } });
 */
export function folderBucket(folder: string): Bucket {
  const root = resolve(folder);
  const placeOf = (key: string) => ({
    folder: join(root, key.slice(0, PREFIX)),
    file: join(root, key.slice(0, PREFIX), key),
  });
  return {
    url: pathToFileURL(root).href,
    async write(key, bytes, { signal } = {}) {
      const place = placeOf(key);
      const unfinished = `${place.file}.part`;
      try {
        await mkdir(place.folder, { recursive: true });
        const file = await open(unfinished, 'w', 0o600);
        try {
          for await (const block of bytes) {
            signal?.throwIfAborted();
            await file.writeFile(block);
          }
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(unfinished, place.file);
      } catch (error) {
        await rm(unfinished, { force: true }).catch(() => undefined);
        throw signal?.aborted === true ? error : failed('write', key, error);
      }
    },
    async *read(key, { start, end }) {
      const { file } = placeOf(key);
      try {
        // `end` of a stream is read too.
        yield* createReadStream(file, { start, end: end - 1 });
      } catch (error) {
        throw failed('read', key, error);
      }
    },
    async remove(key) {
      const { file } = placeOf(key);
      try {
        await rm(file, { force: true });
        await rm(`${file}.part`, { force: true });
      } catch (error) {
        throw failed('remove', key, error);
      }
    },
  };
}

/** Models read it: the path on the machine is in the cause alone. */
function failed(what: string, key: string, error: unknown): BucketFailed {
  const code = thrownField(error, 'syscall') === undefined ? undefined : thrownField(error, 'code');
  const reason = typeof code === 'string' ? code : messageOf(error);
  return new BucketFailed(`could not ${what} ${key} in the folder of artifacts: ${reason}`, { cause: error });
}
