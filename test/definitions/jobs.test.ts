import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { awaitedJob, planCalls } from '../../src/flows/plan-calls.ts';
import { BaseTool } from '../../src/tools/base-tool.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import type { JobOptions, JobView } from '../../src/tools/job-options.ts';
import { StaticToolset } from '../../src/tools/toolsets.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { refusal } from './refusal.ts';
import { callOf, contextWith } from './tool-context.ts';

const base = { name: 'report', description: '', execute: () => ({ status: 'ordered' }) };
const report = (options: object = {}) => tool({ ...base, ...options });
const SECOND = 1_000;
const DAY = 86_400_000;

const view: JobView = { id: 'job-1', args: {}, since: 1, until: 2 };
const scheduleOf = (of: BaseTool) =>
  planCalls('r', 1, [{ callId: 'c', name: of.name, args: {} }], new Map([[of.name, of]])).schedules[of.name];

describe('defaults [job.park]', () => {
  test('every tool has them: it may decide while it runs', () => {
    expect(report()).toMatchObject({ isLongRunning: false });
    expect(report().job).toEqual({
      pollInterval: 30 * SECOND,
      deadline: 7 * DAY,
      pauseOnReturn: false,
      inProcess: false,
      cancel: expect.any(Function),
    });
    expect(Object.isFrozen(report().job)).toBe(true);
  });

  test("the tool's own run stays an ordinary one", () => {
    const { durable } = new LongRunningFunctionTool({ ...base, deadline: '30 days' });
    expect(durable).toMatchObject({ timeout: 300 * SECOND, totalTimeout: 3_600 * SECOND });
  });

  test.each<[JobOptions, object]>([
    [{ deadline: '2 hours' }, { deadline: 7_200 * SECOND }],
    [{ deadline: 500 }, { deadline: 500 }],
    [{ deadline: '10 years' }, { deadline: 3_652.5 * DAY }],
    [{ deadline: '10s' }, { deadline: 10 * SECOND, pollInterval: 10 * SECOND }],
    [
      { startTimeout: '1m', silenceTimeout: '2m' },
      { startTimeout: 60 * SECOND, silenceTimeout: 120 * SECOND },
    ],
    [{ deadline: '1h', startTimeout: '1h', silenceTimeout: '1h' }, { startTimeout: 3_600 * SECOND }],
    [{ poll: () => 1 }, { pollInterval: 30 * SECOND }],
    [{ poll: () => 1, pollInterval: 1_000 }, { pollInterval: SECOND }],
    [{ poll: () => 1, pollInterval: '1 week', deadline: '1 week' }, { pollInterval: 7 * DAY }],
    [{ pauseOnReturn: true }, { pauseOnReturn: true }],
    [{ deadline: undefined, poll: undefined, inProcess: undefined } as never, { deadline: 7 * DAY }],
  ])('%j', (options, resolved) => expect(report(options).job).toMatchObject(resolved));
});

