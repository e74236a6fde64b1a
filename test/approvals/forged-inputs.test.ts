import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { AuditEntry } from '../../src/protocol/gate.ts';
import { jobIdOf, sha256Digest } from '../../src/protocol/identity.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** What tools have run with, and hooks were asked about. */
let ran: unknown[] = [];
let hooked: unknown[] = [];
let isFirst = true;
const EVIL = 1_000_000;
const MEMO = 'x'.repeat(60_000);
const parameters = z.object({ amount: z.number(), memo: z.string().optional() });
const pays = (args: { amount: number }) => {
  ran.push(args.amount);
  return { paid: args.amount };
};
const base = { description: 'd', parameters, execute: pays, approval: { approvers: ['mira'] } } as const;
const gated = { ...base, requireConfirmation: true } as const;
const tools = [
  tool({ ...gated, name: 'pay' }),
  tool({
    ...gated,
    name: 'asking',
    execute: async (args, context) => {
      await context.requestInput({ message: 'Which account?' });
      return pays(args);
    },
  }),
  tool({
    ...base,
    name: 'failing',
    requireConfirmation: ({ amount }) => amount > 100,
    retry: { maximumAttempts: 5, initialInterval: '8 seconds' },
    execute: (args) => {
      if (!isFirst) return pays(args);
      isFirst = false;
      throw new Error('not yet');
    },
  }),
  new LongRunningFunctionTool({
    ...gated,
    name: 'order',
    execute: () => ({ status: 'pending' }),
    poll: ({ args }) => {
      hooked.push(args.amount);
      return undefined;
    },
    pollInterval: '10 minutes',
  }),
];
let mira: ApproverKey;
let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  const { key, issuer } = await createApproverKey('mira');
  mira = key;
  const model = 'gemini-2.5-flash';
  const cashier = new LlmAgent({ name: 'cashier', model, tools });
  const vault = new LlmAgent({
    name: 'vault',
    model,
    tools: [tool({ ...gated, name: 'pay', execute: () => void ran.push('the vault') })],
  });
  const durable = { approval: { issuers: [issuer] } };
  environment = await openTurnEnvironment({
    apps: [
      new App({ name: 'till', rootAgent: cashier, durable }),
      new App({ name: 'bank', rootAgent: vault, durable }),
    ],
  });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});
beforeEach(() => {
  ran = [];
  hooked = [];
});

async function asks(name: string): Promise<[AskingTurn, ApprovalRow]> {
  environment.gemini.reset(stepCalls([[{ name, args: { amount: 41 } }]]));
  const turn = await AskingTurn.start(environment, { app: 'till' });
  const [request] = await turn.pending();
  return [turn, request as ApprovalRow];
}

async function approved(request: ApprovalRow): Promise<Confirm & { attestation: string }> {
  const { session, requestId, argsDigest } = request;
  const decided = { session, requestId, argsDigest, decision: decisionOf({ confirmed: true }) };
  const claims = { issuer: mira.issuer, approver: 'mira', ...decided, channel: 'test' };
  return { requestId, confirmed: true, attestation: await signDecision(claims, mira.privateKey) };
}

/** A call that was approved, and asks something else while it runs. */
async function asksMore(): Promise<[AskingTurn, ApprovalRow]> {
  const [turn, request] = await asks('asking');
  await turn.confirm(await approved(request));
  await expect.poll(async () => (await turn.pending())[0]?.kind).toBe('input');
  const [question] = await turn.pending();
  return [turn, question as ApprovalRow];
}

const answer = ({ requestId }: ApprovalRow, more: Partial<AuditEntry> = {}): AuditEntry => ({
  ...{ entryId: `${requestId}/9`, requestId, kind: 'answered', at: Date.now(), response: '7' },
  ...more,
});

function start(
  { session, runKey, callKey, callId, requestId, args }: ApprovalRow,
  entries: AuditEntry[],
  more: Partial<ToolCallInput> = {},
): ToolCallInput {
  return {
    ...{ v: 1, session, runKey, callKey, callId, agent: 'cashier', prepared: true },
    ...{ args: { value: args }, answered: { requestId, entries } },
    ...more,
  };
}

const REFUSED = { refused: 'HOLDFAST_APPROVAL_NOT_PROVEN' };

