import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { BaseTool, LlmRequest } from '../../src/tools/base-tool.ts';
import { BaseToolset, isBaseToolset, type ToolPredicate } from '../../src/tools/base-toolset.ts';
import { GOOGLE_SEARCH } from '../../src/tools/built-in/gemini-tools.ts';
import { requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { type Context, questionsOf } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { questionOf } from '../../src/tools/tool-gate.ts';
import { filterToolset, StaticToolset, stringPredicate } from '../../src/tools/toolsets.ts';
import { type ConfirmationProvider, withConfirmation } from '../../src/tools/with-confirmation.ts';
import { refusal } from './refusal.ts';
import { callOf, contextWith, declared, emptyRequest, named } from './tool-context.ts';

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

describe('withConfirmation [confirm.toolset]', () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    execution: 'inline',
    retry: { maximumAttempts: 2, initialInterval: 5 },
    cancel: () => true,
    execute: ({ amount }) => ({ paid: amount }),
  });
  const guarded = async (required: boolean, provider?: ConfirmationProvider, inner: BaseTool = pay) => {
    const [only] = await withConfirmation(new StaticToolset([inner]), required, provider).getTools(context);
    if (only === undefined) throw new Error('no tool');
    return only;
  };
  const asks = (of: BaseTool, amount = 5) => questionOf(of, { amount }, context);
  const hint = expect.stringContaining('tool call pay()');

  test('the flag gates all calls', async () => {
    expect(await asks(await guarded(true))).toEqual({ hint });
    expect(await guarded(false)).toBe(pay);
  });

  test("a provider's answer counts, not the flag", async () => {
    const dear: ConfirmationProvider = async (name, { amount }, of) =>
      name === 'pay' && Number(amount) > 100 && of.userId === 'ada';
    expect(await asks(await guarded(true, dear))).toBeUndefined();
    expect(await asks(await guarded(false, dear), 500)).toEqual({ hint });
    expect(await asks(await guarded(false, (() => undefined) as never))).toEqual({ hint });
    const words = await guarded(false, () => ({ hint: 'Pay?', payload: [1] }));
    expect(await asks(words)).toEqual({ hint: 'Pay?', payload: [1] });
  });

  test('a provider cannot change what is run', async () => {
    const args = { amount: 5 };
    const meddling: ConfirmationProvider = (_, copy) => {
      copy.amount = 0;
      return false;
    };
    expect(await questionOf(await guarded(true, meddling), args, context)).toBeUndefined();
    expect(args).toEqual({ amount: 5 });
  });

  test('a tool that is run by something else than a call of it asks, or fails closed', async () => {
    const confirmed = await guarded(true);
    const run = (toolContext: Context) => confirmed.runAsync({ args: { amount: 5 }, toolContext });
    await expect(run(context)).rejects.toMatchObject({ code: 'HOLDFAST_NO_CALL', retryable: false });
    const inCall = contextWith({ call: callOf() });
    expect(await run(inCall)).toMatchObject({ error: expect.stringContaining('requires confirmation') });
    expect(questionsOf(inCall).asked).toEqual({ kind: 'confirmation', hint });
    const questions = new CallQuestions({ passed: confirmed.gate });
    expect(await run(contextWith({ call: callOf({ questions }) }))).toEqual({ paid: 5 });
  });

  test("a tool's own gate stays: its calls wait where either says so", async () => {
    const own = tool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.string().transform(Number).or(z.number()) }),
      requireConfirmation: ({ amount }) => amount > 100,
      confirmationHint: ({ amount }) => `Pay ${amount}?`,
      approval: { approvers: ['mira'], expiresIn: '1h' },
      authConfig: { credentialKey: 'bank', authScheme: { type: 'apiKey' } },
      onUnknownOutcome: 'retry',
      execute: ({ amount }) => amount,
    });
    const lax = await guarded(true, () => false, own);
    expect(await asks(lax)).toBeUndefined();
    expect(await asks(lax, 500)).toEqual({ hint: 'Pay 500?' });
    expect(await asks(await guarded(true, undefined, own))).toEqual({ hint: 'Pay 5?' });
    expect(await questionOf(lax, { amount: '500' }, context)).toEqual({ hint: 'Pay 500?' });
    expect(lax.gate).toMatchObject({ approval: own.gate?.approval, credential: own.gate?.credential });
    expect(lax.durable).toEqual(own.durable);
    expect(await asks(await guarded(false, undefined, own), 500)).toEqual({ hint: 'Pay 500?' });
  });

  test('the tool is otherwise what it was, and its gate is not passed by the request', async () => {
    const confirmed = await guarded(true);
    expect(confirmed._getDeclaration()).toEqual(pay._getDeclaration());
    // One run for each approval, in an activity, which can wait.
    expect(confirmed.durable).toEqual({
      ...pay.durable,
      execution: 'activity',
      onUnknownOutcome: 'fail',
      retry: { ...pay.durable.retry, maximumAttempts: 1 },
    });
    expect([confirmed.supportsCancellation(), await confirmed.cancel('c')]).toEqual([true, true]);
    await expect(confirmed.checkArguments({ amount: 'much' })).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_ARGUMENTS',
    });
    const request = emptyRequest();
    await confirmed.processLlmRequest({ toolContext: context, llmRequest: request });
    expect(declared(request)).toEqual(['pay']);
    expect(request.toolsDict.pay).toBe(confirmed);
  });

  test('tools that are not called, or only ask people, stay as they are', async () => {
    const toolset = withConfirmation(new StaticToolset([GOOGLE_SEARCH, requestInputTool]), true);
    expect(await toolset.getTools(context)).toEqual([GOOGLE_SEARCH, requestInputTool]);
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
