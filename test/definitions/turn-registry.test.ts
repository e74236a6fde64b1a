import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { appendTools, removeTools } from '../../src/models/llm-request.ts';
import type { BaseTool, ToolFactory } from '../../src/tools/base-tool.ts';
import { GOOGLE_SEARCH } from '../../src/tools/built-in/gemini-tools.ts';
import { TurnRegistry } from '../../src/tools/turn-registry.ts';
import { refusal } from './refusal.ts';
import { contextWith, declared, emptyRequest, named } from './tool-context.ts';

const FACTORIES: Record<string, ToolFactory> = {
  query: ({ order }) => named(`query_${order}`),
  pay: ({ from = 'turn' }) => named('pay', { from: String(from) }),
  replacing: ({ from = 'turn' }) => named('pay', { from: String(from), onCollision: 'replace' }),
  keeping: () => named('pay', { from: 'turn', onCollision: 'keep' }),
};

function turn(tools: BaseTool[] = [], factories: Record<string, unknown> = FACTORIES) {
  const request = emptyRequest();
  appendTools(request, tools);
  const registry = new TurnRegistry({
    request,
    factories: new Map(Object.entries(factories)) as Map<string, ToolFactory>,
  });
  return { request, registry };
}

const told = (registry: TurnRegistry) => registry.list().map(({ name, description }) => [name, description]);

describe('adding and removing [registry.turn]', () => {
  test('what is added is offered to the model, and can be called', async () => {
    const { request, registry } = turn([named('list')]);
    const added = registry.add('query', { order: 42 });
    expect(added.name).toBe('query_42');
    expect(declared(request)).toEqual(['list', 'query_42']);
    expect(request.toolsDict.query_42).toBe(added);
    expect([registry.has('query_42'), registry.get('query_42')]).toEqual([true, added]);
    expect(await added.runAsync({ args: {}, toolContext: contextWith() })).toBe('query_42');
    expect(registry.edits).toEqual([{ add: 'query', args: { order: 42 } }]);
  });

  test('what is removed is neither', () => {
    const { request, registry } = turn([named('list'), named('pay')]);
    expect([registry.remove('list'), registry.remove('list'), registry.remove('toString')]).toEqual([
      true,
      false,
      false,
    ]);
    expect(declared(request)).toEqual(['pay']);
    expect(Object.keys(request.toolsDict)).toEqual(['pay']);
    expect(registry.edits).toEqual([{ remove: 'list' }]);
  });

  test("the agent's own list stays what it was", () => {
    const tools = Object.freeze([named('list'), named('pay')]);
    const { registry } = turn([...tools]);
    registry.remove('pay');
    registry.add('query', { order: 1 });
    expect(tools.map(({ name }) => name)).toEqual(['list', 'pay']);
  });

  test('adding the same before each request adds it once', () => {
    const { registry } = turn();
    const first = registry.add('query', { order: 1, deep: { a: 1, b: 2 } });
    expect(registry.add('query', { deep: { b: 2, a: 1 }, order: 1 })).toBe(first);
    expect(registry.edits).toHaveLength(1);
  });

  test('arguments are copies: what is recorded is what was given', () => {
    const args = { order: 1, tags: ['a'] };
    const { registry } = turn([], {
      query: (own: typeof args) => {
        own.tags.push('edited by the factory');
        return named('query');
      },
    });
    registry.add('query', args);
    args.tags.push('edited by the caller');
    expect(registry.edits).toEqual([{ add: 'query', args: { order: 1, tags: ['a'] } }]);
  });
});

describe('names that are taken [registry.collision]', () => {
  test('are refused by default', () => {
    const { request, registry } = turn([named('pay', { from: 'agent' })]);
    expect(refusal(() => registry.add('pay')).message).toBe(
      'tool factory "pay": the request has a tool "pay" already; remove that one, or let the factory\'s tool say ' +
        "onCollision: 'replace' or 'keep'",
    );
    registry.remove('pay');
    expect(registry.add('pay').description).toBe('turn');
    expect(declared(request)).toEqual(['pay']);
  });

  test('are replaced, or kept, where the tool says so', () => {
    const { request, registry } = turn([named('pay', { from: 'agent' }), named('list')]);
    expect(registry.add('keeping').description).toBe('agent');
    expect(registry.edits).toEqual([]);
    expect(registry.add('replacing').description).toBe('turn');
    expect(told(registry)).toEqual([
      ['list', 'list'],
      ['pay', 'turn'],
    ]);
    expect(declared(request)).toEqual(['list', 'pay']);
  });

  test('edits of one name do not pile up', () => {
    const { registry } = turn([named('pay', { from: 'agent' })]);
    for (let step = 0; step < 20; step++) registry.add('replacing', { from: step });
    expect(registry.edits).toEqual([{ add: 'replacing', args: { from: 19 } }]);
    for (let step = 0; step < 20; step++) {
      registry.remove('pay');
      registry.add('pay');
    }
    expect(registry.edits).toEqual([{ remove: 'pay' }, { add: 'pay', args: {} }]);
  });
});

