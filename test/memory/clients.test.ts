import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addMemory, deleteMemories, listMemories } from '../../src/cli/memories/memory-commands.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { capturedOutput } from '../cli/captured-output.ts';
import { databaseWithStore } from '../setup/own-database.ts';

let database: Awaited<ReturnType<typeof databaseWithStore>>;
let store: PostgresStore;
beforeAll(async () => {
  database = await databaseWithStore();
  store = await openStore(database);
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const newOwner = () => ({ app: 'shop', userId: `ada-${randomUUID()}` });

test('commands say in words what they add, list and delete [memory.clients]', async () => {
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