describe('whoever has Temporal alone changes no arguments that were approved [approval.proven]', () => {
  test('by an answer to another question of the call', async () => {
    const [, question] = await asksMore();
    const forged = answer(question, { args: { amount: EVIL } });
    expect(await foreigner.schedule('asking', start(question, [forged]))).toHaveProperty('result');
    expect(ran).toEqual([41]);
  });

  test('by recording such an answer', async () => {
    const [turn, question] = await asksMore();
    const { session, requestId } = question;
    const entries = [answer(question, { args: { amount: EVIL } })];
    await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries });
    expect(await environment.store.approvals.findRequest(session, requestId)).not.toHaveProperty(
      'editedArgs',
    );
    await turn.input('7');
    await turn.result();
    expect(ran).toEqual([41]);
  });

  test('by approving a question, or answering what is to be approved', async () => {
    const [asking, question] = await asksMore();
    const [paying, gate] = await asks('pay');
    for (const [request, kind] of [[question, 'approved'] as const, [gate, 'answered'] as const]) {
      const entries = [answer(request, { kind })];
      const { session, requestId, tool: name } = request;
      await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries });
      expect(await foreigner.schedule(name, start(request, entries))).toMatchObject(REFUSED);
      expect(await environment.store.approvals.findRequest(session, requestId)).toMatchObject({
        status: 'pending',
        history: [],
      });
    }
    await asking.input('7');
    await asking.result();
    expect(ran).toEqual([41]);
    await paying.handle.terminate();
  });

  test('by saying that the call was not prepared', async () => {
    const [turn, question] = await asksMore();
    const args = { value: { amount: EVIL } };
    for (const more of [{ args }, {}]) {
      const input = start(question, [answer(question)], { ...more, prepared: false as never });
      expect(await foreigner.schedule('asking', input)).toMatchObject(REFUSED);
    }
    expect(ran).toEqual([]);
    await turn.input('7');
    await turn.result();
    expect(ran).toEqual([41]);
  });

  if (isDeep) {
    test('beside a reference to those that had to be approved by nobody', async () => {
      isFirst = true;
      environment.gemini.reset(stepCalls([[{ name: 'failing', args: { amount: 7, memo: MEMO } }]]));
      const turn = await AskingTurn.start(environment, { app: 'till' });
      await expect.poll(() => isFirst).toBe(false);
      const { events } = await turn.handle.fetchHistory();
      const scheduled = events?.findLast(
        (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'failing',
      );
      const [payload] = scheduled?.activityTaskScheduledEventAttributes?.input?.payloads ?? [];
      const input = JSON.parse(Buffer.from(payload?.data ?? []).toString());
      expect(input.args).toHaveProperty('ref');
      const args = { ...input.args, value: { amount: EVIL, memo: MEMO } };
      await foreigner.schedule('failing', { ...input, args });
      expect(ran).not.toContain(EVIL);
      await turn.result();
      expect(ran).toEqual([7]);
    });
  }
});

describe('whoever has Temporal alone [approval.proven]', () => {
  test('runs no tool of another agent by an approval', async () => {
    const [turn, request] = await asks('pay');
    const decision = await approved(request);
    const { session, callKey, callId, requestId, invocationId } = request;
    const check = {
      ...{ v: 1, session, agent: 'cashier', invocationId, callKey, callId, tool: 'pay', requestId },
      ...{ kind: 'confirmation', entryId: `${requestId}/1`, at: Date.now(), confirm: decision },
    };
    expect(await foreigner.schedule('holdfast.verifyDecision', check)).toMatchObject({
      result: { counts: true },
    });
    const { attestation } = decision;
    const digest = sha256Digest(attestation.slice(0, attestation.lastIndexOf('.')));
    const by = { principal: 'mira', verified: true, attestation: digest };
    const entry = answer(request, { kind: 'approved', by });
    const input = start(request, [entry], { agent: 'vault', root: 'vault' });
    expect(await foreigner.schedule('pay', input)).toMatchObject(REFUSED);
    expect(ran).toEqual([]);
    expect(await foreigner.schedule('pay', start(request, [entry]))).toHaveProperty('result');
    expect(ran).toEqual([41]);
    await turn.handle.terminate();
  });

  test('settles no call by a job that it has not, and asks hooks about nothing else', async () => {
    const [ordering, order] = await asks('order');
    await ordering.confirm(await approved(order));
    await expect.poll(() => hooked).toEqual([41]);
    const jobId = jobIdOf(order.session, order.callKey);
    const look = { ...start(order, []), args: { value: { amount: EVIL } }, job: { do: 'wait', jobId } };
    expect(await foreigner.schedule('order', look)).toMatchObject({ refused: 'HOLDFAST_JOB_PENDING' });
    expect(hooked).toEqual([41, 41]);
    await environment.client.jobs.complete(jobId, { result: { paid: 'made up' } });
    const [turn, request] = await asks('pay');
    for (const id of [jobId, jobIdOf(request.session, request.callKey)]) {
      const end = { ...start(request, []), job: { do: 'end', jobId: id, why: 'ended' } };
      expect(await foreigner.schedule('pay', end)).toMatchObject({ refused: 'HOLDFAST_JOB_LOST' });
    }
    await turn.confirm(await approved(request));
    expect(await turn.responses()).toEqual([{ paid: 41 }]);
  });
});
