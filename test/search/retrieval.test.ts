import { afterAll, describe, expect, test } from 'vitest';
import { corporaOf } from '../../src/memory/corpus-search.ts';
import type { Embeddings } from '../../src/memory/embeddings.ts';
import { embeddedDocuments } from '../../src/memory/embeddings.ts';
import { memoryTerms } from '../../src/memory/memory-terms.ts';
import { openStore } from '../../src/store/open-store.ts';
import { characterEmbeddings } from '../memory/character-embeddings.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { LABELLED, type LabelledDocuments } from './labelled-documents.ts';

const app = 'retrieval';
const { signal } = new AbortController();
const database = await databaseWithStore();
const store = await openStore({ url: database.url });
const EMBEDDINGS = { words: undefined, vectors: characterEmbeddings() };
for (const [corpus, embeddings] of Object.entries(EMBEDDINGS)) await loadAll(corpus, embeddings);
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** All scripts are one corpus: others are in the way. */
async function loadAll(corpus: string, embeddings: Embeddings | undefined) {
  for (const { script, documents } of LABELLED) {
    const vectors = await embeddedDocuments(embeddings, documents, signal);
    for (const [index, text] of documents.entries()) {
      const embedding = vectors[index] === undefined ? {} : { embedding: vectors[index] };
      const passage = { nth: 0, text, line: 1, ...memoryTerms(text), ...embedding };
      const document = {
        app,
        corpus,
        path: `${script}/${index}`,
        digest: 'd',
        passages: [passage],
        total: 1,
      };
      await store.corpora.put(document as never);
    }
  }
}

/** The part of the questions whose answer is among the first five passages, and the mean of 1 / its rank. */
async function quality({ script, questions }: LabelledDocuments, corpus: keyof typeof EMBEDDINGS) {
  const warn = (error: unknown) => {
    throw error;
  };
  const search = corporaOf({ store, app, embeddings: EMBEDDINGS[corpus], signal, warn });
  const missed: string[] = [];
  let reciprocal = 0;
  for (const [query, answer] of questions) {
    const found = (await search({ corpus, query, limit: 5 }))?.map(({ path }) => path);
    expect(found?.length).toBeLessThanOrEqual(5);
    const rank = found?.indexOf(`${script}/${answer}`) ?? -1;
    if (rank < 0) missed.push(query);
    else reciprocal += 1 / (rank + 1);
  }
  const { length } = questions;
  return { recall: 1 - missed.length / length, rank: reciprocal / length, missed };
}

describe('passages that answer a question are among the first five [search.recall]', () => {
  test.each(LABELLED.map((labelled) => [labelled.script, labelled] as const))(
    '%s',
    async (script, labelled) => {
      const byWords = await quality(labelled, 'words');
      const withVectors = await quality(labelled, 'vectors');
      const shown = ({ recall, rank }: typeof byWords) =>
        `recall@5 ${recall.toFixed(2)}, mean reciprocal rank ${rank.toFixed(2)}`;
      process.stdout.write(`${script}: by words ${shown(byWords)}; with vectors ${shown(withVectors)}\n`);
      expect(byWords.recall, byWords.missed.join('\n')).toBeGreaterThanOrEqual(0.85);
      expect(withVectors.recall, withVectors.missed.join('\n')).toBeGreaterThanOrEqual(0.85);
    },
  );
});
