import { describe, expect, test } from 'vitest';
import { type DurableOptions, resolveDurableOptions } from '../../src/tools/durable-options.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { refusal } from './refusal.ts';

const pay = (options: object) => tool({ name: 'pay', description: '', execute: () => 1, ...options }).durable;

test('defaults [tool.durable]', () => {
  expect(resolveDurableOptions({})).toEqual({
    timeout: 300_000,
    totalTimeout: 3_600_000,
    heartbeatTimeout: 10_000,
    retry: { maximumAttempts: 3, initialInterval: 1_000, maximumInterval: 30_000, backoffCoefficient: 2 },
    idempotent: true,
    onUnknownOutcome: 'retry',
    isConcurrencySafe: true,
    execution: 'activity',
    sensitive: false,
    needsTranscript: false,
  });
});

test.each<[DurableOptions, object]>([
  [{ timeout: 1500 }, { timeout: 1500 }],
  [
    { timeout: '90s', totalTimeout: '2 hours' },
    { timeout: 90_000, totalTimeout: 7_200_000 },
  ],
  [{ timeout: '0.4ms' }, { timeout: 1 }],
  [{ timeout: 1000, totalTimeout: 1000 }, { totalTimeout: 1000 }],
  [{ heartbeatTimeout: '1m' }, { heartbeatTimeout: 60_000 }],
  [{ idempotent: false }, { idempotent: false, onUnknownOutcome: 'fail' }],
  [{ idempotent: false, onUnknownOutcome: 'retry' }, { onUnknownOutcome: 'retry' }],
  [{ idempotent: false, onUnknownOutcome: 'ask' }, { onUnknownOutcome: 'ask' }],
  [{ execution: 'inline' }, { execution: 'inline', timeout: 10_000 }],
  [{ execution: 'inline', timeout: '30s' }, { timeout: 30_000 }],
  [{ execution: 'auto' }, { execution: 'auto', timeout: 300_000 }],
  [{ sensitive: ['card', 'result'] }, { sensitive: ['card', 'result'] }],
  [{ retry: { maximumAttempts: 1 } }, { retry: { maximumAttempts: 1, initialInterval: 1_000 } }],
  [{ retry: { initialInterval: '1m' } }, { retry: { initialInterval: 60_000, maximumInterval: 60_000 } }],
  [{ retry: { maximumInterval: 200 } }, { retry: { initialInterval: 200, maximumInterval: 200 } }],
  [{ retry: { backoffCoefficient: 1 } }, { retry: { backoffCoefficient: 1 } }],
  [
    { timeout: undefined, retry: undefined, sensitive: undefined },
    { timeout: 300_000, sensitive: false },
  ],
])('%j', (options, resolved) => expect(resolveDurableOptions(options)).toMatchObject(resolved));

describe('refuses, naming the field [define.refuse]', () => {
  test.each<[object, string, string]>([
    [{ timeout: 0 }, 'timeout', 'must be longer than 0'],
    [{ timeout: -1 }, 'timeout', 'must be longer than 0'],
    [{ timeout: '-5s' }, 'timeout', 'must be longer than 0'],
    [{ timeout: Number.NaN }, 'timeout', `expected milliseconds or a duration like '30s' or '5 minutes'`],
    [{ timeout: Number.POSITIVE_INFINITY }, 'timeout', 'must be at most 10 years'],
    [{ timeout: '5 parsecs' }, 'timeout', `expected milliseconds or a duration like '30s' or '5 minutes'`],
    [{ timeout: '' }, 'timeout', `expected milliseconds or a duration like '30s' or '5 minutes'`],
    [{ timeout: null }, 'timeout', `expected milliseconds or a duration like '30s' or '5 minutes', got null`],
    [{ timeout: {} }, 'timeout', `expected milliseconds or a duration like '30s' or '5 minutes', got object`],
    [{ timeout: '2h' }, 'totalTimeout', '1 h (the default) is shorter than the timeout of one attempt, 2 h'],
    [
      { timeout: '90s', totalTimeout: 500 },
      'totalTimeout',
      '500 ms is shorter than the timeout of one attempt, 90 s',
    ],
    [{ heartbeatTimeout: 0 }, 'heartbeatTimeout', 'must be longer than 0'],
    [{ retry: 3 }, 'retry', 'expected an object, got number'],
    [{ retry: { maximumAttempts: 0 } }, 'retry.maximumAttempts', 'expected a whole number, 1 or more'],
    [{ retry: { maximumAttempts: 1.5 } }, 'retry.maximumAttempts', 'expected a whole number, 1 or more'],
    [
      { retry: { maximumAttempts: '3' } },
      'retry.maximumAttempts',
      'expected a whole number, 1 or more, got string',
    ],
    [{ retry: { initialInterval: 0 } }, 'retry.initialInterval', 'must be longer than 0'],
    [
      { retry: { initialInterval: 100, maximumInterval: 10 } },
      'retry.maximumInterval',
      'must not be shorter than initialInterval',
    ],
    [{ retry: { backoffCoefficient: 0.5 } }, 'retry.backoffCoefficient', 'expected a number, 1 or more'],
    [{ retry: { maxAttempts: 3 } }, 'retry.maxAttempts', 'unknown option; did you mean "maximumAttempts"?'],
    [{ retry: { nonRetryableErrorTypes: [] } }, 'retry.nonRetryableErrorTypes', 'unknown option'],
    [{ idempotent: 'no' }, 'idempotent', 'expected true or false, got string'],
    [{ onUnknownOutcome: 'give up' }, 'onUnknownOutcome', `expected 'retry' or 'fail' or 'ask'`],
    [
      { onUnknownOutcome: 'retyr' },
      'onUnknownOutcome',
      `expected 'retry' or 'fail' or 'ask'; did you mean "retry"?`,
    ],
    [{ isConcurrencySafe: 1 }, 'isConcurrencySafe', 'expected true or false, got number'],
    [{ execution: 'remote' }, 'execution', `expected 'activity' or 'inline' or 'auto'`],
    [{ needsTranscript: 'yes' }, 'needsTranscript', 'expected true or false, got string'],
    [{ summary: 'pays' }, 'summary', 'expected a function of the arguments, got string'],
    [{ sensitive: 'card' }, 'sensitive', 'expected true, false or a list of argument names, got string'],
    [{ sensitive: ['', 1] }, 'sensitive[0]', `expected the name of an argument, or 'result', got ''`],
    [{ timeoutt: 5 }, 'timeoutt', 'unknown option; did you mean "timeout"?'],
    [{ time_out: 5 }, 'time_out', 'unknown option; did you mean "timeout"?'],
    [{ retries: 5 }, 'retries', 'unknown option; did you mean "retry"?'],
    [{ zzzzzzzz: 5 }, 'zzzzzzzz', 'unknown option'],
  ])('%j', (options, field, problem) => {
    const error = refusal(() => pay(options));
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION', field, problem });
    expect(error.message).toContain(`${field}: ${problem}`);
  });
});

test('the resolved options are frozen [tool.durable]', () => {
  const durable = resolveDurableOptions({ sensitive: ['a'] });
  expect([durable, durable.retry, durable.sensitive].every(Object.isFrozen)).toBe(true);
});
