import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import type { ARTIFACTS } from '../../src/contract/artifacts.ts';
import type { ConnectLink, CREDENTIALS } from '../../src/contract/credentials.ts';
import type { MEMORIES } from '../../src/contract/memories.ts';
import type { ContractScene } from './contract-scene.ts';
import { pathOf, type RowsOf } from './operation-row.ts';

const of = ({ app, userId }: { app: string; userId: string }) => ['--app', app, '--user', userId];
const INVALID = { HOLDFAST_INVALID_TURN: { given: () => ({ app: 'a\0b' }), exit: 2 } } as const;

const SECRET = 'sk-planted-contract-4Qz9';
const CREDENTIAL = { authType: 'apiKey', apiKey: SECRET } as const;

/** A user with two credentials, whom another user of the app has a third beside. */
async function credentialed({ env, names }: ContractScene) {
  const { userId } = names();
  const app = `shop-${randomUUID()}`;
  const put = (userId: string, credentialKey: string) =>
    env.client.credentials.put({ app, userId, credentialKey, credential: CREDENTIAL, label: 'of a test' });
  const { credentialRef } = await put(userId, 'shop');
  await put(userId, 'cards');
  await put('another', 'shop');
  return { app, userId, credentialRef };
}

export const CREDENTIAL_ROWS: RowsOf<typeof CREDENTIALS> = {
  putCredential: {
    given: async ({ names }) => {
      const { app, userId } = names();
      return { app, userId, credentialKey: 'shop', credential: CREDENTIAL, label: 'of a test' };
    },
    ask: ({ credentials }, put) => credentials.put(put),
    answer: { app: 'test', credentialKey: 'shop', authType: 'apiKey', label: 'of a test' },
    done: async ({ env }, { app, userId }) => {
      const listed = await env.client.credentials.list({ app, userId });
      expect(listed).toMatchObject([{ credentialKey: 'shop', label: 'of a test' }]);
      expect(JSON.stringify(listed)).not.toContain(SECRET);
      // One key is one credential.
      await env.client.credentials.put({ app, userId, credentialKey: 'shop', credential: CREDENTIAL });
      const [replaced, ...more] = await env.client.credentials.list({ app, userId });
      expect([replaced?.credentialRef === listed[0]?.credentialRef, more]).toEqual([false, []]);
    },
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ credentialKey: '' }) },
      HOLDFAST_INVALID_CREDENTIAL: { given: () => ({ credential: { authType: 'apiKey', apiKey: '' } }) },
    },
  },
  listUserCredentials: {
    given: async (scene) => {
      const { app, userId } = await credentialed(scene);
      return { app, userId };
    },
    ask: async ({ credentials }, list) => ({ credentials: await credentials.list(list) }),
    answer: { credentials: [{ authType: 'apiKey' }, { label: 'of a test' }] },
    command: (owner) => ['credentials', 'list', ...of(owner)],
    errors: INVALID,
  },
  listAppCredentials: {
    given: async (scene) => ({ app: (await credentialed(scene)).app }),
    ask: async ({ credentials }, list) => ({ credentials: await credentials.list(list) }),
    answer: { credentials: [{}, {}, {}] },
    command: ({ app }) => ['credentials', 'list', '--app', app],
    errors: INVALID,
  },
  removeCredential: {
    given: credentialed,
    ask: ({ credentials }, which) => credentials.remove(which),
    answer: { removed: true },
    done: async ({ env }, { credentialRef, ...owner }) => {
      expect(await env.client.credentials.list(owner)).toMatchObject([{ credentialKey: 'cards' }]);
      expect(await env.client.credentials.remove({ ...owner, credentialRef })).toEqual({ removed: false });
    },
    command: ({ credentialRef, ...owner }) => ['credentials', 'remove', credentialRef, ...of(owner)],
    printed: ({ removed }: { removed: string }, { credentialRef }) => ({
      removed: removed === credentialRef,
    }),
    errors: INVALID,
  },
  connectCredential: {
    given: async ({ names }) => {
      const { app, userId } = names();
      return { app, userId, credentialKey: 'calendar' };
    },
    ask: ({ credentials }, which) => credentials.connect(which),
    answer: { path: expect.stringMatching(/^\/connect\/[\w.-]+$/), expiresAt: expect.any(Number) },
    command: ({ app, userId }) => [...['credentials', 'connect', 'calendar', ...of({ app, userId })]],
    printed: ({ path, expiresAt }: ConnectLink) => ({ path, expiresAt }),
    errors: INVALID,
  },
  resealCredentials: {
    given: async (scene) => ({ app: (await credentialed(scene)).app }),
    ask: async ({ credentials }, which) => ({ resealed: await credentials.reseal(which) }),
    answer: { resealed: 0 },
    command: ({ app }) => ['credentials', 'reseal', '--app', app],
    errors: INVALID,
  },
};

