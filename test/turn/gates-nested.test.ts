import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { STATUS_QUERY } from '../../src/protocol/names.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const [mira, otto] = await Promise.all(['mira', 'otto'].map(createApproverKey));
if (mira === undefined || otto === undefined) throw new Error('no keys');

let paid: number[] = [];
const parameters = z.object({ amount: z.number() });
const pay = tool({
  name: 'pay',
  description: 'd',
  parameters,
  requireConfirmation: true,
  approval: { approvers: ['mira'] },
  execute: ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  },
});
const two = tool({
  name: 'two',
  description: 'd',
  parameters,
  requireConfirmation: true,
  approval: { approvers: ['mira', 'otto'], quorum: 2 },
  execute: ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  },
});
/** It runs another tool, whose approvals are those of other people. */
const shop = tool({
  name: 'shop',
  description: 'd',
  parameters,
  requireConfirmation: true,
  execute: async (args, toolContext) =>
    (await pay.runAsync({ args, toolContext })) as Record<string, unknown>,
});
const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay, two, shop] });
const app = new App({
  name: 'till',
  rootAgent,
  durable: { approval: { issuers: [mira.issuer, otto.issuer] } },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ apps: [app] });
});
afterAll(() => environment.close());
beforeEach(() => {
  paid = [];
});

/** The nth request of its call, once store and workflow have it. */
async function waits(turn: AskingTurn, n = 1): Promise<ApprovalRow> {
  let request: ApprovalRow | undefined;
  const isWaiting = async () => {
    const { waiting = [] } = await turn.handle.query<TurnStatus>(STATUS_QUERY);
    [request] = await turn.pending();
    return waiting.map(({ requestId }) => requestId === request?.requestId && requestId.endsWith(`.${n}`));
  };
  await expect.poll(isWaiting).toEqual([true]);
  return request as ApprovalRow;
}

async function asks(name: string): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name, args: { amount: 40 } }]]));
  return await AskingTurn.start(environment, { app: 'till' });
}

async function by(
  { issuer, approver, privateKey }: ApproverKey,
  { requestId, argsDigest, session }: ApprovalRow,
  given: Confirm = { confirmed: true },
): Promise<Confirm> {
  const claims = { issuer, approver, session, requestId, argsDigest, decision: decisionOf(given) };
  return { requestId, ...given, attestation: await signDecision({ ...claims, channel: 'test' }, privateKey) };
}

describe('approvals', () => {
  test('of a tool that runs another one are none of those who approve that one [confirm.default]', async () => {
    const turn = await asks('shop');
    await waits(turn);
    expect(await turn.confirm({ confirmed: true })).toMatchObject({ status: 'approved' });
    const request = await waits(turn, 2);
    expect(request.terms).toEqual({ approvers: ['mira'] });
    expect(await turn.confirm({ confirmed: true })).toMatchObject({ status: 'refused' });
    expect(paid).toEqual([]);
    await turn.confirm(await by(mira.key, request));
    expect(await turn.responses()).toEqual([{ paid: 40 }]);
    expect(paid).toEqual([40]);
  });

  test('that the store has count again for a turn that was reset [approval.quorum]', async () => {
    const turn = await asks('two');
    const request = await waits(turn);
    const { workflowId } = turn.handle;
    const { runId } = await turn.handle.describe();
    const { events } = await turn.handle.fetchHistory();
    const asked = events?.findLast(({ workflowTaskCompletedEventAttributes: is }) => is);
    expect(await turn.confirm(await by(mira.key, request))).toMatchObject({ status: 'counted' });
    await environment.temporal.workflowService.resetWorkflowExecution({
      namespace: environment.place.namespace,
      workflowExecution: { workflowId, runId },
      reason: 'test',
      requestId: runId,
      workflowTaskFinishEventId: asked?.eventId ?? null,
      // An operator may leave out what came since.
      resetReapplyExcludeTypes: [1, 2],
    });
    await waits(turn);
    const again = await by(mira.key, request);
    expect(await turn.confirm(again)).toMatchObject({ status: 'counted', approvals: 1 });
    expect(await turn.confirm(again)).toMatchObject({ status: 'duplicate' });
    expect(paid).toEqual([]);
    expect(await turn.confirm(await by(otto.key, request))).toMatchObject({ status: 'approved' });
    await turn.handle.result();
    expect(paid).toEqual([40]);
  });
});
