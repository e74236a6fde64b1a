import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import {
  deleteArtifact,
  getArtifact,
  listArtifacts,
  putArtifact,
} from '../../src/cli/artifacts/artifact-commands.ts';
import type { Artifacts } from '../../src/client/artifacts/artifacts.ts';
import { StoredBytes } from '../../src/client/artifacts/stored-artifacts.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { storedApi } from '../../src/client/stored-api.ts';
import { createGateway, localAccess, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { capturedOutput } from '../cli/captured-output.ts';
import { ABOUT, collecting, TOKEN } from '../gateway/gateway-stub.ts';
import { databaseWithStore } from '../setup/own-database.ts';

let database: Awaited<ReturnType<typeof databaseWithStore>>;
let store: PostgresStore;
let served: ServedGateway;
let direct: Artifacts;
let remote: Artifacts;
const bearer = { authorization: `Bearer ${TOKEN}` };
beforeAll(async () => {
  database = await databaseWithStore();
  store = await openStore(database);
  const api = storedApi(store, undefined);
  direct = api.artifacts;
  served = await serveGateway({
    gateway: createGateway({
      client: api as never,
      about: () => ABOUT,
      ready: async () => ({ temporal: true, store: true }),
      access: localAccess({ token: TOKEN }),
      logger: collecting([]),
    }),
  });
  remote = new GatewayClient({ url: served.url, token: TOKEN }).artifacts;
});
afterAll(async () => {
  await served.close();
  await store.close();
});

async function newSession() {
  const names = { app: 'shop', userId: `ada-${randomUUID()}`, sessionId: 's1' };
  await store.sessions.create(names);
  return names;
}

async function whole(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const block of bytes) read.push(block);
  return Buffer.concat(read);
}

const BYTES = randomBytes(2_500_000);
const clients = () =>
  [
    ['directly', direct],
    ['through a gateway', remote],
  ] as const;

describe('clients [artifact.clients]', () => {
  test('read the same ranges', async () => {
    const names = { ...(await newSession()), name: 'bytes' };
    async function* pieces() {
      yield BYTES.subarray(0, 100);
      yield BYTES.subarray(100);
    }
    const { sha256 } = await direct.put({ ...names, bytes: BYTES });
    expect(await remote.put({ ...names, bytes: pieces() })).toMatchObject({ version: 1, sha256 });
    const empty = { ...names, name: 'user:photo' };
    await remote.put({ ...empty, bytes: Buffer.from('') });
    expect(await whole((await remote.get(empty)).bytes)).toHaveLength(0);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(2_600_000),
        fc.option(fc.nat(2_600_000), { nil: undefined }),
        async (start, end) => {
          const wanted = BYTES.subarray(start, Math.max(start, end ?? BYTES.length));
          for (const [, artifacts] of clients()) {
            const file = await artifacts.get({ ...names, start, ...(end === undefined ? {} : { end }) });
            expect(file.size).toBe(BYTES.length);
            expect((await whole(file.bytes)).equals(wanted)).toBe(true);
          }
        },
      ),
      { numRuns: 15 },
    );
  });

  test.each([
    ['..', 'HOLDFAST_INVALID'],
    ['a/../b', 'HOLDFAST_INVALID_ARTIFACT_NAME'],
    ['a\0b', 'HOLDFAST_INVALID'],
    ['x'.repeat(10_000), 'HOLDFAST_INVALID_ARTIFACT_NAME'],
  ])('refuse the name %.12s alike', async (name, code) => {
    const names = await newSession();
    for (const [, artifacts] of clients()) {
      const refused = expect.objectContaining({ code: expect.stringContaining(code) });
      await expect(artifacts.get({ ...names, name })).rejects.toEqual(refused);
      await expect(artifacts.put({ ...names, name, bytes: BYTES })).rejects.toEqual(refused);
    }
  });

  test('save nothing over the limit', async () => {
    const names = { ...(await newSession()), name: 'a' };
    const small = new StoredBytes(() => ({
      store,
      bytes: new ArtifactBytes(store.blobs, { mostBytes: 100 }),
    }));
    await expect(small.put({ ...names, bytes: BYTES })).rejects.toMatchObject({
      code: 'HOLDFAST_ARTIFACT_TOO_LARGE',
    });
  });
});