/** A user with three memories, the first of which is the only one with tea. */
async function remembering({ env, names }: ContractScene) {
  const { app, userId } = names();
  const ids: string[] = [];
  for (const text of ['Prefers tea.', 'Has a cat.', 'Has a dog.'])
    ids.push(
      (await env.client.memories.add({ app, userId, text, author: 'desk', customMetadata: { by: 1 } })).id,
    );
  return { app, userId, ids };
}

export const MEMORY_ROWS: RowsOf<typeof MEMORIES> = {
  listMemories: {
    given: async (scene) => {
      const { app, userId, ids } = await remembering(scene);
      return { app, userId, query: 'TEA', limit: 1, after: ids[2] ?? '' };
    },
    ask: ({ memories }, list) => memories.list(list),
    answer: {
      memories: [{ author: 'desk', content: { role: 'user', parts: [{ text: 'Prefers tea.' }] } }],
    },
    done: async ({ env }, { app, userId }) => {
      const page = async (after?: string) =>
        await env.client.memories.list({ app, userId, limit: 2, ...(after === undefined ? {} : { after }) });
      const { next } = await page();
      expect(await page(next)).toEqual({ memories: [expect.objectContaining({ author: 'desk' })] });
    },
    command: ({ query = '', limit, ...owner }) => [
      'memories',
      'list',
      query,
      ...of(owner),
      '--limit',
      `${limit}`,
    ],
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ limit: 0 }), exit: 2 } },
  },
  addMemory: {
    given: async ({ names }) => {
      const { app, userId } = names();
      return { app, userId, text: 'Prefers tea.', author: 'desk', memoryId: 'm', customMetadata: { by: 1 } };
    },
    ask: ({ memories }, add) => memories.add(add),
    answer: { id: expect.any(String) },
    done: async ({ env }, { text: _text, customMetadata: _by, ...add }) => {
      const { memories } = env.client;
      const [{ id = '' } = {}] = (await memories.list(add)).memories;
      const kept = { id, author: 'desk', content: { role: 'user', parts: [{ text: 'Prefers tea.' }] } };
      expect((await memories.list(add)).memories).toMatchObject([{ ...kept, customMetadata: { by: 1 } }]);
      // One id is one memory.
      expect(await memories.add({ ...add, text: 'Prefers coffee.' })).toEqual({ id });
      const [changed, ...more] = (await memories.list(add)).memories;
      expect([changed?.content.parts, changed?.customMetadata, more]).toEqual([
        [{ text: 'Prefers coffee.' }],
        undefined,
        [],
      ]);
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ text: 'x'.repeat(32_001) }) } },
  },
  deleteMemory: {
    given: async (scene) => {
      const { app, userId, ids } = await remembering(scene);
      return { app, userId, id: ids[0] ?? '' };
    },
    ask: async ({ memories }, which) => ({ deleted: await memories.delete(which) }),
    answer: { deleted: true },
    done: async ({ env }, which) => {
      expect((await env.client.memories.list(which)).memories).toHaveLength(2);
      expect(await env.client.memories.delete(which)).toBe(false);
    },
    command: ({ id, ...owner }) => ['memories', 'delete', id, '--yes', ...of(owner)],
    printed: ({ deleted }: { deleted: number }) => ({ deleted: deleted === 1 }),
    errors: INVALID,
  },
  deleteMemories: {
    given: async (scene) => {
      const { app, userId } = await remembering(scene);
      return { app, userId };
    },
    ask: async ({ memories }, owner) => ({ deleted: await memories.deleteAll(owner) }),
    answer: { deleted: 3 },
    done: async ({ env }, owner) => expect((await env.client.memories.list(owner)).memories).toEqual([]),
    command: (owner) => ['memories', 'delete', '--all', '--yes', ...of(owner)],
    errors: INVALID,
  },
};

const BYTES = Buffer.from('a,b\n');

const AWAY = { uri: 'https://shop.example/a', mimeType: 'text/html', displayName: 'a.html' };

