import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GateEnvironment } from '../setup/gate-environment.ts';

let environment: GateEnvironment;

beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const WRONG = [0, 6, 2.5, '1', {}, [3], Number.MAX_SAFE_INTEGER];

test.each(WRONG)('a turn is not started with the priority %j [limit.fairness]', async (priority) => {
  const turn = environment.turn([[]]);
  await turn.start({ priority });
  const failure = await turn.result().catch((error: unknown) => error);
  if (!(failure instanceof WorkflowFailedError)) throw failure;
  if (!(failure.cause instanceof ApplicationFailure)) throw failure.cause;
  expect(failure.cause.type).toBe('InvalidStart');
  expect(failure.cause.message).toContain('agentTurn: priority: expected a whole number from 1');
});

test.each(WRONG)('a message of priority %j is refused [limit.fairness]', async (priority) => {
  const turn = environment.turn([[{ tool: 'refund', gate: {} }]]);
  await turn.start();
  await expect.poll(async () => (await turn.status()).waiting.length).toBe(1);
  const refused = await turn.refusal('sendMessage', { messageId: 'm', message: 'more', priority });
  expect(refused).toEqual({
    type: 'InvalidMessage',
    message: expect.stringContaining('sendMessage: priority: '),
  });
  await turn.update('confirm', { confirmed: true });
  await turn.result();
});

test('null is none, as other languages write it [limit.fairness]', async () => {
  const turn = environment.turn([[{ tool: 'look' }]]);
  await turn.start({ priority: null });
  expect((await turn.result()).status).toBe('completed');
});
