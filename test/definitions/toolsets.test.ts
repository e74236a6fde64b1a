import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { LlmRequest } from '../../src/models/llm-request.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { BaseToolset, isBaseToolset, type ToolPredicate } from '../../src/tools/base-toolset.ts';
import { GOOGLE_SEARCH } from '../../src/tools/built-in/google-search-tool.ts';
import { requestInputTool } from '../../src/tools/built-in/request-input-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { filterToolset, stringPredicate } from '../../src/tools/filter-toolset.ts';
import type { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { StaticToolset } from '../../src/tools/static-toolset.ts';
import { tool } from '../../src/tools/tool.ts';
import { type ConfirmationProvider, withConfirmation } from '../../src/tools/with-confirmation.ts';
import { refusal } from './refusal.ts';
import { contextWith, declared, emptyRequest, named } from './tool-context.ts';

const context = contextWith();

async function namesOf(toolset: BaseToolset, of: ReadonlyContext | undefined = context): Promise<string[]> {
  return (await toolset.getTools(of)).map(({ name }) => name);
}

/** Has a tool of the state's city, and tells what happens to it. */
class CityToolset extends BaseToolset {
  readonly log: string[] = [];
  override async getTools(of?: ReadonlyContext): Promise<BaseTool[]> {
    return [named(`to_${of?.state.get('city') ?? 'anywhere'}`), named('home')];
  }
  override async processLlmRequest(_: Context, request: LlmRequest): Promise<void> {
    request.metadata = { processed: true };
  }
  override async close(): Promise<void> {
    this.log.push('closed');
  }
}

describe('StaticToolset [toolset.static]', () => {
  test('has its tools, filtered by names or by a predicate', async () => {
    const tools = [named('a'), named('b', { isReadOnly: true })];
    expect(await namesOf(new StaticToolset(tools))).toEqual(['a', 'b']);
    expect(await namesOf(new StaticToolset(tools, { toolFilter: ['b', 'c'] }))).toEqual(['b']);
    expect(await namesOf(new StaticToolset(tools, { toolFilter: [] }))).toEqual(['a', 'b']);
    const readers: ToolPredicate = ({ isReadOnly }, of) => isReadOnly && of.userId === 'ada';
    const filtered = new StaticToolset(tools, { toolFilter: readers });
    expect(await namesOf(filtered)).toEqual(['b']);
    expect(await namesOf(filtered, contextWith({ userId: 'bob' }))).toEqual([]);
    expect((await filtered.getTools()).length).toBe(2);
    await filtered.close();
  });

  test('is named', () => {
    expect([new StaticToolset([]).name, new StaticToolset([], { name: 'shelves' }).name]).toEqual([
      'StaticToolset',
      'shelves',
    ]);
    expect(isBaseToolset(new StaticToolset([]))).toBe(true);
  });

  test.each<[string, unknown, unknown, string]>([
    ['no tool', [1], {}, 'tools[0]: expected a tool, got number'],
    ['a second one of a name', [named('a'), named('a')], {}, 'there is a tool "a" already'],
    ['no list', undefined, {}, 'tools: expected a list of tools, got undefined'],
    ['no name', [], { name: 3 }, 'options.name: expected a string, got number'],
    [
      'a filter that is none',
      [],
      { toolFilter: 'a' },
      'toolFilter: expected a list of tool names, got string',
    ],
    ['a name that is none', [], { toolFilter: [''] }, "toolFilter[0]: expected the name of a tool, got ''"],
    ['other options', [], { filter: [] }, 'options.filter: unknown option; did you mean "toolFilter"?'],
  ])('refuses %s', (_, tools, options, message) => {
    expect(refusal(() => new StaticToolset(tools as never, options as never)).message).toContain(message);
  });
});

test('a list of names is the toolset’s own copy', async () => {
  const names = ['a'];
  const toolset = new StaticToolset([named('a'), named('b')], { toolFilter: names });
  names.push('b');
  expect(toolset.toolFilter).toEqual(['a']);
  expect(await namesOf(toolset)).toEqual(['a']);
});

describe('filterToolset [toolset.filter]', () => {
  test('passes those that the predicate passes, found out for each request', async () => {
    const filtered = filterToolset(
      new CityToolset(),
      (found, of) => found.name === `to_${of.state.get('city')}`,
    );
    expect(await namesOf(filtered)).toEqual(['to_Graz']);
    expect(await namesOf(filtered, contextWith({ state: { city: 'Wien' } }))).toEqual(['to_Wien']);
    expect((await filtered.getTools()).length).toBe(2);
  });

  test('names, and an empty list of them passes none', async () => {
    expect(await namesOf(filterToolset(new CityToolset(), stringPredicate(['home', 'x'])))).toEqual(['home']);
    expect(await namesOf(filterToolset(new CityToolset(), stringPredicate([])))).toEqual([]);
  });

  test('filters are laid over each other', async () => {
    const inner = filterToolset(new CityToolset(), stringPredicate(['home', 'to_Graz']));
    expect(await namesOf(filterToolset(inner, ({ name }) => name !== 'home'))).toEqual(['to_Graz']);
  });

  test('name, prefix, request and closing pass through', async () => {
    const inner = new CityToolset([], 'trip');
    const filtered = filterToolset(inner, () => true);
    expect([filtered.name, filtered.prefix, isBaseToolset(filtered)]).toEqual(['CityToolset', 'trip', true]);
    const request = emptyRequest();
    await filtered.processLlmRequest(context, request);
    expect(request.metadata).toEqual({ processed: true });
    await filtered.close();
    expect(inner.log).toEqual(['closed']);
  });

  test('an answer that has to be waited for is an error, and no yes', async () => {
    const filtered = filterToolset(new CityToolset(), (async () => false) as never);
    await expect(filtered.getTools(context)).rejects.toThrow('must answer true or false at once');
    const own = new StaticToolset([named('a')], { toolFilter: (async () => false) as never });
    await expect(own.getTools(context)).rejects.toThrow('must answer true or false at once');
    // Of a library's own kind of promise, too.
    // biome-ignore lint/suspicious/noThenProperty: that is the case
    const later = { then: (settle: (yes: boolean) => void) => settle(false) };
    const awaitable = filterToolset(new CityToolset(), (() => later) as never);
    await expect(awaitable.getTools(context)).rejects.toThrow('must answer true or false at once');
  });

  test.each<[string, () => unknown, string]>([
    [
      'no toolset',
      () => filterToolset(null as never, () => true),
      'filterToolset: toolset: expected a toolset, got null',
    ],
    [
      'a list of tools',
      () => filterToolset([named('a')] as never, () => true),
      'filterToolset: toolset: expected a toolset, got array',
    ],
    [
      'no predicate',
      () => filterToolset(new CityToolset(), undefined as never),
      'filterToolset: predicate: expected a function of a tool and a context, got undefined; for names write ' +
        'stringPredicate(names)',
    ],
    [
      'no names',
      () => stringPredicate('a' as never),
      'stringPredicate: names: expected a list of tool names, got string',
    ],
    [
      'a prefix that is none',
      () => new CityToolset([], 1 as never),
      'CityToolset: prefix: expected a string, got number',
    ],
  ])('refuses %s', (_, action, message) => {
    expect(refusal(action).message).toBe(message);
  });
});

describe('withConfirmation [toolset.filter]', () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    execution: 'local',
    retry: { maximumAttempts: 2 },
    cancel: () => true,
    execute: ({ amount }) => ({ paid: amount }),
  });
  const guarded = async (required: boolean, provider?: ConfirmationProvider) => {
    const [only] = await withConfirmation(new StaticToolset([pay]), required, provider).getTools(context);
    if (only === undefined) throw new Error('no tool');
    return only;
  };
  const run = (of: BaseTool, amount = 5) => of.runAsync({ args: { amount }, toolContext: context });

  test('a call that needs an approval fails closed', async () => {
    await expect(run(await guarded(true))).rejects.toMatchObject({
      code: 'HOLDFAST_GATE_UNSUPPORTED',
      retryable: false,
      message: expect.stringMatching(/^tool 'pay' needs an approval: .* later one; nothing was run$/),
    });
    expect(await run(await guarded(false))).toEqual({ paid: 5 });
  });

  test("a provider's answer counts, not the flag", async () => {
    const dear: ConfirmationProvider = async (name, { amount }, of) =>
      name === 'pay' && Number(amount) > 100 && of.userId === 'ada';
    expect(await run(await guarded(true, dear))).toEqual({ paid: 5 });
    await expect(run(await guarded(false, dear), 500)).rejects.toThrow('needs an approval');
    await expect(run(await guarded(false, (() => undefined) as never))).rejects.toThrow('needs an approval');
  });

  test('a provider cannot change what is run', async () => {
    const meddling: ConfirmationProvider = (_, args) => {
      args.amount = 0;
      return false;
    };
    expect(await run(await guarded(true, meddling))).toEqual({ paid: 5 });
  });

  test('the tool is otherwise what it was, and its gate is not passed by the request', async () => {
    const confirmed = await guarded(true);
    expect(confirmed._getDeclaration()).toEqual(pay._getDeclaration());
    expect(confirmed.durable).toEqual(pay.durable);
    expect([confirmed.supportsCancellation(), await confirmed.cancel('c')]).toEqual([true, true]);
    const request = emptyRequest();
    await confirmed.processLlmRequest({ toolContext: context, llmRequest: request });
    expect(declared(request)).toEqual(['pay']);
    expect(request.toolsDict.pay).toBe(confirmed);
  });

  test('tools that are not called stay as they are', async () => {
    const toolset = withConfirmation(new StaticToolset([GOOGLE_SEARCH, requestInputTool]), true);
    const [search, input] = await toolset.getTools(context);
    expect(search).toBe(GOOGLE_SEARCH);
    expect(input?.name).toBe('adk_request_input');
  });

  test.each<[string, () => unknown, string]>([
    ['no toolset', () => withConfirmation({} as never, true), 'toolset: expected a toolset, got object'],
    [
      'no flag',
      () => withConfirmation(new CityToolset(), 'yes' as never),
      'required: expected true or false, got string',
    ],
    [
      'no provider',
      () => withConfirmation(new CityToolset(), true, true as never),
      "provider: expected a function of a tool's name and its arguments, got boolean",
    ],
  ])('refuses %s', (_, action, message) => {
    expect(refusal(action).message).toBe(`withConfirmation: ${message}`);
  });
});
