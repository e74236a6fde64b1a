import { sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { rememberSession } from '../../activities/sessions/remember-session.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { createEvent } from '../../src/events/event.ts';
import type { Embeddings } from '../../src/memory/embeddings.ts';
import { GeminiEmbeddings } from '../../src/memory/gemini-embeddings.ts';
import { EmbeddingsFailed } from '../../src/memory/memory-errors.ts';
import { UserMemory } from '../../src/memory/user-memory.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { folderWithStore } from '../store/temporary-folder.ts';
import { characterEmbeddings } from './character-embeddings.ts';

const database = await databaseWithStore();
const stores: Record<string, PostgresStore> = {
  'PGlite, with pgvector': await openStore({ folder: folderWithStore() }),
  'PostgreSQL without pgvector': await openStore({ url: database.url }),
};
afterAll(async () => {
  await Promise.all(Object.values(stores).map((store) => store.close()));
  await database.drop();
});

let users = 0;
function newUser(): string {
  users += 1;
  return `user ${users}`;
}

function memoryOf(store: PostgresStore, userId: string, embeddings?: Embeddings, warned: unknown[] = []) {
  return new UserMemory({
    store,
    owner: { app: 'embedded', userId },
    results: 3,
    embeddings,
    signal: new AbortController().signal,
    warn: (error) => warned.push(error),
    key: 'call',
  });
}

const entry = (text: string) => ({ content: { role: 'user', parts: [{ text }] } });
const textsOf = async (memory: UserMemory, query: string) =>
  (await memory.search(query)).memories.map(({ content }) => content.parts?.[0]?.text);

/** Two dimensions: about animals, and about the sea. */
const meaning: Embeddings = {
  model: 'meaning',
  embed: async (texts) =>
    texts.map((text) => [/dog|cat|beast/.test(text) ? 3 : 0.1, /boat|fish|sailing/.test(text) ? 3 : 0.1]),
};

test('PGlite has pgvector [memory.embeddings]', async () => {
  const store = stores['PGlite, with pgvector'] as PostgresStore;
  await memoryOf(store, newUser(), meaning).search('dog');
  const { rows } = await sql`select from pg_extension where extname = 'vector'`.execute(store.db);
  expect(rows).toHaveLength(1);
});

describe.each(Object.entries(stores))('in %s', (_name, store) => {
  test('memories are found by their meaning, those of other models by their words [memory.embeddings]', async () => {
    const userId = newUser();
    await memoryOf(store, userId, meaning).add([entry('the dog sleeps'), entry('a boat at noon')]);
    await memoryOf(store, userId, characterEmbeddings(64)).add([entry('an old beast of burden')]);
    await memoryOf(store, userId).add([entry('fish for dinner')]);
    const memory = memoryOf(store, userId, meaning);
    expect((await textsOf(memory, 'sailing'))[0]).toBe('a boat at noon');
    expect((await textsOf(memory, 'beast')).slice(0, 2).sort()).toEqual([
      'an old beast of burden',
      'the dog sleeps',
    ]);
    expect(await textsOf(memoryOf(store, userId), 'sailing')).toEqual([]);
    expect(await textsOf(memoryOf(store, newUser(), meaning), 'sailing')).toEqual([]);
  });

  test('of another size they are found by their words [memory.embeddings]', async () => {
    const userId = newUser();
    await memoryOf(store, userId, meaning).add([entry('the dog sleeps')]);
    const longer = { ...meaning, embed: async (texts: readonly string[]) => texts.map(() => [1, 2, 3]) };
    expect(await textsOf(memoryOf(store, userId, longer), 'cat')).toEqual([]);
    expect(await textsOf(memoryOf(store, userId, longer), 'dog')).toEqual(['the dog sleeps']);
  });
});

describe('embeddings that fail', () => {
  const wrong: Record<string, [answer: (texts: readonly string[]) => unknown, problem: RegExp]> = {
    'one for two texts': [(texts) => texts.slice(1).map(() => [1]), /answered with 1 of 2 vectors/],
    nothing: [() => undefined, /answered with undefined in place of 2 vectors/],
    'two sizes': [() => [[1], [1, 2]], /vectors of 1 and of 2 numbers; all have one size/],
    'no numbers': [() => [[1], ['2']], /array for text 1; a vector is 1 to 8192 finite numbers/],
    infinite: [() => [[1], [Infinity]], /for text 1/],
    'all 0': [
      () => [
        [0, 0],
        [1, 0],
      ],
      /for text 0; a vector is .* not all 0/,
    ],
    'an error': [
      () => {
        throw new Error('quota');
      },
      /the embeddings odd failed: quota/,
    ],
  };

  test.each(Object.entries(wrong))(
    '%s: nothing is added, and a search goes by words [memory.embeddings]',
    async (_what, [answer, problem]) => {
      const store = stores['PostgreSQL without pgvector'] as PostgresStore;
      const odd = { model: 'odd', embed: async (texts: readonly string[]) => answer(texts) } as Embeddings;
      const userId = newUser();
      await memoryOf(store, userId).add([entry('the dog sleeps')]);
      const adding = memoryOf(store, userId, odd).add([entry('one dog'), entry('two dogs')]);
      await expect(adding).rejects.toThrow(EmbeddingsFailed);
      await expect(adding).rejects.toThrow(problem);
      const warned: unknown[] = [];
      expect(await textsOf(memoryOf(store, userId, odd, warned), 'dog')).toEqual(['the dog sleeps']);
      expect(warned.map(String)).toEqual([expect.stringContaining('odd')]);
    },
  );
});

test.each([
  [true, 'the session could not be added to the memory'],
  [false, 'the embeddings odd failed: I live in Lima'],
])(
  'failures to remember a session quote nothing where texts are concealed: %s [memory.conceal]',
  async (conceal, message) => {
    const store = stores['PostgreSQL without pgvector'] as PostgresStore;
    const names = { app: 'quoting', userId: newUser(), sessionId: 's' };
    await store.sessions.create(names);
    const content = { role: 'user', parts: [{ text: 'I live in Lima' }] };
    await store.sessions.append({ ...names, key: 'k', event: createEvent({ author: 'user', content }) });
    const embed = (texts: readonly string[]) => Promise.reject(new Error(texts.join()));
    const rootAgent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash' });
    const app = new App({
      name: 'quoting',
      rootAgent,
      durable: { memory: { embeddings: { model: 'odd', embed } } },
    });
    const dependencies = { store, conceal, deployment: { apps: new Map([['quoting', app]]) } };
    const { signal } = new AbortController();
    const failing = rememberSession(dependencies as never, { v: 1, ...names }, { signal } as never);
    await expect(failing).rejects.toMatchObject({ message });
  },
);

test('Gemini is asked for embeddings of documents and of queries [memory.gemini]', async () => {
  const asked: unknown[] = [];
  const embeddings = new GeminiEmbeddings({
    embeddingModel: 'gemini-embedding-001',
    dimensions: 2,
    apiKey: 'key',
    httpOptions: {
      fetch: async (_url: unknown, init?: { body?: unknown }) => {
        const { requests } = JSON.parse(String(init?.body)) as { requests: unknown[] };
        asked.push(...requests);
        return Response.json({ embeddings: requests.map((_request, index) => ({ values: [index, 1] })) });
      },
    },
  });
  const { signal } = new AbortController();
  expect(embeddings.model).toBe('gemini-embedding-001/2');
  expect(await embeddings.embed(['a', 'b'], { purpose: 'document', signal })).toEqual([
    [0, 1],
    [1, 1],
  ]);
  await embeddings.embed(['c'], { purpose: 'query', signal });
  expect(asked).toMatchObject([
    { taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 2, content: { parts: [{ text: 'a' }] } },
    { content: { parts: [{ text: 'b' }] } },
    { taskType: 'RETRIEVAL_QUERY', content: { parts: [{ text: 'c' }] } },
  ]);
  expect(() => new GeminiEmbeddings({ embeddingModel: '' })).toThrow(
    /embeddingModel: expected the name of a model/,
  );
  expect(() => new GeminiEmbeddings({ embeddingModel: 'm', dimensions: 0.5 })).toThrow(
    /dimensions: expected a whole number/,
  );
});