/** A session with two versions of an artifact, a later name and an address. */
async function filed({ env, names }: ContractScene) {
  const session = names();
  await env.client.sessions.create(session);
  const put = (name: string, bytes: Buffer) =>
    env.client.artifacts.put({ ...session, name, bytes, mimeType: 'text/csv' });
  await put('0.csv', BYTES);
  await put('orders/März.csv', BYTES);
  await put('orders/März.csv', Buffer.from('x'));
  await put('user:photo', BYTES);
  const content = { kind: 'file', ...AWAY } as const;
  await env.store.artifacts.save({ ...session, name: 'away', content, metadata: { by: 1 } });
  return { ...session, name: 'orders/März.csv' };
}

const MISSING = {
  HOLDFAST_NO_SUCH_ARTIFACT: { given: () => ({ name: 'none' }), exit: 1 },
  HOLDFAST_INVALID_ARTIFACT_NAME: { given: () => ({ name: 'a/../b' }), exit: 1 },
} as const;

export const ARTIFACT_ROWS: RowsOf<typeof ARTIFACTS> = {
  listArtifacts: {
    given: async (scene) => {
      const { name: _name, ...session } = await filed(scene);
      return { ...session, limit: 1, after: 'a' };
    },
    ask: ({ artifacts }, list) => artifacts.list(list),
    answer: {
      artifacts: [{ name: 'away', version: 0, ...AWAY, customMetadata: { by: 1 } }],
      next: 'away',
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ limit: 0 }) } },
  },
  listArtifactVersions: {
    given: filed,
    ask: async ({ artifacts }, which) => ({ versions: await artifacts.versions(which) }),
    answer: {
      versions: [
        { version: 0, size: 4 },
        { version: 1, size: 1 },
      ],
    },
    command: ({ name, ...session }) => ['artifacts', 'list', pathOf(session), name],
    errors: MISSING,
  },
  getArtifact: {
    given: async (scene) => ({ ...(await filed(scene)), version: 0 }),
    ask: async ({ artifacts }, which) => {
      const { bytes, ...file } = await artifacts.get(which);
      return { ...file, bytes: await text(Readable.from(bytes)) };
    },
    answer: { name: 'orders/März.csv', version: 0, mimeType: 'text/csv', size: 4, bytes: 'a,b\n' },
    errors: {
      ...MISSING,
      HOLDFAST_ARTIFACT_ELSEWHERE: { given: () => ({ name: 'away' }) },
      HOLDFAST_BUCKET_FAILED: 'artifacts/failing-buckets.test.ts',
    },
  },
  putArtifact: {
    given: async ({ env, names }) => {
      const session = names();
      await env.client.sessions.create(session);
      return { ...session, name: 'orders.csv', mimeType: 'text/csv', saveId: 'm1' };
    },
    ask: ({ artifacts }, file) => artifacts.put({ ...file, bytes: BYTES }),
    answer: { name: 'orders.csv', version: 0, mimeType: 'text/csv', size: 4 },
    done: async ({ env }, file, isByCommand) => {
      const again = await env.client.artifacts.put({ ...file, bytes: BYTES });
      // One save id is one version; a command has none.
      expect(again.version).toBe(isByCommand ? 1 : 0);
    },
    command: ({ name, mimeType = '', saveId: _none, ...session }) => {
      const folder = join(tmpdir(), `holdfast-put-${randomUUID()}`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'file'), BYTES);
      return ['artifacts', 'put', pathOf(session), join(folder, 'file'), '--name', name, '--type', mimeType];
    },
    errors: {
      HOLDFAST_SESSION_NOT_FOUND: { given: () => ({ sessionId: 'none' }), exit: 1 },
      HOLDFAST_INVALID_ARTIFACT_NAME: { given: () => ({ name: 'a/../b' }), exit: 1 },
      HOLDFAST_ARTIFACT_TOO_LARGE: 'artifacts/clients.test.ts',
      HOLDFAST_BUCKET_FAILED: 'artifacts/failing-buckets.test.ts',
    },
  },
  deleteArtifact: {
    given: filed,
    ask: async ({ artifacts }, which) => ({ deleted: await artifacts.delete(which) }),
    answer: { deleted: 2 },
    done: async ({ env }, which) => expect(await env.client.artifacts.delete(which)).toBe(0),
    command: ({ name, ...session }) => ['artifacts', 'delete', pathOf(session), name, '--yes'],
    errors: { HOLDFAST_INVALID_ARTIFACT_NAME: MISSING.HOLDFAST_INVALID_ARTIFACT_NAME },
  },
};
