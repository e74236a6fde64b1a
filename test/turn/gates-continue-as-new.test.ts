import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const STEPS = 8;

const paid: unknown[] = [];
const pay = tool({
  name: 'pay',
  description: 'pays',
  requireConfirmation: true,
  execute: (_args, { idempotencyKey }) => {
    paid.push(idempotencyKey);
    return { paid: true };
  },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay] })],
    script: stepCalls(Array.from({ length: STEPS }, () => [{ name: 'pay' }])),
    serverConfig: SHORT_RUNS,
  });
});
afterAll(() => environment.close());

test('what was answered is known by the runs that come after: the same answer is harmless, another is refused [turn.continueAsNew] [confirm.once]', async () => {
  const turn = await AskingTurn.start(environment);
  const { runId } = await turn.handle.describe();
  const answered: { requestId: string; confirmed: boolean }[] = [];
  for (let step = 1; step <= STEPS; step += 1) {
    let requestId = '';
    const asks = async () => {
      requestId = (await turn.handle.query<TurnStatus>('status')).waiting[0]?.requestId ?? '';
      return requestId.endsWith(`.${step}.0.1`);
    };
    await expect.poll(asks).toBe(true);
    for (const one of answered) {
      expect(await turn.confirm(one)).toMatchObject({ status: 'duplicate' });
      const opposite = { ...one, confirmed: !one.confirmed };
      await expect(turn.handle.executeUpdate('confirm', { args: [opposite] })).rejects.toMatchObject({
        cause: { type: 'AlreadyAnswered' },
      });
    }
    const decision = { requestId, confirmed: step % 2 === 1 };
    expect(await turn.confirm(decision)).toMatchObject({
      status: decision.confirmed ? 'approved' : 'rejected',
    });
    answered.push(decision);
  }
  expect((await turn.result()).status).toBe('completed');
  expect((await turn.handle.describe()).runId).not.toBe(runId);
  expect(new Set(paid).size).toBe(STEPS / 2);
  expect(paid).toHaveLength(STEPS / 2);
  const rows = await turn.requests();
  expect(rows.map(({ status }) => status)).toEqual(
    answered.map(({ confirmed }) => (confirmed ? 'approved' : 'rejected')),
  );
});