describe('on another worker [registry.turn] [registry.factory]', () => {
  const edit = fc.oneof(
    fc.record({ add: fc.constantFrom(...Object.keys(FACTORIES)), from: fc.nat(2) }),
    fc.record({ remove: fc.constantFrom('pay', 'list', 'query_1', 'query_2') }),
  );

  test('the edits make the same tools again', async () => {
    await fc.assert(
      fc.property(fc.array(edit), (edits) => {
        const agentTools = () => [named('pay', { from: 'agent' }), named('list')];
        const here = turn(agentTools());
        for (const each of edits) {
          if ('remove' in each) here.registry.remove(each.remove);
          else attemptTo(() => here.registry.add(each.add, { order: each.from, from: each.from }));
        }
        const there = turn(agentTools());
        there.registry.replay(JSON.parse(JSON.stringify(here.registry.edits)));
        expect(told(there.registry)).toEqual(told(here.registry));
        expect(declared(there.request)).toEqual(declared(here.request));
        expect(there.registry.edits).toEqual(here.registry.edits);
      }),
    );
  });

  test('a factory that this deployment lacks is named', () => {
    const { registry } = turn();
    expect(refusal(() => registry.replay([{ add: 'qeury', args: {} }])).message).toBe(
      'tool factory "qeury": the app has no tool factory of this name; ' +
        'registered are query, pay, replacing, keeping; did you mean "query"?',
    );
  });
});

describe('refuses [registry.factory]', () => {
  const hint = 'register a factory on the app (durable.toolFactories: { name: (args) => tool })';
  test.each<[string, unknown, unknown, string]>([
    ['a tool', named('x'), {}, `expected the name of a tool factory, got a tool: another worker could`],
    ['a function', () => named('x'), {}, 'expected the name of a tool factory, got a function'],
    ['nothing', undefined, {}, hint],
    [
      'arguments that are no object',
      'query',
      [1],
      'request.tools.add("query"): args: expected an object, got array',
    ],
    ['a closure among them', 'query', { on: () => 1 }, 'args.on: JSON has no function'],
    ['a bigint', 'query', { order: 1n }, 'args.order: JSON has no bigint'],
    ['a Map', 'query', new Map(), 'args: JSON has no Map'],
  ])('%s', (_, factory, args, message) => {
    const { registry } = turn();
    expect(refusal(() => registry.add(factory as never, args as never)).message).toContain(message);
    expect(registry.edits).toEqual([]);
  });

  test.each<[string, ToolFactory, string]>([
    ['no tool', () => ({}) as never, 'tool factory "f": it must return a tool, returned object'],
    ['a promise', (async () => named('x')) as never, 'returned a promise; make the tool without waiting'],
    [
      'an error',
      () => {
        throw new Error('no such order');
      },
      'tool factory "f": it threw: no such order',
    ],
    ["a tool of the provider's", () => GOOGLE_SEARCH, '"google_search" has no declaration'],
  ])('a factory that makes %s', (_, f, message) => {
    expect(refusal(() => turn([], { f }).registry.add('f')).message).toContain(message);
  });

  test('where no factory is registered it says so', () => {
    expect(refusal(() => turn([], {}).registry.add('query')).problem).toContain('none is registered');
  });
});

test('removeTools is the inverse of appendTools [registry.turn]', async () => {
  const request = emptyRequest();
  await GOOGLE_SEARCH.processLlmRequest({ toolContext: contextWith(), llmRequest: request });
  const before = structuredClone(request.config);
  appendTools(request, [named('a'), named('b')]);
  removeTools(request, ['a', 'nobody', 'google_search']);
  expect([declared(request), Object.keys(request.toolsDict)]).toEqual([['b'], ['b']]);
  removeTools(request, ['b']);
  expect(request).toEqual({ ...emptyRequest(), config: before });
  const bare = emptyRequest();
  appendTools(bare, [named('a')]);
  removeTools(bare, ['a']);
  expect(bare).toEqual(emptyRequest());
  removeTools({ contents: [], toolsDict: {} }, ['a']);
});

/** Clashes are part of the game: what they leave behind is what is compared. */
function attemptTo(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!String(error).includes('already')) throw error;
  }
}
