import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { jobIdOf, runKeyOfCall } from '../../src/protocol/identity.ts';
import type { JobTask } from '../../src/protocol/job.ts';
import type { CallModelInput, ToolCallInput } from '../../src/protocol/step.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** What tools have run with, and hooks were asked about. */
let ran: unknown[] = [];
let hooked: unknown[] = [];
const model = 'gemini-2.5-flash';
const parameters = z.object({ amount: z.number() });
const approval = { approvers: ['mira'], allowEdit: true } as const;
const gated = { requireConfirmation: true, approval } as const;
const runs = ({ amount }: { amount: number }) => {
  ran.push(amount);
  return { wired: amount };
};
const hears =
  (hook: string) =>
  ({ args }: { args: Readonly<Record<string, unknown>> }) => {
    hooked.push([hook, args.amount]);
    return { shipped: true };
  };
const hooks = { poll: hears('poll'), pollInterval: '10 minutes', cancel: hears('cancel') } as const;
let mira: ApproverKey;
let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  const { key, issuer } = await createApproverKey('mira');
  mira = key;
  const wire = tool({ name: 'wire', description: 'd', parameters, execute: runs });
  const responder = new LlmAgent({ name: 'responder', model, description: 't', tools: [wire] });
  const clerk = new LlmAgent({ name: 'clerk', model, description: 'c', tools: [wire] });
  const rootAgent = new LlmAgent({
    name: 'cashier',
    model,
    tools: [
      new AgentTool({ agent: responder, ...gated }),
      new AgentTool({ agent: clerk }),
      tool({ name: 'pay', description: 'd', parameters, execute: runs, ...gated }),
      new LongRunningFunctionTool({
        ...{ name: 'order', description: 'd', parameters, ...gated, ...hooks },
        execute: (args) => void ran.push(args.amount),
      }),
      new LongRunningFunctionTool({
        ...{ name: 'shipment', description: 'd', parameters, ...gated, ...hooks },
        requireConfirmation: () => false,
        execute: (args, context) => {
          if (context.toolConfirmation?.confirmed !== true)
            return context.requestConfirmation({ hint: 'Ship?' });
          ran.push(args.amount);
        },
      }),
    ],
  });
  const durable = { approval: { issuers: [issuer] } };
  environment = await openTurnEnvironment({ apps: [new App({ name: 'bank', rootAgent, durable })] });
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

async function asks(name: string, args: Record<string, unknown>): Promise<[AskingTurn, ApprovalRow]> {
  environment.gemini.reset(stepCalls([[{ name, args }]]));
  const turn = await AskingTurn.start(environment, { app: 'bank' });
  const [request] = await turn.pending();
  return [turn, request as ApprovalRow];
}

async function approved(request: ApprovalRow, args?: Record<string, unknown>): Promise<Confirm> {
  const { session, requestId, argsDigest } = request;
  const said = { confirmed: true, ...(args === undefined ? {} : { args }) };
  const edited = args === undefined ? {} : { editedArgsDigest: digestOf(args) };
  const decided = { session, requestId, argsDigest, decision: decisionOf(said), ...edited };
  const claims = { issuer: mira.issuer, approver: 'mira', ...decided, channel: 'test' };
  return { requestId, ...said, attestation: await signDecision(claims, mira.privateKey) };
}

function startOf(request: ApprovalRow, more: Partial<ToolCallInput> = {}): ToolCallInput {
  const { session, runKey, callKey, callId, args } = request;
  return {
    ...{ v: 1, session, runKey, callKey, callId, agent: 'cashier', prepared: true, args: { value: args } },
    ...more,
  };
}

/** The first step of the agent of a call. */
function childOf(
  turn: AskingTurn,
  { session, runKey, callKey, callId, tool: agent }: Omit<ApprovalRow, 'requestId'>,
  request: string,
  attempt = 1,
): CallModelInput {
  const child = runKeyOfCall(runKey, callKey, { agent, attempt });
  return {
    ...{ v: 1, invocationId: child, runKey: child, step: 1, seq: 0, agent, root: 'cashier' },
    identity: { ...turn.names, sessionId: child, messageId: child },
    fence: { startedAt: Date.now(), invocation: 1 },
    within: [{ agent: 'cashier', tool: agent }],
    path: ['cashier', agent],
    call: { session, runKey, callKey, callId, tool: agent, args: { value: { request } } },
  };
}

function tasksOf(jobId: string): JobTask[] {
  return [
    { do: 'wait', jobId },
    { do: 'end', jobId, why: 'ended' },
    { do: 'end', jobId, why: 'cancelled', text: 'done' },
  ];
}

async function saidTo(turn: AskingTurn): Promise<unknown[]> {
  const [child] = await environment.store.turns.listChildren(turn.names);
  if (child === undefined) return [];
  const events = await environment.store.sessions.readEvents({ ...turn.names, sessionId: child.runKey });
  return events[0]?.event.content?.parts ?? [];
}

async function refusal(type: string, input: object): Promise<unknown> {
  const { refused } = (await foreigner.schedule(type, input)) as { refused?: unknown };
  return refused;
}

