import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { getUserChoiceTool, requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { Context } from '../../src/tools/context.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import type { JobInit } from '../../src/tools/invocation-context.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';
import { callOf, contextWith } from './tool-context.ts';

const jobOf = (init: Partial<JobInit> = {}): JobInit => ({
  id: 'job-1',
  until: 5_000,
  longRunning: false,
  callbackUrl: () => 'https://agents.example/v1/jobs/job-1',
  token: () => 'a.b.c',
  progress: async () => undefined,
  ...init,
});
const contextOf = (init: Partial<JobInit> = {}) => contextWith({ call: callOf({ job: jobOf(init) }) });

const NO_CALL = expect.objectContaining({ code: 'HOLDFAST_NO_CALL', retryable: false });
const NO_JOB = expect.objectContaining({ code: 'HOLDFAST_NO_JOB', retryable: false });

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

describe('the job of a call [job.park]', () => {
  test('is what a service needs to tell what came of it', () => {
    const { job } = contextOf({ details: { page: 3 } });
    expect([job.id, job.until, job.token, job.callbackUrl, job.details]).toEqual([
      'job-1',
      5_000,
      'a.b.c',
      'https://agents.example/v1/jobs/job-1',
      { page: 3 },
    ]);
  });

  test('is not there outside of a call', () => {
    const context = contextWith();
    expect(thrownBy(() => context.job)).toEqual(NO_CALL);
    expect(thrownBy(() => context.longRunning)).toEqual(NO_CALL);
    expect(thrownBy(() => Object.assign(context, { longRunning: true }))).toEqual(NO_CALL);
  });

  test('nor in a tool that runs locally, which may say that it has none', () => {
    const context = contextWith({ call: callOf() });
    expect(thrownBy(() => context.job)).toEqual(NO_JOB);
    expect(thrownBy(() => Object.assign(context, { longRunning: true }))).toEqual(NO_JOB);
    context.longRunning = false;
    expect(context.longRunning).toBe(false);
  });

  test('printed it shows neither token nor address', () => {
    const context = contextOf({ token: () => 'secret-token', callbackUrl: () => 'https://secret.example' });
    const { job } = context;
    for (const shown of [JSON.stringify({ job }), JSON.stringify({ ...job }), `${job}`]) {
      expect(shown).not.toContain('secret');
    }
  });

  test('an address or a key that is not there is asked for by name', () => {
    const { job } = contextOf({ callbackUrl: () => undefined, token: () => undefined });
    expect(thrownBy(() => job.callbackUrl)).toMatchObject({
      name: 'ToolError',
      code: 'HOLDFAST_JOB_URL_MISSING',
      retryable: false,
      message: expect.stringContaining('HOLDFAST_PUBLIC_URL'),
    });
    expect(thrownBy(() => job.token)).toMatchObject({
      name: 'ToolError',
      code: 'HOLDFAST_JOB_KEY_MISSING',
      retryable: false,
      message: expect.stringContaining('HOLDFAST_CREDENTIAL_KEYS'),
    });
    expect([job.id, job.until]).toEqual(['job-1', 5_000]);
  });
});

describe('longRunning [job.detach]', () => {
  test.each([true, false])('starts as the tool is declared: %s', (longRunning) => {
    expect(contextOf({ longRunning }).longRunning).toBe(longRunning);
  });

  test('is set for this call, and seen by whoever runs it', () => {
    const job = jobOf();
    const context = contextWith({ call: callOf({ job }) });
    context.longRunning = true;
    expect([context.longRunning, job.longRunning]).toEqual([true, true]);
    context.longRunning = false;
    expect(job.longRunning).toBe(false);
  });

  test('another context of the same call sees it, and sets it', () => {
    const context = contextOf();
    const { invocationContext } = context;
    const again = new Context({ invocationContext, functionCallId: 'call_0' });
    again.longRunning = true;
    expect(context.longRunning).toBe(true);
    expect(thrownBy(() => new Context({ invocationContext }).longRunning)).toEqual(NO_CALL);
  });

  test.each([undefined, null, 1, 'true', {}])('%j is neither', (longRunning) => {
    const context = contextOf();
    expect(() => Object.assign(context, { longRunning })).toThrow('longRunning: expected true or false');
  });
});

describe('progress [job.progress]', () => {
  const told = async (...args: unknown[]) => {
    const progress = vi.fn(async () => undefined);
    const { job } = contextOf({ progress });
    await job.progress(...(args as [number]));
    return progress.mock.calls[0];
  };

  test('is handed on', async () => {
    expect(await told(0)).toEqual([0, undefined]);
    expect(await told(1, 'done')).toEqual([1, 'done']);
    expect(await told(0.5, '')).toEqual([0.5, '']);
  });

  test.each([-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined])(
    '%j is no value',
    async (value) => {
      await expect(told(value)).rejects.toThrow('job.progress: value must be a number from 0 to 1, got');
    },
  );

  test('a message is a string, and cut where it is long', async () => {
    await expect(told(0, 5)).rejects.toThrow('job.progress: message must be a string, got number');
    expect(await told(0, 'x'.repeat(500))).toEqual([0, 'x'.repeat(500)]);
    expect(await told(0, 'x'.repeat(501))).toEqual([0, `${'x'.repeat(499)}…`]);
    expect(await told(0, `${'x'.repeat(498)}😀😀`)).toEqual([0, `${'x'.repeat(498)}…`]);
    expect(await told(0, 'a\uD800b')).toEqual([0, 'a\uFFFDb']);
  });

  test('what keeps it from being told is thrown', async () => {
    const { job } = contextOf({ progress: () => Promise.reject(new Error('store down')) });
    await expect(job.progress(0.5)).rejects.toThrow('store down');
  });
});

describe('the schema of a result is that of the outcome [job.detach]', () => {
  const outputSchema = z.object({ url: z.string() });
  const returning = (value: unknown, options: object = {}) =>
    tool({
      name: 'report',
      description: '',
      outputSchema,
      execute: () => value as { url: string },
      ...options,
    });
  const run = (
    of: ReturnType<typeof returning>,
    toolContext = contextOf({ longRunning: of.isLongRunning }),
  ) => of.runAsync({ args: {}, toolContext });
  const status = { status: 'ordered' };

  test.each([[undefined], [null], [status]])('a call that goes on may return %j', async (value) => {
    expect(await run(returning(value, { isLongRunning: true }))).toEqual(value);
    const decided = returning(value, {
      execute: (_: unknown, context: Context) => {
        context.longRunning = true;
        return value;
      },
    });
    expect(await run(decided)).toEqual(value);
    const declared = new LongRunningFunctionTool({
      name: 'r',
      description: '',
      outputSchema,
      execute: () => value,
    });
    expect(await declared.runAsync({ args: {}, toolContext: contextWith() })).toEqual(value);
  });

  test('any other may not', async () => {
    const ends = (_: unknown, context: Context) => {
      context.longRunning = false;
      return status;
    };
    for (const of of [
      returning(status),
      returning(status, { inProcess: true }),
      returning(undefined, { inProcess: true }),
      returning(status, { isLongRunning: true, execute: ends }),
    ]) {
      await expect(run(of)).rejects.toBeInstanceOf(InvalidResultError);
    }
  });

  test('an outcome that comes without a run is checked, too', async () => {
    const of = returning(status, { isLongRunning: true });
    expect(await of.readResult({ url: 'u', more: 1 })).toEqual({ url: 'u' });
    await expect(of.readResult(status)).rejects.toBeInstanceOf(InvalidResultError);
  });
});

describe('a question is over with its answer [builtin.ask]', () => {
  const answered = (...inputs: unknown[]) =>
    contextWith({
      call: callOf({ job: jobOf({ longRunning: true }), questions: new CallQuestions({ inputs }) }),
    });

  test.each([
    ['choice', getUserChoiceTool, { options: ['a', 'b'] }],
    ['question', requestInputTool, { message: 'Which?' }],
  ] as const)('%s: what came is the outcome; until then nothing is', async (_, asks, args) => {
    const toolContext = answered('a');
    expect(await asks.runAsync({ args, toolContext })).toEqual({ result: 'a' });
    expect(toolContext.longRunning).toBe(false);
    const open = answered();
    await expect(asks.runAsync({ args, toolContext: open })).rejects.toThrow('the call waits for a person');
    expect(open.longRunning).toBe(true);
  });
});
