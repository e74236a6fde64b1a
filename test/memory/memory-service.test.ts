import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { createEvent } from '../../src/events/event.ts';
import type { BaseMemoryService } from '../../src/memory/base-memory-service.ts';
import { InMemoryMemoryService } from '../../src/memory/in-memory-memory-service.ts';
import { memoryTerms, withTerms } from '../../src/memory/memory-terms.ts';
import { passagesOf } from '../../src/memory/passages.ts';
import { checkedMemories, ServiceMemory } from '../../src/memory/user-memory.ts';
import { processorTime } from '../setup/processor-time.ts';

const whose = { appName: 'desk', userId: 'ada' };
const said = (text: string, author = 'user') =>
  createEvent({ author, content: { role: 'user', parts: [{ text }] }, timestamp: 1_700_000_000_000 });
const textsOf = async (service: BaseMemoryService, query: string, of = whose) =>
  (await service.searchMemory({ ...of, query })).memories.map(({ content }) => content.parts?.[0]?.text);

describe('InMemoryMemoryService', () => {
  test('finds events with a word of the query, in all scripts, of this user only [memory.inMemory]', async () => {
    const service = new InMemoryMemoryService();
    const events = [
      said('I like tea.'),
      said('Ich mag Käse.'),
      said('我喜欢喝茶'),
      createEvent({ author: 'user' }),
    ];
    await service.addSessionToMemory({ id: 's', ...whose, events });
    expect(await textsOf(service, 'TEA or coffee')).toEqual(['I like tea.']);
    expect(await textsOf(service, 'kase')).toEqual(['Ich mag Käse.']);
    expect(await textsOf(service, '茶')).toEqual(['我喜欢喝茶']);
    expect(await textsOf(service, 'tea', { ...whose, userId: 'bob' })).toEqual([]);
    const { memories } = await service.searchMemory({ ...whose, query: 'tea' });
    expect(memories).toMatchObject([{ author: 'user', timestamp: '2023-11-14T22:13:20.000Z' }]);
  });

  test('adds a session again in place of what it had, events once, and deletes [memory.inMemory]', async () => {
    const service = new InMemoryMemoryService();
    const [first, second] = [said('red house'), said('blue house')];
    await service.addSessionToMemory({ id: 's', ...whose, events: [first] });
    await service.addSessionToMemory({ id: 's', ...whose, events: [first, second] });
    await service.addEventsToMemory({ ...whose, sessionId: 's', events: [second] });
    expect(await textsOf(service, 'house')).toEqual(['red house', 'blue house']);
    await service.addMemory({
      ...whose,
      memories: [{ id: 'm', content: { parts: [{ text: 'green house' }] } }],
    });
    await service.deleteMemory({ ...whose, sessionId: 's' });
    expect(await textsOf(service, 'house')).toEqual(['green house']);
    await service.deleteMemory({ ...whose, ids: ['m'] });
    expect(await textsOf(service, 'house')).toEqual([]);
  });
});

describe('a service of the app’s own', () => {
  const warned: unknown[] = [];
  const serviceOf = (methods: Partial<BaseMemoryService>) =>
    new ServiceMemory(
      { addSessionToMemory: async () => undefined, searchMemory: async () => ({ memories: [] }), ...methods },
      { app: 'desk', userId: 'ada' },
      new AbortController().signal,
      (error) => warned.push(error),
    );

  test('is asked as it is; its errors and its answers of other shapes are named [memory.ownService]', async () => {
    const asked: unknown[] = [];
    const fine = serviceOf({
      searchMemory: async (request) => {
        asked.push(request);
        return { memories: [{ content: { parts: [{ text: 'x' }] } }] };
      },
      addMemory: async (request) => void asked.push(request),
    });
    expect((await fine.search('q')).memories).toHaveLength(1);
    await fine.add([{ content: { parts: [{ text: 'y' }] } }]);
    expect(asked).toEqual([
      { ...whose, query: 'q' },
      { ...whose, memories: [{ content: { parts: [{ text: 'y' }] } }] },
    ]);
    const broken = { code: 'HOLDFAST_MEMORY_SERVICE_FAILED' };
    await expect(
      serviceOf({ searchMemory: () => Promise.reject(new Error('down')) }).search('q'),
    ).rejects.toMatchObject({
      ...broken,
      message: 'the memory service failed in searchMemory: down',
    });
    expect(warned).toMatchObject([broken]);
    for (const answer of [undefined, { memories: 'x' }, { memories: [{}] }]) {
      const odd = serviceOf({ searchMemory: async () => answer as never });
      await expect(odd.search('q')).rejects.toMatchObject(broken);
    }
    await expect(serviceOf({}).add([])).rejects.toMatchObject(broken);
  });
});