const NOT_PROVEN = 'HOLDFAST_APPROVAL_NOT_PROVEN';

describe('the agent of a call that has to be approved runs by the approval alone [approval.proven]', () => {
  test('and not while people decide, whoever begins it', async () => {
    const [turn, request] = await asks('responder', { request: 'wire 41' });
    const child = childOf(turn, request, 'wire 999');
    expect(await refusal('holdfast.callModel', child)).toBe(NOT_PROVEN);
    expect(await refusal('responder', startOf(request))).toBe(NOT_PROVEN);
    expect(await refusal('responder', startOf(request, { prepared: undefined }))).toBe(NOT_PROVEN);
    expect(await refusal('holdfast.callModel', child)).toBe(NOT_PROVEN);
    expect(await environment.store.turns.listChildren(turn.names)).toEqual([]);
    expect(await turn.requests()).toHaveLength(1);

    environment.gemini.reset(stepCalls([[{ name: 'wire', args: { amount: 41 } }]]));
    await turn.confirm(await approved(request));
    expect(await turn.responses()).toEqual([{ result: 'done' }]);
    expect(await saidTo(turn)).toEqual([{ text: 'wire 41' }]);
    expect(ran).toEqual([41]);
    // Nor again, once it has.
    for (const attempt of [1, 2]) {
      const again = childOf(turn, request, 'wire 41', attempt);
      expect(await refusal('holdfast.callModel', again)).toBe(NOT_PROVEN);
    }
  });

  test('with the arguments that it has, and no others', async () => {
    const [turn, request] = await asks('responder', { request: 'wire 41' });
    environment.gemini.reset(stepCalls([[{ name: 'wire', args: { amount: 40 } }]]));
    await turn.confirm(await approved(request, { request: 'wire 40' }));
    expect(await turn.responses()).toEqual([{ result: 'done' }]);
    expect(await saidTo(turn)).toEqual([{ text: 'wire 40' }]);
  });

  test('and that of any other call with what was planned', async () => {
    const [turn, request] = await asks('pay', { amount: 41 });
    const { app, sessionId } = turn.names;
    const payer = { ...childOf(turn, { ...request, tool: 'clerk' }, 'wire 41') };
    expect(await refusal('holdfast.callModel', payer)).toBe(NOT_PROVEN);
    environment.gemini.reset(stepCalls([[{ name: 'clerk', args: { request: 'wire 7' } }]]));
    const other = await AskingTurn.start(environment, { app: 'bank' });
    await expect.poll(() => saidTo(other)).toEqual([{ text: 'wire 7' }]);
    await other.result();
    const [found] = await environment.store.turns.listChildren(other.names);
    const { parent: session = '', callKey = '' } = found ?? {};
    const [runKey = ''] = callKey.split('.');
    const call = { ...request, session, callKey, runKey, tool: 'clerk' };
    const child = childOf(other, call, 'wire 999');
    const elsewhere = { ...child, identity: { app, userId: 'bob', sessionId, messageId: 'm' } };
    expect(await refusal('holdfast.callModel', childOf(other, call, 'wire 7', 2))).toBe(NOT_PROVEN);
    expect(await refusal('holdfast.callModel', elsewhere)).toBe('HOLDFAST_MISPLACED_STEP');
    expect(await saidTo(other)).toEqual([{ text: 'wire 7' }]);
  });
});

describe('a job that has to be approved has no hooks before it is [approval.proven]', () => {
  test('nor does it settle its call', async () => {
    const [turn, request] = await asks('order', { amount: 41 });
    const { session, callKey, requestId } = request;
    const jobId = jobIdOf(session, callKey);
    const starts = [startOf(request), startOf(request, { prepared: undefined })];
    for (const start of starts) expect(await refusal('order', start)).toBe(NOT_PROVEN);
    expect(await environment.store.jobs.find(jobId)).toBeUndefined();
    for (const job of tasksOf(jobId)) {
      expect(await refusal('order', startOf(request, { job }))).toBe('HOLDFAST_JOB_LOST');
    }
    expect([ran, hooked, await turn.requests()]).toMatchObject([[], [], [{ requestId, status: 'pending' }]]);

    await turn.confirm(await approved(request));
    expect(await turn.responses()).toEqual([{ shipped: true }]);
    expect([ran, hooked]).toEqual([[41], [['poll', 41]]]);
  });

  test('where its row is there before people have let it run', async () => {
    const [turn, request] = await asks('shipment', { amount: 41 });
    const jobId = jobIdOf(request.session, request.callKey);
    expect(await environment.store.jobs.find(jobId)).toMatchObject({ mode: 'started', status: 'running' });
    for (const job of tasksOf(jobId)) {
      expect(await refusal('shipment', startOf(request, { job }))).toBe('HOLDFAST_JOB_LOST');
    }
    expect([ran, hooked]).toEqual([[], []]);
    await turn.confirm(await approved(request));
    expect(await turn.responses()).toEqual([{ shipped: true }]);
    expect([ran, hooked]).toEqual([[41], [['poll', 41]]]);
  });
});
