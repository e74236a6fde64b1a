import { describe, expect, test } from 'vitest';
import { type Check, take } from '../../src/contract/check.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';

const WHOSE = { app: 'shop', userId: 'ada', sessionId: 's-1' };
const HOUR = 3_600_000;
const JOB = {
  ...WHOSE,
  ...{ session: 'x', turnWorkflowId: 'shop/ada/s-1', agent: 'clerk', runKey: 'e-1', invocationId: 'e-1' },
  ...{ callKey: 'e-1.1.0', tool: 'train', callId: 'c1', args: {} },
  job: { jobId: 'job-1', timeLeft: -1, look: { startToClose: HOUR } },
  schedule: { startToClose: HOUR, scheduleToClose: HOUR, heartbeat: HOUR },
};

function fieldOf(check: keyof typeof WORKFLOW_CHECKS, given: unknown): string | undefined {
  const of: Check = WORKFLOW_CHECKS[check];
  return take(of, given, { nullIsAbsent: true }).problem?.field;
}

describe('the start of a job', () => {
  test('takes what Temporal schedules, and a deadline that has passed', () => {
    expect(fieldOf('toolJobStart', JOB)).toBeUndefined();
  });

  test.for<[string, object]>([
    ['job.timeLeft', { job: { ...JOB.job, timeLeft: 1e300 } }],
    ['schedule.scheduleToClose', { schedule: { ...JOB.schedule, scheduleToClose: 1e300 } }],
    ['job.look.startToClose', { job: { ...JOB.job, look: { startToClose: 1e300 } } }],
    ['tool', { tool: '😀'.repeat(300) }],
  ])('refuses what Temporal would refuse for ever: %s', ([field, wrong]) => {
    expect(fieldOf('toolJobStart', { ...JOB, ...wrong })).toBe(field);
  });
});

test.for(['app', 'userId', 'sessionId'])('a turn and its job have one bound of %s', (name) => {
  const turn = { ...WHOSE, message: 'hi' };
  for (const [length, field] of [[1_000, undefined] as const, [1_001, name] as const]) {
    expect(fieldOf('turnStart', { ...turn, [name]: 'x'.repeat(length) })).toBe(field);
    expect(fieldOf('toolJobStart', { ...JOB, [name]: 'x'.repeat(length) })).toBe(field);
  }
});

test.for(['interrupt', 'cancelCall'] as const)('an order of %s has a short id, if any', (order) => {
  expect(fieldOf(order, { orderId: null })).toBeUndefined();
  expect(fieldOf(order, { orderId: 'x'.repeat(200) })).toBeUndefined();
  expect(fieldOf(order, { orderId: 'x'.repeat(201) })).toBe('orderId');
  expect(fieldOf(order, { orderId: 7 })).toBe('orderId');
});
