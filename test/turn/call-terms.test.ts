import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { signDecision } from '../../src/approvals/decision-attestation.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { STATUS_QUERY } from '../../src/protocol/names.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { RunAsyncToolRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const [mira, jo] = await Promise.all(['mira', 'jo'].map(createApproverKey));
if (mira === undefined || jo === undefined) throw new Error('no keys');

let paid: number[] = [];
let asksFirst = false;
const parameters = z.object({ amount: z.number() });
const pay = tool({
  name: 'pay',
  description: 'd',
  parameters,
  approval: { approvers: ['mira', 'jo'], allowEdit: true },
  requireConfirmationProvider: ({ amount }) => {
    if (amount <= 100) return false;
    if (amount === 666) return { approval: { quorum: 3 } };
    return amount > 1_000 ? { hint: 'two of you', approval: { quorum: 2 } } : true;
  },
  execute: ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  },
});
const asksAgain = tool({
  name: 'asks_again',
  description: 'd',
  parameters,
  requireConfirmationProvider: () => ({ approval: { approvers: ['mira'] } }),
  execute: ({ amount }, context) => {
    if (context.toolConfirmation?.hint !== 'really?') return context.requestConfirmation({ hint: 'really?' });
    paid.push(amount);
    return { paid: amount };
  },
});
const agent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay, asksAgain] });

/** As a policy does that asks about everything. */
class Asking extends BasePlugin {
  override async beforeToolCallback({ toolContext }: { toolContext: RunAsyncToolRequest['toolContext'] }) {
    if (asksFirst) toolContext.requestConfirmation({ hint: 'by policy' });
    return undefined;
  }
}
const app = new App({
  name: 'till',
  rootAgent: agent,
  plugins: [new Asking('asking')],
  durable: { approval: { issuers: [mira.issuer, jo.issuer] } },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ apps: [app] });
});
beforeEach(() => {
  paid = [];
  asksFirst = false;
});
afterAll(() => environment.close());

async function asked(amount: number, name = 'pay'): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name, args: { amount } }]]));
  return await AskingTurn.start(environment, { app: 'till' });
}

async function approval(
  { session, requestId, argsDigest }: ApprovalRow,
  { key: { issuer, approver, privateKey } }: { key: ApproverKey },
  args?: Record<string, unknown>,
) {
  const attestation = await signDecision(
    {
      ...{ issuer, approver, session, requestId, argsDigest, decision: 'approve', channel: 'test' },
      ...(args === undefined ? {} : { editedArgsDigest: digestOf(args) }),
    },
    privateKey,
  );
  return { requestId, confirmed: true, attestation, ...(args === undefined ? {} : { args }) };
}

async function onlyRequest(turn: AskingTurn): Promise<ApprovalRow> {
  const [request] = await turn.pending();
  if (request === undefined) throw new Error('nothing is asked');
  // What comes before the workflow has heard of it is kept, and says nothing.
  const waiting = async () => (await turn.handle.query<TurnStatus>(STATUS_QUERY)).waiting;
  await expect.poll(waiting).toMatchObject([{ requestId: request.requestId }]);
  return request;
}

describe('terms of one call', () => {
  test('hold for its request beside what the tool says; without any the tool’s own hold [approval.quorum] [approval.approvers]', async () => {
    const dear = await asked(5_000);
    const request = await onlyRequest(dear);
    expect(request).toMatchObject({
      hint: 'two of you',
      terms: { approvers: ['mira', 'jo'], quorum: 2, allowEdit: true },
    });
    expect(await dear.confirm({ confirmed: true })).toMatchObject({ status: 'refused' });
    expect(await dear.confirm(await approval(request, mira))).toMatchObject({
      ...{ status: 'counted', approvals: 1, quorum: 2 },
    });
    expect(paid).toEqual([]);
    expect(await dear.confirm(await approval(request, jo))).toMatchObject({ status: 'approved' });
    expect(await dear.responses()).toEqual([{ paid: 5_000 }]);

    const fair = await asked(500);
    const other = await onlyRequest(fair);
    expect(other.terms).toEqual({ approvers: ['mira', 'jo'], allowEdit: true });
    expect(await fair.confirm({ confirmed: true })).toMatchObject({ status: 'refused' });
    await fair.confirm(await approval(other, jo));
    expect(await fair.responses()).toEqual([{ paid: 500 }]);
    expect(await (await asked(50)).responses()).toEqual([{ paid: 50 }]);
    expect(paid).toEqual([5_000, 500, 50]);
  });

  test('that are wrong keep it from running, and nobody is asked [confirm.require]', async () => {
    const turn = await asked(666);
    expect(await turn.responses()).toEqual([
      {
        error:
          "Error in tool 'pay': requireConfirmationProvider: approval.quorum: 3 approvals of different people, and there are 2 approvers: name more of them",
      },
    ]);
    expect(await turn.requests()).toEqual([]);
    expect(paid).toEqual([]);
  });

  test('are not got around by an edit: to what takes more people none of them can change it [approval.edit]', async () => {
    const turn = await asked(500);
    const request = await onlyRequest(turn);
    const refused = await turn.confirm(await approval(request, mira, { amount: 5_000 }));
    expect(refused).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('takes more approvals, or those of other people'),
    });
    await turn.confirm(await approval(request, mira, { amount: 900 }));
    expect(await turn.responses()).toEqual([{ paid: 900 }]);

    const dear = await asked(5_000);
    const asking = await onlyRequest(dear);
    await dear.confirm(await approval(asking, mira, { amount: 50 }));
    expect(await dear.confirm(await approval(asking, mira))).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('voted otherwise'),
    });
    expect(await dear.confirm(await approval(asking, mira, { amount: 50 }))).toMatchObject({
      status: 'duplicate',
    });
    await dear.confirm(await approval(asking, jo, { amount: 50 }));
    expect(await dear.responses()).toEqual([{ paid: 50 }]);
    expect(paid).toEqual([900, 50]);
  });

  test('hold where a plugin has asked before the tool could [confirm.callbacks]', async () => {
    asksFirst = true;
    const turn = await asked(5_000);
    expect(await onlyRequest(turn)).toMatchObject({ hint: 'by policy', terms: { quorum: 2 } });
    await turn.handle.signal('interrupt', {});
    await turn.result();
  });

  test('hold for what the call asks later [confirm.inside]', async () => {
    const turn = await asked(5, 'asks_again');
    const first = await onlyRequest(turn);
    await turn.confirm(await approval(first, mira));
    await expect.poll(async () => (await turn.pending()).map(({ hint }) => hint)).toEqual(['really?']);
    const second = await onlyRequest(turn);
    expect(second.terms).toEqual({ approvers: ['mira'] });
    expect(await turn.confirm({ requestId: second.requestId, confirmed: true })).toMatchObject({
      status: 'refused',
    });
    await turn.confirm(await approval(second, mira));
    expect(await turn.responses()).toEqual([{ paid: 5 }]);
  });
});