describe('refuses, naming the field [define.refuse]', () => {
  const message = (options: object) => {
    const { field, message: text } = refusal(() => report(options));
    expect(text).toBe(`FunctionTool "report": ${field}: ${text.split(`: ${field}: `)[1]}`);
    return text.slice('FunctionTool "report": '.length);
  };

  test('cancel that is no function, by what it would be for', () => {
    expect(message({ cancel: 'x' })).toBe("cancel: expected a function of the call's id, got string");
    expect(message({ cancel: 'x', isLongRunning: true })).toBe(
      'cancel: expected a function of the job and its context, got string',
    );
  });

  test.each<[object, string]>([
    [{ startTimeout: '8 days' }, 'startTimeout: must not be longer than the deadline, 168 h (the default)'],
    [{ silenceTimeout: 1_001, deadline: 1_000 }, 'silenceTimeout: must not be longer than the deadline, 1 s'],
    [{ pollInterval: '1m' }, 'pollInterval: nothing is polled: give poll too, or leave pollInterval out'],
    [{ poll: () => 1, pollInterval: 999 }, 'pollInterval: must be 1 s or longer'],
    [
      { poll: () => 1, pollInterval: '2m', deadline: '1m' },
      'pollInterval: must not be longer than the deadline, 1 min',
    ],
  ])('%j', (options, text) => expect(message(options)).toBe(text));

  test.each<[object, string]>([
    [{ poll: () => 1 }, 'poll: does not go with inProcess: true: the job is its own run'],
    [
      { pauseOnReturn: true },
      'pauseOnReturn: does not go with inProcess: true: the result of the tool is the',
    ],
    [
      { startTimeout: '1m' },
      'startTimeout: does not go with inProcess: true: a worker shows by its heartbeats',
    ],
    [
      { silenceTimeout: '1m' },
      'silenceTimeout: does not go with inProcess: true: a worker shows by its heart',
    ],
    [{ isLongRunning: false }, 'isLongRunning: contradicts inProcess: true, which is about a job'],
    [
      { timeout: '1m' },
      'timeout: 1 min contradicts the deadline of the job, which with inProcess: true is the',
    ],
    [{ totalTimeout: '8 days' }, 'totalTimeout: 192 h contradicts the deadline of the job'],
  ])('in process, %j', (options, text) => {
    expect(message({ ...options, inProcess: true })).toContain(text);
  });

  test.each<[string, unknown]>([
    ['isLongRunning', true],
    ['poll', () => 1],
    ['deadline', '1h'],
    ['startTimeout', '1h'],
    ['silenceTimeout', '1h'],
    ['onTimeout', () => 1],
    ['pauseOnReturn', true],
    ['inProcess', true],
  ])("%s with execution: 'inline', which has no job", (name, value) => {
    expect(message({ execution: 'inline', [name]: value })).toBe(
      `${name}: a tool with execution: 'inline' runs in the activity of its step, and has no job that could go on: leave ` +
        `${name} out, or use 'activity'`,
    );
  });

  test('a tool that runs inline may say that it is not long-running, and end its running calls', () => {
    const of = report({ execution: 'inline', isLongRunning: false, cancel: () => true });
    expect(of.supportsCancellation()).toBe(true);
  });

  test('a name that is nearly one', () => {
    expect(refusal(() => report({ pollIntervall: '1m' })).message).toContain('did you mean "pollInterval"?');
  });

  test('any times: what is resolved is as it was given, and fits; what is refused does not [define.refuse]', () => {
    const time = fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.integer({ min: 1, max: 2 * DAY }));
    const maybe = fc.option(time, { nil: undefined });
    const check = (
      deadline: number | undefined,
      startTimeout: number | undefined,
      silenceTimeout: number | undefined,
      pollInterval: number | undefined,
      polls: boolean,
    ) => {
      const longest = Math.max(deadline ?? 7 * DAY, SECOND);
      const poll = polls ? () => 1 : undefined;
      const bad = {
        startTimeout: (startTimeout ?? 0) > (deadline ?? 7 * DAY),
        silenceTimeout: (silenceTimeout ?? 0) > (deadline ?? 7 * DAY),
        pollInterval:
          pollInterval !== undefined && (!polls || pollInterval < SECOND || pollInterval > longest),
      };
      const given = { deadline, startTimeout, silenceTimeout, pollInterval, poll };
      if (Object.values(bad).includes(true)) {
        expect(bad).toMatchObject({ [refusal(() => report(given)).field ?? '']: true });
        return;
      }
      const { job } = report(given);
      const set = Object.entries(given).filter(([, value]) => value !== undefined);
      expect(job).toMatchObject(Object.fromEntries(set));
      expect(job.pollInterval).toBeGreaterThanOrEqual(SECOND);
      expect(job.pollInterval).toBeLessThanOrEqual(longest);
    };
    fc.assert(fc.property(maybe, maybe, maybe, maybe, fc.boolean(), check));
  });
});

describe('in process [job.inProcess]', () => {
  test('a tool is long-running, and one attempt may take until the deadline', () => {
    const of = report({ inProcess: true });
    expect(of.isLongRunning).toBe(true);
    expect(of.durable).toMatchObject({
      timeout: 7 * DAY,
      totalTimeout: 7 * DAY,
      heartbeatTimeout: 10 * SECOND,
    });
    expect(scheduleOf(of)).toEqual({
      startToClose: 7 * DAY + 5 * SECOND,
      scheduleToClose: 7 * DAY + 5 * SECOND,
      heartbeat: 10 * SECOND,
    });
  });

  test('timeouts that say the same are no contradiction', () => {
    const { durable } = report({
      inProcess: true,
      deadline: '2h',
      timeout: 7_200_000,
      totalTimeout: '2 hours',
    });
    expect(durable).toMatchObject({ timeout: 7_200 * SECOND, totalTimeout: 7_200 * SECOND });
  });
});

