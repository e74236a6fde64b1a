import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import { folderBucket } from '../../src/artifacts/folder-bucket.ts';
import { s3Bucket } from '../../src/artifacts/s3-bucket.ts';
import { BLOCK_BYTES } from '../../src/store/artifacts/blob-store.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { makeSmallDisk } from '../store/small-disk.ts';

let store: PostgresStore;
let database: Awaited<ReturnType<typeof databaseWithStore>>;
let server: Server;
let status = 403;
beforeAll(async () => {
  database = await databaseWithStore();
  store = await openStore(database);
  server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(status).end('<Error><Code>No</Code></Error>'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.close();
  await store.close();
  await database.drop();
});

const large = () => randomBytes(2 * BLOCK_BYTES);
const newApp = () => `app-${randomUUID()}`;

/** Nothing is recorded of bytes that were not kept, and the same store keeps others. */
async function expectWhole(bytes: ArtifactBytes): Promise<void> {
  const { blob } = await bytes.keep(newApp(), Buffer.from('small'));
  expect(await store.blobs.find(blob)).toMatchObject({ size: 5 });
}

describe('a bucket that', () => {
  test.each([
    ['refuses', 403],
    ['is full', 507],
    ['fails', 500],
  ])(
    '%s (%i): the error names it and the operation, and nothing is half-written [artifact.failures]',
    async (_what, answer) => {
      status = answer;
      const { port } = server.address() as AddressInfo;
      const bucket = await s3Bucket({
        bucket: 'acme',
        client: {
          region: 'eu-west-1',
          endpoint: `http://127.0.0.1:${port}`,
          forcePathStyle: true,
          maxAttempts: 1,
          credentials: { accessKeyId: 'key', secretAccessKey: 'a secret' },
        },
      });
      const bytes = new ArtifactBytes(store.blobs, { bucket });
      const keeping = bytes.keep(newApp(), large());
      await expect(keeping).rejects.toMatchObject({ code: 'HOLDFAST_BUCKET_FAILED', retryable: true });
      await expect(keeping).rejects.toThrow(/could not write s3:\/\/acme\//);
      await expect(keeping).rejects.not.toThrow(/a secret/);
      await expectWhole(bytes);
    },
  );

  test('is a folder: the error doesn’t tell where it is [artifact.failures]', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bucket-'));
    writeFileSync(join(folder, 'taken'), '');
    const bytes = new ArtifactBytes(store.blobs, { bucket: folderBucket(join(folder, 'taken')) });
    try {
      const keeping = bytes.keep(newApp(), large());
      await expect(keeping).rejects.toThrow(/could not write \w+ in the folder of artifacts: ENOTDIR$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const disk = makeSmallDisk(4);
  test.skipIf('reason' in disk)(
    `is a folder on a full disk${'reason' in disk ? `: ${disk.reason}` : ''}: the same, and no part of the file stays [artifact.failures]`,
    async () => {
      if ('reason' in disk) return;
      try {
        disk.fill(1);
        const bytes = new ArtifactBytes(store.blobs, { bucket: folderBucket(`${disk.folder}/bucket`) });
        await expect(bytes.keep(newApp(), large())).rejects.toMatchObject({
          code: 'HOLDFAST_BUCKET_FAILED',
          message: expect.stringMatching(/could not write .*ENOSPC/),
        });
        const left = await readdir(`${disk.folder}/bucket`, { recursive: true, withFileTypes: true });
        expect(left.filter((entry) => entry.isFile())).toEqual([]);
        await expectWhole(bytes);
        disk.makeRoom();
        await bytes.keep(newApp(), large());
      } finally {
        disk.remove();
      }
    },
  );
});