describe('downloads [artifact.clients]', () => {
  test('have a tag, know what the reader has, and are never a page of the gateway', async () => {
    const names = await newSession();
    const { sha256 } = await direct.put({
      ...names,
      name: 'a.html',
      bytes: Buffer.from('<b>'),
      mimeType: 'text/html',
    });
    const url = `${served.url}/v1/apps/shop/users/${names.userId}/sessions/s1/artifacts/a.html`;
    const answer = await fetch(url, { headers: bearer });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      etag: `"${sha256}"`,
      'content-type': 'text/html',
      'content-disposition': "attachment; filename*=UTF-8''a.html",
      'content-security-policy': "default-src 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'x-artifact-version': '0',
      'content-length': '3',
    });
    const statusOf = async (headers: Record<string, string>, method = 'GET') => {
      const { status } = await fetch(url, { method, headers: { ...bearer, ...headers } });
      return status;
    };
    expect(await statusOf({ 'if-none-match': `"x", W/"${sha256}"` })).toBe(304);
    expect(await statusOf({ range: 'bytes=1-' })).toBe(206);
    expect(await statusOf({ range: 'bytes=3-' })).toBe(416);
    expect(await statusOf({ range: 'bytes=0-0,2-2' })).toBe(200);
    expect(await statusOf({ range: 'bytes=1-', 'if-range': '"other"' })).toBe(200);
    expect(await statusOf({}, 'HEAD')).toBe(200);
    expect((await fetch(url)).status).toBe(401);
    const wrong = await fetch(`${url}?version=no`, { headers: bearer });
    expect([wrong.status, await wrong.json()]).toMatchObject([400, { error: { message: /query\.version/ } }]);
  });

  test('of changed bytes are an error with both checksums, and never the bytes', async () => {
    const names = { ...(await newSession()), name: 'a' };
    await direct.put({ ...names, bytes: BYTES });
    const blob = (await store.artifacts.find(names, 'a'))?.content as { blob: string };
    await store.blobs.write({ id: blob.blob, nth: 0, bytes: randomBytes(1_000) }).catch(() => undefined);
    const reading = async () => await whole((await direct.get(names)).bytes);
    const found = await reading().catch((error: unknown) => error);
    if (Buffer.isBuffer(found)) expect(found.equals(BYTES)).toBe(true);
    else expect(found).toMatchObject({ code: 'HOLDFAST_ARTIFACT_CORRUPT' });
  });
});

describe('holdfast artifacts [artifact.clients]', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdfast-artifacts-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('puts, lists, gets and deletes files', async () => {
    const place = {
      folder: join(folder, '.holdfast'),
      env: { HOLDFAST_STORE: database.url } as NodeJS.ProcessEnv,
    };
    const names = await newSession();
    const session = `${names.app}/${names.userId}/${names.sessionId}`;
    const source = join(folder, 'orders.csv');
    await writeFile(source, 'a,b\n');
    const said = capturedOutput();
    await putArtifact(session, source, place, said);
    expect(said.lines).toEqual(['orders.csv version 0']);
    const stdin = new PassThrough();
    stdin.end('x');
    await putArtifact(session, '-', { ...place, name: 'orders.csv', type: 'text/csv' }, said, stdin);
    await expect(putArtifact(session, '-', place, said)).rejects.toThrow('give the artifact one with --name');
    const listed = capturedOutput();
    await listArtifacts(session, undefined, place, listed);
    expect(listed.lines.join('\n')).toMatch(/orders\.csv +1 +text\/csv +1/);
    await listArtifacts(session, 'orders.csv', { ...place, json: true }, listed);
    expect(JSON.parse(listed.lines.at(-1) ?? '')).toMatchObject({ versions: [{ size: 4 }, { size: 1 }] });
    const out = join(folder, 'got.csv');
    await getArtifact(session, 'orders.csv', { ...place, version: 0, out }, said);
    expect(await readFile(out, 'utf8')).toBe('a,b\n');
    await expect(getArtifact(session, 'orders.csv', { ...place, out }, said)).rejects.toThrow('--force');
    expect(
      await deleteArtifact(
        session,
        'orders.csv',
        place,
        capturedOutput(() => false),
      ),
    ).toBe(1);
    expect(await deleteArtifact(session, 'orders.csv', { ...place, yes: true }, said)).toBe(0);
    await expect(
      getArtifact(session, 'orders.csv', { ...place, out, force: true }, said),
    ).rejects.toMatchObject({
      code: 'HOLDFAST_NO_SUCH_ARTIFACT',
    });
    expect(await readFile(out, 'utf8')).toBe('a,b\n');
  });
});
