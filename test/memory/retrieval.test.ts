import { afterAll, describe, expect, test } from 'vitest';
import type { Embeddings } from '../../src/memory/embeddings.ts';
import { UserMemory } from '../../src/memory/user-memory.ts';
import { openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { characterEmbeddings } from './character-embeddings.ts';
import { LABELLED, type LabelledMemories } from './labelled-memories.ts';

const FOUND = 5;

const database = await databaseWithStore();
const store = await openStore({ url: database.url });
afterAll(async () => {
  await store.close();
  await database.drop();
});

function memoryOf(userId: string, embeddings?: Embeddings): UserMemory {
  return new UserMemory({
    store,
    owner: { app: 'retrieval', userId },
    results: FOUND,
    embeddings,
    signal: new AbortController().signal,
    warn: (error) => {
      throw error;
    },
    key: userId,
  });
}

const contentOf = (text: string) => ({ role: 'user', parts: [{ text }] });

/** The part of the questions whose answer is among the first five memories, and the mean of 1 / its rank. */
async function quality({ script, memories, questions }: LabelledMemories, embeddings?: Embeddings) {
  const memory = memoryOf(`${script}/${embeddings?.model ?? ''}`, embeddings);
  // All scripts are one user's: others are in the way.
  const others = LABELLED.filter((other) => other.script !== script).flatMap((other) => other.memories);
  await memory.add([...memories, ...others].map((text) => ({ content: contentOf(text), author: 'user' })));
  let recalled = 0;
  let reciprocal = 0;
  const missed: string[] = [];
  for (const [question, answer] of questions) {
    const found = (await memory.search(question)).memories.map(({ content }) => content.parts?.[0]?.text);
    const rank = found.indexOf(memories[answer]);
    if (rank < 0) missed.push(question);
    recalled += rank < 0 ? 0 : 1;
    reciprocal += rank < 0 ? 0 : 1 / (rank + 1);
  }
  return { recall: recalled / questions.length, rank: reciprocal / questions.length, missed };
}

describe('memories that answer a question are among the first five [memory.retrieval]', () => {
  test.each(LABELLED.map((labelled) => [labelled.script, labelled] as const))(
    '%s',
    async (script, labelled) => {
      const byWords = await quality(labelled);
      const withVectors = await quality(labelled, characterEmbeddings());
      const shown = ({ recall, rank }: typeof byWords) =>
        `recall@5 ${recall.toFixed(2)}, mean reciprocal rank ${rank.toFixed(2)}`;
      process.stdout.write(`${script}: by words ${shown(byWords)}; with vectors ${shown(withVectors)}\n`);
      expect(byWords.recall, byWords.missed.join('\n')).toBeGreaterThanOrEqual(0.85);
      expect(withVectors.recall, withVectors.missed.join('\n')).toBeGreaterThanOrEqual(0.85);
    },
  );
});