describe('the wait for a job [job.poll]', () => {
  test('without poll a look reads a row, and runs nothing of the tool', () => {
    const of = new LongRunningFunctionTool({ ...base, timeout: '1h' });
    expect(awaitedJob(of, 'job-1', DAY)).toEqual({
      jobId: 'job-1',
      timeLeft: DAY,
      look: { startToClose: 60 * SECOND },
    });
  });

  test("with poll a look takes as long as the tool's own run may, and beats", () => {
    const of = report({ poll: () => 1, timeout: '20s', heartbeatTimeout: '4s' });
    expect(awaitedJob(of, 'job-1', 5)).toEqual({
      jobId: 'job-1',
      timeLeft: 5,
      look: { startToClose: 25 * SECOND, heartbeat: 4 * SECOND },
    });
  });
});

describe('hooks [job.cancel]', () => {
  const context = contextWith({ call: callOf({ callId: 'call_7' }) });

  test('a long-running tool has its own, and ends no running call by it', async () => {
    const cancel = vi.fn(() => 'told');
    for (const of of [
      report({ isLongRunning: true, cancel }),
      report({ inProcess: true, cancel }),
      new LongRunningFunctionTool({ ...base, cancel }),
    ]) {
      expect([of.supportsCancellation(), await of.cancel('call_7')]).toEqual([false, false]);
      expect(of.job.cancel).toBe(cancel);
    }
    expect(cancel).not.toHaveBeenCalled();
  });

  test('a tool that ends running calls by their id ends jobs so, too', async () => {
    const cancel = vi.fn(() => true);
    const of = report({ cancel });
    expect([of.supportsCancellation(), await of.cancel('call_1')]).toEqual([true, true]);
    expect(await of.job.cancel?.(view, context)).toBe(true);
    expect(cancel.mock.calls).toEqual([['call_1'], ['call_7']]);
  });

  test('so does a class of its own', async () => {
    const told: string[] = [];
    class Slow extends BaseTool {
      override async runAsync() {
        return undefined;
      }
      override supportsCancellation() {
        return true;
      }
      override cancel(callId: string) {
        told.push(callId);
        return true;
      }
    }
    const slow = new Slow({ name: 'slow', description: '', isLongRunning: true, deadline: '1h' });
    expect(await slow.job.cancel?.(view, context)).toBe(true);
    const own = new Slow({ name: 'slow', description: '', cancel: (job) => told.push(job.id) });
    await own.job.cancel?.(view, context);
    expect(told).toEqual(['call_7', 'job-1']);
  });

  test('a tool without one is told nothing', async () => {
    expect(await report().job.cancel?.(view, context)).toBe(false);
  });

  test('as they were given, in whatever kind of tool', () => {
    const hooks = { poll: () => undefined, cancel: () => undefined, onTimeout: () => 'late' };
    expect(new LongRunningFunctionTool({ ...base, ...hooks }).job).toMatchObject(hooks);
    expect(report({ ...hooks, isLongRunning: true }).job).toMatchObject(hooks);
  });
});

describe('behind a gate of a toolset [confirm.toolset]', () => {
  const gated = async (of: BaseTool) => {
    const [first] = await withConfirmation(new StaticToolset([of]), true).getTools(contextWith());
    if (first === undefined) throw new Error('the toolset is empty');
    return first;
  };

  test.each<[string, object]>([
    ['nothing of its own', {}],
    ['a poll', { poll: () => 1, pollInterval: '2m', onTimeout: () => 1, startTimeout: '3m', deadline: '1h' }],
    ['a pause', { isLongRunning: true, pauseOnReturn: true, cancel: () => true }],
    ['its own run', { inProcess: true, deadline: '3h' }],
  ])('a tool keeps its job: %s', async (_, options) => {
    const of = report(options);
    const wrapped = await gated(of);
    expect(wrapped).not.toBe(of);
    expect(wrapped.job).toEqual(of.job);
    expect(wrapped.isLongRunning).toBe(of.isLongRunning);
    expect(scheduleOf(wrapped)).toEqual(scheduleOf(of));
  });
});
