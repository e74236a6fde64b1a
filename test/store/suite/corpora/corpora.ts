import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { memoryTerms } from '../../../../src/memory/memory-terms.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { appKey } from '../../../../src/store/sessions/session-names.ts';

export function corpusSuite(store: () => PostgresStore): void {
  const newCorpus = () => ({ app: `app ${randomUUID()}`, corpus: 'handbook' });
  type Names = ReturnType<typeof newCorpus>;

  const passagesOf = (texts: readonly string[], first = 0) =>
    texts.map((text, index) => ({ nth: first + index, text, line: first + index + 1, ...memoryTerms(text) }));
  const put = async (names: Names, path: string, texts: readonly string[], digest = texts.join()) =>
    await store().corpora.put({ ...names, path, digest, passages: passagesOf(texts), total: texts.length });
  const found = async (names: Names, query: string, limit = 5) =>
    (await store().corpora.search(names, { terms: memoryTerms(query).terms, limit }))?.map(
      ({ path }) => path,
    );

  test('passages are found with their document and place, in their app and corpus alone [search.documents]', async () => {
    const names = newCorpus();
    await put(names, 'leave.md', ['Annual leave.', 'Parental leave is two years.']);
    await put(names, 'travel.md', ['Tickets are booked by the office.']);
    const search = { terms: memoryTerms('PARENTAL').terms, limit: 5 };
    const passage = { text: 'Parental leave is two years.', path: 'leave.md', line: 2, score: 1 };
    expect(await store().corpora.search(names, search)).toEqual([passage]);
    expect(await found(names, 'leave tickets')).toHaveLength(3);
    expect(await found(names, 'leave tickets', 1)).toHaveLength(1);
    expect(await found(names, 'salary')).toEqual([]);
    await put({ ...names, corpus: 'other' }, 'a.md', ['Menu.']);
    expect(await found({ ...names, corpus: 'other' }, 'leave')).toEqual([]);
    expect(await found(newCorpus(), 'leave')).toBeUndefined();
    expect(await store().corpora.list(names.app)).toMatchObject([
      { corpus: 'handbook', documents: 2, passages: 3 },
      { corpus: 'other', documents: 1, passages: 1 },
    ]);
  });

  test('a version is found once it is whole, and the one before until then [search.whole]', async () => {
    const names = newCorpus();
    await put(names, 'a', ['old tea']);
    const version = { ...names, path: 'a', digest: 'new' };
    const first = { ...version, passages: passagesOf(['new coffee']) };
    expect(await store().corpora.put(first)).toBe(false);
    expect([await found(names, 'tea'), await found(names, 'coffee')]).toEqual([['a'], []]);
    expect(await store().corpora.put(first)).toBe(false);
    const last = { ...version, passages: passagesOf(['new milk'], 1), total: 2 };
    expect(await store().corpora.put(last)).toBe(true);
    expect([await found(names, 'tea'), await found(names, 'coffee milk')]).toEqual([[], ['a', 'a']]);
    expect(await store().corpora.put(last)).toBe(true);
    expect(await store().corpora.list(names.app)).toMatchObject([{ documents: 1, passages: 2 }]);
  });

  test('what was removed while it came makes no half of a document [search.whole]', async () => {
    const names = newCorpus();
    const version = { ...names, path: 'a', digest: 'd' };
    await store().corpora.put({ ...version, passages: passagesOf(['one']) });
    expect(await store().corpora.documents(names, { limit: 9 })).toEqual([{ path: 'a', passages: 0 }]);
    expect(await store().corpora.remove(names)).toBe(1);
    const last = { ...version, passages: passagesOf(['two'], 1), total: 2 };
    expect(await store().corpora.put(last)).toBe(false);
    expect(await found(names, 'one two')).toEqual([]);
    expect(await store().corpora.put({ ...version, passages: passagesOf(['one']), total: 2 })).toBe(true);
    expect(await found(names, 'one two')).toEqual(['a', 'a']);
  });

  test('of versions that come at once one is left, whole [search.whole]', async () => {
    const names = newCorpus();
    const versions = Array.from({ length: 6 }, (_none, version) => [
      `shared v${version}`,
      `more v${version}`,
    ]);
    await Promise.all(versions.map((texts) => put(names, 'a', texts)));
    const passages = await store().corpora.search(names, {
      terms: memoryTerms('shared more').terms,
      limit: 9,
    });
    expect(passages).toHaveLength(2);
    expect(new Set(passages?.map(({ text }) => text.split(' ')[1])).size).toBe(1);
    expect(await store().corpora.list(names.app)).toMatchObject([{ documents: 1, passages: 2 }]);
  });

  test('removing takes counts along, and the last document its corpus [search.documents]', async () => {
    const names = newCorpus();
    for (let index = 0; index < 60; index += 1)
      await put(names, `d${index}`, ['tea at four', `row ${index}`]);
    await put(names, 'd0', ['coffee']);
    expect(await store().corpora.remove({ ...names, path: 'd1' })).toBe(1);
    expect(await store().corpora.remove({ ...names, path: 'none' })).toBe(0);
    expect(await store().corpora.list(names.app)).toMatchObject([{ documents: 59, passages: 117 }]);
    const counts = sql`select t.term, t.passages::int from holdfast.corpus_terms t join holdfast.corpora c on c.id = t.corpus_id
      where c.app_key = ${appKey(names.app)} and t.term in ('coffee', 'tea') order by 1`;
    const { rows } = await counts.execute(store().db);
    expect(rows).toEqual([
      { term: 'coffee', passages: 1 },
      { term: 'tea', passages: 58 },
    ]);
    expect(await store().corpora.remove(names)).toBe(59);
    expect(await store().corpora.list(names.app)).toEqual([]);
    expect(await found(names, 'tea')).toBeUndefined();
  });

  test('a word of nearly all passages hides no rare one, alone or beside it [search.rarest]', async () => {
    const names = newCorpus();
    await put(names, 'rare', ['the common word, and zymurgy']);
    for (let first = 0; first < 5_500; first += 500) {
      const texts = Array.from({ length: 500 }, (_none, index) => `the common word ${first + index}`);
      await put(names, `common ${first}`, texts);
    }
    expect(await found(names, 'the common word zymurgy', 3)).toContain('rare');
    expect((await found(names, 'the common word zymurgy', 3))?.[0]).toBe('rare');
    expect(await found(names, 'the common word', 3)).toHaveLength(3);
  });
}