describe('bad input', () => {
  test.each([
    ['expected a list of at most 100, got string', 'x'],
    ['expected a list of at most 100, got 101', new Array(101).fill({ content: { parts: [{ text: 'x' }] } })],
    ['memories[0].content: expected a content with parts', [{ content: 'x' }]],
    ['memories[0].content: expected text of 1 to 32000 characters, got 0', [{ content: { parts: [{}] } }]],
    ['got 40000', [{ content: { parts: [{ text: 'x'.repeat(40_000) }] } }]],
    ['memories[0].timestamp: expected a time', [{ content: { parts: [{ text: 'x' }] }, timestamp: 'soon' }]],
    [
      'memories[0].id: expected a text of at most 1000 characters',
      [{ content: { parts: [{ text: 'x' }] }, id: 'x'.repeat(1_001) }],
    ],
    [
      'memories[0].author: expected a text of at most 1000 characters without NUL',
      [{ content: { parts: [{ text: 'x' }] }, author: 'a\0' }],
    ],
    [
      'of the years 1 to 9999',
      [{ content: { parts: [{ text: 'x' }] }, timestamp: '+012345-01-01T00:00:00Z' }],
    ],
    [
      'memories[0].author: expected a text of at most 1000 characters without NUL, got number',
      [{ content: { parts: [{ text: 'x' }] }, author: 1 }],
    ],
    [
      'memories[0].customMetadata: expected an object',
      [{ content: { parts: [{ text: 'x' }] }, customMetadata: [] }],
    ],
    [
      'memories[0].customMetadata: expected at most 16384 bytes of JSON, got 20008',
      [{ content: { parts: [{ text: 'x' }] }, customMetadata: { a: 'x'.repeat(20_000) } }],
    ],
    [
      'memories[0].customMetadata: expected JSON',
      [{ content: { parts: [{ text: 'x' }] }, customMetadata: { a: 1n } }],
    ],
  ])('%s [memory.input]', (problem, memories) => {
    expect(() => checkedMemories(memories)).toThrow(problem);
  });

  test.each([
    ['durable.memory: expected', { memory: 'yes' }],
    ['durable.memory.index', { memory: { index: 'always' } }],
    ['durable.memory.include: expected a function', { memory: { include: 'user' } }],
    ['durable.memory.results', { memory: { results: 0 } }],
    ['durable.memory.results: expected at most 100', { memory: { results: 101 } }],
    [
      'durable.memory.embeddings: expected embeddings, got object without embed()',
      { memory: { embeddings: {} } },
    ],
    [
      'durable.memory.service: expected a memory service, got object without addSessionToMemory()',
      { memory: { service: {} } },
    ],
    ['durable.memory.recall', { memory: { recall: 1 } }],
  ])('%s [memory.options]', (problem, durable) => {
    const rootAgent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash' });
    expect(() => new App({ name: 'desk', rootAgent, durable: durable as never })).toThrow(problem);
  });
});

describe('terms', () => {
  test('are the same for forms of writing, and bounded [memory.scripts]', () => {
    expect(memoryTerms('Crème BRÛLÉE ﬁne').terms).toEqual(['creme', 'creme~', 'brulee', 'brule~', 'fine']);
    expect(memoryTerms('السَّلامُ').terms).toEqual(memoryTerms('السلام').terms);
    expect(memoryTerms('東京タワー').terms).toEqual(['東', '京', '東京', '京タ', 'タワ', 'ワー']);
    expect(memoryTerms('학교에서').terms).toEqual(['학교', '교에', '에서']);
    expect(memoryTerms('invoices').terms).toContain(memoryTerms('invoice').terms[1]);
    expect(memoryTerms('x'.repeat(10_000)).terms[0]).toHaveLength(64);
    expect(memoryTerms(`${'a'.repeat(254)} か\u3099く`).terms).toEqual(expect.arrayContaining(['がく']));
  });

  test('of marks in falling order, and of signs that are many, take time that grows with the text [memory.scripts]', async () => {
    const took = processorTime();
    for (let n = 0; n < 5; n += 1)
      for (const text of ['\u20d0\u3099'.repeat(16_000), '\ufdfa'.repeat(32_000)]) memoryTerms(text);
    expect(took()).toBeLessThan(1_500);
    let turns = 0;
    const count = () => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    const texts = passagesOf('\ufdfa'.repeat(100_000)).map((text) => ({ text }));
    expect(await withTerms(texts, new AbortController().signal)).toHaveLength(25);
    clearImmediate(counting);
    expect(turns).toBeGreaterThan(3);
  });

  test('of any text are words without signs, which an index takes [memory.scripts]', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        for (const term of memoryTerms(text).terms) expect(term).toMatch(/^[\p{L}\p{N}\p{M}\u30fc]+~?$/u);
      }),
    );
  });

  test('passages have all of a text, none is too long, and no character is cut [memory.passages]', () => {
    const words = fc.array(
      fc.constantFrom('word', 'Satz. ', '\n\n', '😀'.repeat(50), 'x'.repeat(3_000), ' '),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(words, (parts) => {
        const text = parts.join('');
        const passages = passagesOf(text);
        expect(passages.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''));
        for (const passage of passages) {
          expect(passage.length).toBeLessThanOrEqual(4_000);
          expect(passage.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});
