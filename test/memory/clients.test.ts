import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addMemory, deleteMemories, listMemories } from '../../src/cli/memories/memory-commands.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { Memories } from '../../src/client/memories/memories.ts';
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
const ways = new Map<string, Memories>();
beforeAll(async () => {
  database = await databaseWithStore();
  store = await openStore(database);
  const direct = storedApi(store, undefined);
  served = await serveGateway({
    gateway: createGateway({
      client: direct as never,
      about: () => ABOUT,
      ready: async () => ({ temporal: true, store: true }),
      access: localAccess({ token: TOKEN }),
      logger: collecting([]),
    }),
  });
  ways.set('directly', direct.memories);
  ways.set('through a gateway', new GatewayClient({ url: served.url, token: TOKEN }).memories);
});
afterAll(async () => {
  await served.close();
  await store.close();
  await database.drop();
});

const newOwner = () => ({ app: 'shop', userId: `ada-${randomUUID()}` });

describe.each(['directly', 'through a gateway'])('%s', (way) => {
  const memories = () => ways.get(way) as Memories;

  test('memories are added, found, listed in pages, and deleted [memory.clients]', async () => {
    const owner = newOwner();
    const { id } = await memories().add({
      ...owner,
      text: 'Prefers tea.',
      author: 'user',
      memoryId: 'm',
      customMetadata: { by: 1 },
    });
    const again = { ...owner, text: 'Prefers green tea.', author: 'desk', memoryId: 'm' };
    expect(await memories().add(again)).toEqual({ id });
    const others = [];
    for (const text of ['Has a cat.', 'Has a dog.'])
      others.push((await memories().add({ ...owner, text })).id);
    expect((await memories().list({ ...owner, query: 'TEA' })).memories).toEqual([
      {
        id,
        author: 'desk',
        content: { role: 'user', parts: [{ text: 'Prefers green tea.' }] },
        saidAt: expect.any(Number),
      },
    ]);
    const first = await memories().list({ ...owner, limit: 2 });
    expect(first.memories.map((memory) => memory.id)).toEqual(others.toReversed());
    const { memories: rest, next } = await memories().list({ ...owner, limit: 2, after: first.next ?? '' });
    expect([rest.map((memory) => memory.id), next]).toEqual([[id], undefined]);
    expect(await memories().delete({ ...newOwner(), id })).toBe(false);
    expect(await memories().delete({ ...owner, id })).toBe(true);
    expect(await memories().delete({ ...owner, id })).toBe(false);
    expect(await memories().delete({ ...owner, id: 'x' })).toBe(false);
    expect(await memories().deleteAll(owner)).toBe(2);
    expect((await memories().list(owner)).memories).toEqual([]);
  });

  test('bad input is named [memory.clients] [memory.input]', async () => {
    const owner = newOwner();
    await expect(memories().add({ ...owner, text: '' })).rejects.toThrow(/text/);
    await expect(memories().add({ ...owner, text: 'x'.repeat(32_001) })).rejects.toThrow(/text/);
    await expect(memories().list({ ...owner, limit: 0 })).rejects.toThrow(/limit/);
    await expect(memories().list({ app: 'shop' } as never)).rejects.toThrow(/userId/);
    expect((await memories().list({ ...owner, query: "') & (''" })).memories).toEqual([]);
    expect((await memories().list({ ...owner, after: 'none' })).memories).toEqual([]);
  });
});

test('commands add, list and delete memories [memory.clients]', async () => {
  const { userId: user } = newOwner();
  const options = () => ({ app: 'shop', user, folder: '.holdfast', env: { HOLDFAST_STORE: database.url } });
  const lines = async (run: (output: ReturnType<typeof capturedOutput>) => Promise<unknown>) => {
    const output = capturedOutput();
    await run(output);
    return output.lines;
  };
  expect(
    await lines((output) => addMemory('Prefers tea.', { ...options(), author: 'user' }, output)),
  ).toEqual([expect.stringMatching(new RegExp(`^added memory \\d+ of user ${user}$`))]);
  const listed = await lines((output) => listMemories('tea', options(), output));
  expect(listed.join('\n')).toMatch(/ID +AUTHOR +SAID +TEXT\n\d+ +user .* Prefers tea\./);
  await expect(deleteMemories(undefined, { ...options(), yes: true }, capturedOutput())).rejects.toThrow(
    'name one memory, or all of the user with --all',
  );
  expect(
    await lines((output) => deleteMemories(undefined, { ...options(), all: true, yes: true }, output)),
  ).toEqual([`deleted 1 memory of user ${user}`]);
});

test('memories that were added by themselves are deleted by age, those of sessions with these [memory.retention]', async () => {
  const owner = { ...newOwner(), app: 'aged' };
  const names = { ...owner, sessionId: 's' };
  await store.sessions.create(names);
  const memory = { content: { parts: [{ text: 'old' }] }, saidAt: 1, terms: ['old'], words: 1 };
  await store.memories.add(owner, [{ ...memory, key: 'a' }]);
  const place = await store.memories.progress(names);
  await store.memories.rememberEvents({
    session: place?.session ?? '',
    upTo: 1,
    memories: [{ ...memory, seq: 1, nth: 0 }],
  });
  const count = async () => (await store.memories.newest(owner, { limit: 9 })).length;
  const now = await store.now();
  expect(await store.memories.deleteAddedBefore('aged', now - 3_600_000, 100)).toBe(0);
  expect(await store.memories.deleteAddedBefore('other', now + 3_600_000, 100)).toBe(0);
  expect(await store.memories.deleteAddedBefore('aged', now + 3_600_000, 100)).toBe(1);
  expect(await count()).toBe(1);
  await store.sessions.delete(names);
  expect(await count()).toBe(0);
});
