import { describe, expect, test } from 'vitest';
import { RESULTS, resultProblem } from '../../src/protocol/activity-results.ts';
import * as names from '../../src/protocol/names.ts';
import type { Shape } from '../../src/protocol/shape.ts';
import { GARBAGE } from '../setup/garbage-answers.ts';
import { RECORDED, readHistory } from '../setup/histories.ts';

interface HistoryEvent {
  eventId: string;
  activityTaskScheduledEventAttributes?: { activityType: { name: string }; input?: Payloads };
  activityTaskCompletedEventAttributes?: { scheduledEventId: string; result?: Payloads };
  workflowExecutionCompletedEventAttributes?: { result?: Payloads };
  workflowExecutionStartedEventAttributes?: { workflowType: { name: string } };
}
interface Payloads {
  payloads: { data?: string }[];
}

const jsonOf = (given: Payloads | undefined): unknown => {
  const data = given?.payloads[0]?.data;
  return data === undefined ? undefined : JSON.parse(Buffer.from(data, 'base64').toString());
};

/** What workflows don't look at. */
const IGNORED = new Set<string>([
  names.NOTIFY,
  names.DELIVER_NOTICE,
  names.RECORD_ENTRIES,
  names.REMEMBER_SESSION,
]);

const OWN: Partial<Record<string, Shape>> = {
  [names.CALL_MODEL]: RESULTS.step,
  [names.KEEP_MESSAGES]: RESULTS.keptMessages,
  [names.VERIFY_DECISION]: RESULTS.verifiedDecision,
  [names.CLOSE_CALL]: RESULTS.toolCall,
  [names.RECORD_JOB]: RESULTS.jobReceipt,
  [names.DELIVER_JOB]: RESULTS.deliveredJob,
  [names.DELETE_EXPIRED_SESSIONS]: RESULTS.expiredSessions,
};

function shapeFor(type: string, input: { ending?: unknown; job?: { do?: string; detached?: true } }): Shape {
  if (type === names.SETTLE_STEP) return input.ending === undefined ? RESULTS.settledStep : RESULTS.endedTurn;
  if (input.job?.do === 'end' && input.job.detached) return RESULTS.detachedJob;
  return OWN[type] ?? RESULTS.toolCall;
}

/** Each result of each recorded history, and what it is taken for. */
function recorded(): { what: string; shape: Shape; value: unknown }[] {
  return RECORDED.flatMap((each) => {
    const { history } = readHistory(each) as { history: { events: HistoryEvent[] } };
    const scheduled = new Map(
      history.events.map((event) => [String(event.eventId), event.activityTaskScheduledEventAttributes]),
    );
    return history.events.flatMap((event) => {
      const completed = event.activityTaskCompletedEventAttributes;
      if (completed === undefined) return [];
      const { activityType, input } = scheduled.get(String(completed.scheduledEventId)) ?? {};
      const type = activityType?.name ?? '';
      if (IGNORED.has(type)) return [];
      const shape = shapeFor(type, jsonOf(input) as Parameters<typeof shapeFor>[1]);
      return [{ what: `${each.kind}: ${type}`, shape, value: jsonOf(completed.result) }];
    });
  });
}

describe('what workflows take for the results of activities', () => {
  const all = recorded();

  test('is what activities have given [garbage.genuine]', () => {
    expect(all.length).toBeGreaterThan(200);
    const problems = all.map(({ what, shape, value }) => resultProblem(what, shape, value));
    expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
    for (const shape of [RESULTS.step, RESULTS.toolCall, RESULTS.endedTurn, RESULTS.verifiedDecision])
      expect(all.some((one) => one.shape === shape)).toBe(true);
  });

  test('may have empty texts, and fields that nobody knows [garbage.genuine]', () => {
    const outcome = { status: 'failed', error: { code: 'X', message: '' }, usage: {}, other: [] };
    const failed = { v: 9, kind: 'failed', session: '', seq: 0, from: 0, agent: '', outcome, other: null };
    expect(resultProblem('x', RESULTS.step, failed)).toBeUndefined();
    const { agent: _agent, ...unnamed } = failed;
    expect(resultProblem('x', RESULTS.step, unnamed)).toBeUndefined();
    expect(resultProblem('x', RESULTS.toolCall, { response: {}, other: 1 })).toBeUndefined();
    expect(resultProblem('x', RESULTS.verifiedDecision, { counts: false })).toBeUndefined();
  });

  test.each([
    ['step', { kind: 'calls' }, 'result.session: expected a string, got nothing'],
    ['step', { kind: 5 }, 'result.kind: expected calls, agents, final, failed, finished, behind, got number'],
    ['stepOfChild', { kind: 'behind', inbox: [] }, 'result.kind: expected calls, agents, final, failed'],
    ['toolCall', { v: 1 }, 'result: expected an object with response, parks, runs, asks, ended, got object'],
    ['toolCall', { parks: null }, 'result.parks: expected an object, got null'],
    ['toolCall', { asks: { requestId: 5 } }, 'result.asks.requestId: expected a string of 1 to 1000'],
    ['endedTurn', { seq: 1, from: 1 }, 'result.outcome: expected an object, got nothing'],
    ['keptMessages', { messages: {} }, 'result.messages: expected an array, got object'],
    ['verifiedDecision', { counts: true }, 'result.by: expected an object, got nothing'],
    ['turn', { status: 'x', events: [] }, 'result.events: expected an object, got a list of 0'],
  ] as const)('%s: %o is told by its field and its shape [garbage.told]', (which, value, problem) => {
    const text = resultProblem('activity a', RESULTS[which], value);
    expect(text).toContain(`activity a gave a result that can’t be used: ${problem}`);
  });

  test('a call without a schedule of its tool is told by its place [garbage.told]', () => {
    const calls = [{ callKey: 'k', callId: '', tool: 'secret', args: {} }];
    const step = { kind: 'calls', session: '', seq: 0, usage: {}, calls, maxParallelCalls: 1 };
    const problem = (schedules: object) => resultProblem('x', RESULTS.step, { ...step, schedules });
    expect(problem({})).toContain('result.schedules of calls[0]: expected an object, got nothing');
    expect(problem({ secret: { startToClose: 0 } })).toContain('expected milliseconds, more than 0');
    expect(problem({ secret: { startToClose: 1, scheduleToClose: 1 } })).toBeUndefined();
  });

  test('no garbage is quoted [garbage.told]', () => {
    for (const value of GARBAGE) {
      for (const shape of Object.values(RESULTS))
        expect(resultProblem('x', shape, value) ?? '').not.toContain('planted');
    }
  });
});
