import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { CORPORA } from '../../src/contract/corpora.ts';
import type { ContractScene } from './contract-scene.ts';
import type { RowsOf } from './operation-row.ts';

const INVALID = { HOLDFAST_INVALID_TURN: { given: () => ({ app: 'a\0b' }), exit: 2 } } as const;

const TEA = { text: 'Tea is at four.', line: 3, page: 2 };

/** An app with a corpus of two documents, the first of which has tea. */
async function loaded({ env }: ContractScene) {
  const names = { app: `shop-${randomUUID()}`, corpus: 'handbook' };
  const put = async (path: string, texts: readonly object[]) =>
    await env.client.corpora.put({
      ...{ ...names, path, digest: 'd1', title: 'Hours', first: 0 },
      ...{ passages: texts as { text: string }[], total: texts.length },
    });
  await put('a.md', [TEA, { text: 'Tea again.' }]);
  await put('b.md', [{ text: 'Coffee is at ten.' }]);
  return names;
}

export const CORPUS_ROWS: RowsOf<typeof CORPORA> = {
  listCorpora: {
    given: async (scene) => ({ app: (await loaded(scene)).app }),
    ask: async ({ corpora }, { app }) => ({ corpora: await corpora.list(app) }),
    answer: { corpora: [{ corpus: 'handbook', documents: 2, passages: 3 }] },
    command: ({ app }) => ['corpora', 'list', '--app', app],
    errors: INVALID,
  },
  listDocuments: {
    given: async (scene) => ({ ...(await loaded(scene)), limit: 1, after: 'a.md' }),
    ask: ({ corpora }, list) => corpora.documents(list),
    answer: { documents: [{ path: 'b.md', digest: 'd1', title: 'Hours', passages: 1 }] },
    done: async ({ env }, { app, corpus }) => {
      const page = await env.client.corpora.documents({ app, corpus, limit: 1 });
      expect(page).toMatchObject({ documents: [{ path: 'a.md' }], next: 'a.md' });
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ limit: 0 }) } },
  },
  putDocument: {
    given: async () => ({
      ...{ app: `shop-${randomUUID()}`, corpus: 'handbook', path: 'a/ü.md', digest: 'd1', title: 'Hours' },
      ...{ first: 0, total: 1 },
      passages: [{ ...TEA, embedding: { model: 'm', values: [0.6, 0.8] } }],
    }),
    ask: async ({ corpora }, put) => ({ loaded: await corpora.put(put) }),
    answer: { loaded: true },
    done: async ({ env }, { app, corpus, path, title }) => {
      const found = await env.client.corpora.search({ app, corpus, query: 'TEA' });
      expect(found).toEqual([{ ...TEA, path, title, score: 1 }]);
    },
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ passages: [{ text: '' }] }) } },
  },
  searchCorpus: {
    given: async (scene) => ({ ...(await loaded(scene)), query: 'tea', limit: 1 }),
    ask: async ({ corpora }, search) => ({ passages: await corpora.search(search) }),
    answer: { passages: [{ path: 'a.md', title: 'Hours', score: 1 }] },
    done: async ({ env }, { app, query }) =>
      expect(await env.client.corpora.search({ app, corpus: 'none', query })).toEqual([]),
    errors: { HOLDFAST_INVALID_TURN: { given: () => ({ corpus: 'hand book' }) } },
  },
  removeCorpus: {
    given: async (scene) => ({ ...(await loaded(scene)), path: 'a.md' }),
    ask: async ({ corpora }, which) => ({ removed: await corpora.remove(which) }),
    answer: { removed: 1 },
    done: async ({ env }, { path: _path, ...names }) => {
      expect(await env.client.corpora.list(names.app)).toMatchObject([{ documents: 1, passages: 1 }]);
      expect(await env.client.corpora.remove(names)).toBe(1);
      expect(await env.client.corpora.list(names.app)).toEqual([]);
      expect(await env.client.corpora.remove(names)).toBe(0);
    },
    command: ({ app, corpus, path = '' }) => ['corpora', 'remove', corpus, path, '--yes', '--app', app],
    errors: INVALID,
  },
};
