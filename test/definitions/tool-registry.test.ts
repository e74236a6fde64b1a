import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { OnCollision } from '../../src/tools/base-tool.ts';
import { isToolRegistry, ToolRegistry } from '../../src/tools/tool-registry.ts';
import { refusal } from './refusal.ts';
import { named } from './tool-context.ts';

const told = (registry: ToolRegistry) => registry.list().map(({ name, description }) => [name, description]);

describe('names that are taken [registry.collision]', () => {
  test('registering fails, whatever the tool says', () => {
    const registry = new ToolRegistry([named('pay')]);
    for (const onCollision of ['throw', 'replace', 'keep'] as const) {
      expect(refusal(() => registry.register(named('pay', { onCollision }))).message).toBe(
        'ToolRegistry: tool: there is a tool "pay" already; rename one of them, or merge instead',
      );
    }
    expect(refusal(() => new ToolRegistry([named('a'), named('a')])).field).toBe('tools[1]');
    expect(registry.size).toBe(1);
  });

  test('merging asks the tool that comes', () => {
    const here = () => new ToolRegistry([named('a', { from: 'here' }), named('b')]);
    const coming = (onCollision: OnCollision) => [named('c'), named('a', { from: 'there', onCollision })];
    expect(told(here().merge(coming('replace')))).toEqual([
      ['a', 'there'],
      ['b', 'b'],
      ['c', 'c'],
    ]);
    expect(told(here().merge(coming('keep')))).toEqual([
      ['a', 'here'],
      ['b', 'b'],
      ['c', 'c'],
    ]);
    expect(refusal(() => here().merge(coming('throw'))).message).toBe(
      'ToolRegistry: other[1]: there is a tool "a" already; ' +
        "let it say onCollision: 'replace' or 'keep', or rename it",
    );
  });

  test('a merge that fails has merged nothing', () => {
    const registry = new ToolRegistry([named('a')]);
    expect(() => registry.merge([named('b'), named('a')])).toThrow('"a" already');
    expect(told(registry)).toEqual([['a', 'a']]);
  });

  test('a tool that is there already is no clash', () => {
    const a = named('a');
    expect(told(new ToolRegistry([a]).merge(new ToolRegistry([a])))).toEqual([['a', 'a']]);
  });

  test('merging is folding in, tool by tool', async () => {
    const tools = fc.array(
      fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        onCollision: fc.constantFrom<OnCollision>('replace', 'keep'),
        from: fc.string({ minLength: 1 }),
      }),
    );
    await fc.assert(
      fc.property(tools, tools, (first, second) => {
        const make = (all: typeof first) => all.map(({ name, ...rest }) => named(name, rest));
        const expected = new Map<string, string>();
        for (const { name, onCollision, from } of [...first, ...second]) {
          if (onCollision === 'replace' || !expected.has(name)) expected.set(name, from);
        }
        const registry = new ToolRegistry().merge(make(first)).merge(new ToolRegistry());
        expect(told(registry.merge(make(second)))).toEqual([...expected]);
      }),
    );
  });
});

test('tools are found by name, and taken out [registry.collision]', () => {
  const pay = named('pay');
  const registry = new ToolRegistry([pay, named('list')]);
  expect(registry.get('pay')).toBe(pay);
  expect(registry.get('constructor')).toBeUndefined();
  expect([registry.has('list'), registry.has('toString'), registry.size]).toEqual([true, false, 2]);
  expect([registry.unregister('pay'), registry.unregister('pay'), registry.size]).toEqual([true, false, 1]);
  expect(isToolRegistry(registry)).toBe(true);
  expect(isToolRegistry(new Map())).toBe(false);
});

test('a copy is edited alone [registry.turn]', () => {
  const registry = new ToolRegistry([named('a')]);
  const copy = registry.clone().register(named('b'));
  copy.unregister('a');
  registry.list().pop();
  expect([told(registry), told(copy)]).toEqual([[['a', 'a']], [['b', 'b']]]);
});

describe('ephemeral tools [registry.ephemeral]', () => {
  const registryOf = () => new ToolRegistry([named('stays'), named('goes', { ephemeral: true })]);

  test('go when the invocation completes, those that came meanwhile too', async () => {
    const registry = registryOf();
    const { promise, resolve } = Promise.withResolvers<string>();
    const gone = registry.bindContext(promise);
    registry.register(named('later', { ephemeral: true }));
    expect(registry.size).toBe(3);
    resolve('done');
    expect(await gone).toEqual(['goes', 'later']);
    expect(registry.list().map(({ name }) => name)).toEqual(['stays']);
  });

  test('stay over one that fails, for the next try', async () => {
    const registry = registryOf();
    expect(await registry.bindContext(Promise.reject(new Error('failed step')))).toEqual([]);
    expect(registry.has('goes')).toBe(true);
    expect(await registry.bindContext(Promise.resolve())).toEqual(['goes']);
  });
});

test.each([
  ['tools', () => new ToolRegistry(7 as never), 'ToolRegistry: tools: expected a list of tools, got number'],
  ['a tool', () => new ToolRegistry([{} as never]), 'ToolRegistry: tools[0]: expected a tool, got object'],
  [
    "ADK's tool",
    () => new ToolRegistry().register({ [Symbol.for('google.adk.baseTool')]: true } as never),
    "ToolRegistry: tool: a tool of @google/adk; import its class from 'holdfast' instead",
  ],
  [
    'nothing to merge',
    () => new ToolRegistry().merge(null as never),
    'ToolRegistry: other: expected a list of tools, got null',
  ],
  [
    'no promise',
    () => new ToolRegistry().bindContext({} as never),
    "ToolRegistry.bindContext: completion: expected a promise of the invocation's end, got object",
  ],
])('refuses: %s [registry.collision]', (_, action, message) => {
  expect(refusal(action).message).toBe(message);
});
