import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ReflectAndRetryToolPlugin,
  type ReflectAndRetryToolPluginOptions,
  TrackingScope,
} from '../../src/plugins/reflect-and-retry-tool-plugin.ts';
import { REFLECT_AND_RETRY_RESPONSE_TYPE } from '../../src/plugins/withheld.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { ToolExecutionError } from '../../src/tools/tool-error.ts';
import { callContextOf, charge, findOrder } from './plugin-scene.ts';

const boom = new ToolExecutionError(
  "Error in tool 'find_order': no such order",
  new TypeError('no such order'),
);

/** A state that outlives workers: each call gets a plugin and a context of its own. */
class Turn {
  state: Record<string, unknown> = {};
  readonly #options: ReflectAndRetryToolPluginOptions | undefined;

  constructor(options?: ReflectAndRetryToolPluginOptions) {
    this.#options = options;
  }

  async fails(
    tool: BaseTool = findOrder,
    error: Error = boom,
    toolArgs: Record<string, unknown> = { id: 'A-1' },
  ) {
    const toolContext = callContextOf('c1', { state: this.state });
    const plugin = new ReflectAndRetryToolPlugin(this.#options);
    const answer = await plugin.onToolErrorCallback({ tool, toolArgs, toolContext, error });
    const result = answer ?? { error: error.message };
    expect(await plugin.afterToolCallback({ tool, toolArgs, toolContext, result })).toBeUndefined();
    this.#keep(toolContext);
    return answer;
  }

  async succeeds(tool: BaseTool = findOrder, result: Record<string, unknown> = { found: true }) {
    const toolContext = callContextOf('c1', { state: this.state });
    const plugin = new ReflectAndRetryToolPlugin(this.#options);
    expect(await plugin.afterToolCallback({ tool, toolArgs: {}, toolContext, result })).toBeUndefined();
    this.#keep(toolContext);
    return toolContext.actions.stateDelta;
  }

  /** Calls of one step see what was there before it, and are merged in call order. */
  async failTogether(count: number) {
    const before = this.state;
    const answers = [];
    let after = before;
    for (let index = 0; index < count; index++) {
      this.state = before;
      answers.push(await this.fails());
      after = { ...after, ...this.state };
    }
    this.state = after;
    return answers;
  }

  #keep({ actions }: Context) {
    this.state = { ...this.state, ...actions.stateDelta };
  }
}

const counts = (answers: (Record<string, unknown> | undefined)[]) =>
  answers.map((answer) => answer?.retry_count);

describe('ReflectAndRetryToolPlugin', () => {
  test('a failure is answered with what failed and advice to try otherwise [plugin.reflect]', async () => {
    const answer = await new Turn().fails();
    expect(answer).toEqual({
      response_type: 'ERROR_HANDLED_BY_REFLECT_AND_RETRY_PLUGIN',
      error_type: 'TypeError',
      error_details: "Error in tool 'find_order': no such order",
      retry_count: 1,
      reflection_guidance: expect.stringMatching(
        /The tool `find_order` failed\.\nError: TypeError: .*no such order\nArguments: \{"id":"A-1"\}\n\nThis is retry 1 of 3\./,
      ),
    });
    expect(REFLECT_AND_RETRY_RESPONSE_TYPE).toBe(answer?.response_type);
  });

  test('it counts in the state, so on any worker, and tells the model to stop behind the last retry [plugin.reflect]', async () => {
    const turn = new Turn({ maxRetries: 2 });
    const answers = [await turn.fails(), await turn.fails(), await turn.fails(), await turn.fails()];
    expect(counts(answers)).toEqual([1, 2, 2, 2]);
    for (const [index, answer] of answers.entries()) {
      const guidance = String(answer?.reflection_guidance);
      expect(guidance).toMatch(
        index < 2 ? /This is retry/ : /No retries are left.*Do not call `find_order` again/s,
      );
    }
    expect(Object.keys(turn.state)).toEqual(['temp:_adk_reflect_retry_tool_plugin:find_order']);
  });

  test('a success begins anew; one tool’s failures are not another’s [plugin.reflect]', async () => {
    const turn = new Turn();
    await turn.fails();
    await turn.fails();
    expect(await turn.fails(charge)).toMatchObject({ retry_count: 1 });
    await turn.succeeds();
    expect(await turn.fails()).toMatchObject({ retry_count: 1 });
    expect(await turn.fails(charge)).toMatchObject({ retry_count: 2 });
  });

  test('a success without failures before it writes nothing, and a response that is an error is none', async () => {
    const turn = new Turn();
    expect(await turn.succeeds()).toEqual({});
    await turn.fails();
    expect(await turn.succeeds(findOrder, { error: 'tool not found' })).toEqual({});
    expect(await turn.fails()).toMatchObject({ retry_count: 2 });
  });

  test('errorIfRetryExceeded leaves the error as it is; maxRetries 0 allows none [plugin.reflect]', async () => {
    const strict = new Turn({ maxRetries: 1, errorIfRetryExceeded: true });
    expect(counts([await strict.fails(), await strict.fails()])).toEqual([1, undefined]);
    const alias = new Turn({ maxRetries: 0, throwExceptionIfRetryExceeded: true });
    expect(await alias.fails()).toBeUndefined();
    const never = new Turn({ maxRetries: 0 });
    expect(await never.fails()).toMatchObject({
      retry_count: 0,
      reflection_guidance: expect.stringContaining('No retries are left. Do not call'),
    });
    expect(never.state).toEqual({});
  });

  test('the global scope counts for the app [plugin.reflect]', async () => {
    for (const options of [{ scope: 'global' }, { trackingScope: TrackingScope.GLOBAL }] as const) {
      const turn = new Turn(options);
      await turn.fails();
      expect(turn.state).toEqual({ 'app:_adk_reflect_retry_tool_plugin:find_order': 1 });
    }
  });

  test('calls of one step that fail side by side count once: none could learn from another', async () => {
    const turn = new Turn();
    expect(counts(await turn.failTogether(5))).toEqual([1, 1, 1, 1, 1]);
    expect(await turn.fails()).toMatchObject({ retry_count: 2 });
  });

  test('whatever comes, the count is that of the failures in a row, and never over the bound', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        async (outcomes, maxRetries) => {
          const turn = new Turn({ maxRetries });
          let inARow = 0;
          for (const failed of outcomes) {
            inARow = failed ? inARow + 1 : 0;
            if (!failed) await turn.succeeds();
            else expect(await turn.fails()).toMatchObject({ retry_count: Math.min(inARow, maxRetries) });
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  test('errors in what a tool returns are found by a subclass', async () => {
    class Reads extends ReflectAndRetryToolPlugin {
      override async extractErrorFromResult({ result }: { result: Record<string, unknown> }) {
        return result.status === 'error' ? result.why : undefined;
      }
    }
    const toolContext = callContextOf('c1');
    const reads = (result: Record<string, unknown>) =>
      new Reads().afterToolCallback({ tool: findOrder, toolArgs: {}, toolContext, result });
    const answer = await reads({ status: 'error', why: 'closed' });
    expect(answer).toMatchObject({ error_type: 'ToolError', error_details: 'closed', retry_count: 1 });
    expect(await reads({ ...answer })).toBeUndefined();
    expect(await reads({ status: 'fine' })).toBeUndefined();
    expect(await reads({ status: 'error', why: 'closed' })).toMatchObject({ retry_count: 1 });
  });

  test('a call that waits for a confirmation, or got none, is no failure of its tool', async () => {
    const waiting = callContextOf('c1');
    waiting.actions.requestedToolConfirmations.c1 = { hint: '', confirmed: false };
    const rejected = callContextOf('c1', { toolConfirmation: { hint: '', confirmed: false } });
    const asking = callContextOf('c1');
    const pending = await asking.requestInput({ message: 'Which one?' }).catch((thrown: unknown) => thrown);
    const needy = callContextOf('c1');
    needy.requestCredential({ credentialKey: 'shop', authScheme: { type: 'http', scheme: 'bearer' } });
    for (const [toolContext, error] of [
      [waiting, boom],
      [rejected, boom],
      [asking, new ToolExecutionError("Error in tool 'find_order'", pending)],
      [needy, boom],
    ] as const) {
      const answer = await new ReflectAndRetryToolPlugin().onToolErrorCallback({
        tool: findOrder,
        toolArgs: {},
        toolContext,
        error,
      });
      expect(answer).toBeUndefined();
      expect(toolContext.actions.stateDelta).toEqual({});
    }
  });

  test('arguments that are sensitive are not told again, long ones are cut', async () => {
    const told = async (tool: BaseTool, args: Record<string, unknown>) =>
      String((await new Turn().fails(tool, new Error('declined'), args))?.reflection_guidance);
    expect(await told(charge, { amount: 5, card: '4111' })).toContain('{"amount":5,"card":"(sensitive)"}');
    const quoting = await new Turn().fails(charge, new Error('visa-4111 was declined, amount 5'), {
      amount: 5,
      card: 'visa-4111',
    });
    expect(quoting).toMatchObject({ error_details: '(sensitive) was declined, amount 5' });
    expect(JSON.stringify(quoting)).not.toContain('visa');
    expect((await told(findOrder, { note: 'x'.repeat(9_000) })).length).toBeLessThan(3_000);
    expect(await told(findOrder, { amount: 5n })).toContain('amount: 5n');
  });

  test.each<[Record<string, unknown>, string]>([
    [{ maxRetries: 1.5 }, 'maxRetries: expected a whole number, 0 or more'],
    [{ scope: 'session' }, "scope: expected 'invocation' or 'global'"],
    [{ maxRetry: 1 }, 'maxRetry: unknown option; did you mean "maxRetries"?'],
  ])('options %j are refused [plugin.reflect]', (options, problem) => {
    expect(() => new ReflectAndRetryToolPlugin(options)).toThrow(`ReflectAndRetryToolPlugin: ${problem}`);
  });
});
