import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { App } from '../../src/app/app.ts';
import { createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import type { DecisionReceipt } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { REQUEST_CONFIRMATION_FUNCTION_CALL_NAME } from '../../src/events/request-calls.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { callKeyOf, childWorkflowIdOf, runKeyOfCallKey } from '../../src/protocol/identity.ts';
import type { CancelReceipt, MessageReceipt } from '../../src/protocol/message.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { calling, Speaking } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function open(rootAgent: BaseAgent, issuers: Issuer[] = []) {
  const app = new App({ name: 'test', rootAgent, durable: { approval: { issuers } } });
  const opened = await openEnvironment({ apps: [app] });
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await opened.client.sendMessage({ ...names, message: 'go' });
  const root = opened.temporal.workflow.getHandle(turn.workflowId);
  const pending = async (count: number) => {
    await expect.poll(async () => (await opened.client.approvals.list(names)).length).toBe(count);
    return await opened.client.approvals.list(names);
  };
  const update = <Receipt = DecisionReceipt>(name: string, given: object) =>
    root.executeUpdate<Receipt, [object]>(name, { args: [given] });
  const details = async () =>
    (await root.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
  const status = () => root.query<TurnStatus>('status');
  return { ...opened, names, turn, root, pending, update, details, status };
}

async function failureOf(answer: Promise<unknown>): Promise<ApplicationFailure> {
  try {
    throw new Error(`it was not refused: ${JSON.stringify(await answer)}`);
  } catch (error) {
    if (error instanceof WorkflowUpdateFailedError && error.cause instanceof ApplicationFailure)
      return error.cause;
    throw error;
  }
}

/** Two agents that ask, three agents below the root. */
function asking(gate: object = {}) {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    ...gate,
    execute: (args) => {
      paid.push(args);
      return { paid: true };
    },
  });
  const leaf = (name: string) =>
    new Speaking(name, [calling({ name: 'pay', args: { for: name } }), 'paid'], { tools: [pay] }).agent;
  const branch = (name: string) => new SequentialAgent({ name: `${name}_steps`, subAgents: [leaf(name)] });
  const both = new ParallelAgent({ name: 'both', subAgents: [branch('left'), branch('right')] });
  return { paid, agent: new LoopAgent({ name: 'root', subAgents: [both], maxIterations: 1 }) };
}

const of = (requests: readonly ApprovalRow[], agent: string): ApprovalRow => {
  const found = requests.find((request) => request.agent === agent);
  if (found === undefined) throw new Error(`no request of ${agent}`);
  return found;
};

test('what is said to the root of a request three agents below goes there, by signal and by update [tree.requests]', async () => {
  const { agent, paid } = asking();
  const { pending, root, update, turn, names } = await open(agent);
  const requests = await pending(2);
  const [left, right] = [of(requests, 'left'), of(requests, 'right')];
  expect(left).toMatchObject({
    path: ['root', 'both', 'left_steps', 'left'],
    rootWorkflowId: turn.workflowId,
    sessionId: names.sessionId,
  });
  expect(await update('confirm', { requestId: left.requestId, confirmed: true })).toEqual({
    v: 1,
    requestId: left.requestId,
    callKey: left.callKey,
    status: 'forwarded',
    workflowId: left.workflowId,
  });
  await pending(1);
  await root.signal('confirm', { callKey: right.callKey, confirmed: true });
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(paid).toHaveLength(2);
});

if (isDeep) {
  test('without a name it goes to the only one that waits, and to none of several [tree.requests]', async () => {
    const { agent, paid } = asking();
    const { pending, root, update, turn, details, status } = await open(agent);
    const requests = await pending(2);
    await expect.poll(async () => (await status()).status).toBe('waiting_approval');
    await root.signal('confirm', { confirmed: true });
    await expect.poll(details).toContain('several agents wait, name a request by its id');
    expect(paid).toEqual([]);
    await update('confirm', { requestId: of(requests, 'left').requestId, confirmed: true });
    await expect.poll(() => paid.length).toBe(1);
    await expect
      .poll(async () => ((await status()).children ?? []).flatMap(({ waits = [] }) => waits))
      .toMatchObject([{ path: ['root', 'both', 'right_steps', 'right'], tool: 'pay' }]);
    await root.signal('confirm', { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(await details()).toContain('completed');
    expect(paid).toHaveLength(2);
  });
}

test('what names nobody changes nothing, and is told why [tree.requests]', async () => {
  const { agent, paid } = asking();
  const { pending, root, update, turn, details } = await open(agent);
  const requests = await pending(2);
  const runKey = `e-${'x'.repeat(22)}`;
  const requestId = `rq-${callKeyOf(runKey, 1, 0)}.1`;
  expect(await failureOf(update('confirm', { requestId, confirmed: true }))).toMatchObject({
    type: 'NotPending',
    message: `${requestId} is not pending: no agent runs that could have asked it`,
  });
  await root.signal('confirm', { requestId, confirmed: true });
  await expect.poll(details).toContain('no agent runs that could have asked it');
  await root.signal('confirm', { requestId: `rq-${'long'.repeat(200)}.1.0.1`, confirmed: true });
  await expect.poll(details).toContain('no such request is pending');
  expect(await failureOf(update('cancelCall', { callKey: callKeyOf(runKey, 1, 0) }))).toMatchObject({
    type: 'UnknownCall',
  });
  // What the agent below would drop isn't called forwarded.
  const { callKey } = of(requests, 'left');
  expect(await failureOf(update('cancelCall', { v: 99, callKey }))).toMatchObject({
    type: 'UnknownCall',
    message: expect.stringContaining('cancelCall: v: '),
  });
  expect(await failureOf(update('confirm', { requestId: requests[0]?.requestId }))).toMatchObject({
    type: 'InvalidDecision',
  });
  expect(paid).toEqual([]);
  for (const { requestId: id } of requests) await root.signal('confirm', { requestId: id, confirmed: false });
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(paid).toEqual([]);
});

if (isDeep) {
  test('cancels a call of an agent below, which is told so [tree.cancel]', async () => {
    const { agent, paid } = asking();
    const { pending, root, update, turn, store, names } = await open(agent);
    const requests = await pending(2);
    const [left, right] = [of(requests, 'left'), of(requests, 'right')];
    expect(
      await update<CancelReceipt>('cancelCall', { callKey: left.callKey, reason: 'too dear' }),
    ).toMatchObject({ status: 'forwarded', callKey: left.callKey, workflowId: left.workflowId });
    await root.signal('cancelCall', { callKey: right.callKey, reason: 'too late' });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    const responses = (await store.sessions.readEvents(names)).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ functionResponse }) =>
        functionResponse?.name === 'pay' ? [JSON.stringify(functionResponse.response)] : [],
      ),
    );
    expect(responses.filter((text) => /too (dear|late)/.test(text))).toHaveLength(2);
    expect(paid).toEqual([]);
  });
}

test('answers in messages, as ADK sends them, go to whoever has asked; all else stays with the root [tree.requests]', async () => {
  const { agent, paid } = asking();
  const { pending, update, turn, temporal } = await open(agent);
  const requests = await pending(2);
  const [left, right] = [of(requests, 'left'), of(requests, 'right')];
  const reply = ({ requestId: id }: ApprovalRow) => ({
    functionResponse: { id, name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME, response: { confirmed: true } },
  });
  const receipt = await update<MessageReceipt>('sendMessage', {
    messageId: 'm1',
    message: { role: 'user', parts: [reply(left)] },
  });
  expect(receipt.replies).toMatchObject([{ status: 'forwarded', workflowId: left.workflowId }]);
  const child = temporal.workflow.getHandle(right.workflowId);
  const parts = [{ text: 'and this?' }, reply(right)];
  const given = { messageId: 'm2', message: { role: 'user', parts } };
  expect(await failureOf(child.executeUpdate('sendMessage', { args: [given] }))).toMatchObject({
    type: 'InvalidMessage',
    message: expect.stringContaining(`send it to the root's session, whose workflow is ${turn.workflowId}`),
  });
  await pending(1);
  await expect.poll(async () => (await child.query<TurnStatus>('status')).waiting.length).toBe(1);
  const own = await child.executeUpdate<MessageReceipt, [object]>('sendMessage', {
    args: [{ messageId: 'm3', message: { role: 'user', parts: [reply(right)] } }],
  });
  expect(own.replies).toMatchObject([{ status: 'approved' }]);
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(paid).toHaveLength(2);
});

test('a signed decision arrives as it was signed, and one that is not counts for nothing [tree.requests]', async () => {
  const { key, issuer } = await createApproverKey('mira');
  const { agent, paid } = asking({
    parameters: z.object({ for: z.string(), sum: z.number().optional() }),
    approval: { approvers: ['mira'], allowEdit: true },
  });
  const { pending, root, update, turn, store } = await open(agent, [issuer]);
  const requests = await pending(2);
  for (const { requestId } of requests) {
    await root.signal('confirm', { requestId, confirmed: true });
    await expect
      .poll(async () => (await store.approvals.find(requestId))?.history.map(({ kind }) => kind))
      .toContain('refused');
  }
  expect(paid).toEqual([]);
  for (const { session, requestId, argsDigest, agent: asker } of requests) {
    const args = { for: `ä${asker}`, sum: 1.5 };
    const given = { requestId, confirmed: true, args };
    const claims = { issuer: key.issuer, approver: 'mira', session, requestId, argsDigest };
    const decided = { decision: decisionOf(given), editedArgsDigest: digestOf(args), channel: 'test' };
    const attestation = await signDecision({ ...claims, ...decided }, key.privateKey);
    if (asker === 'left') await root.signal('confirm', { ...given, attestation });
    else expect(await update('confirm', { ...given, attestation })).toMatchObject({ status: 'forwarded' });
  }
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(paid).toEqual(
    expect.arrayContaining([
      { for: 'äleft', sum: 1.5 },
      { for: 'äright', sum: 1.5 },
    ]),
  );
});

test('a secret that is sent to the root goes no further [tree.requests]', async () => {
  const order = tool({
    name: 'order',
    description: 'd',
    authConfig: { credentialKey: 'orders', authScheme: { type: 'apiKey', in: 'header', name: 'x-key' } },
    execute: () => ({ ordered: true }),
  });
  const ordering = new Speaking('ordering', [calling({ name: 'order' }), 'done'], { tools: [order] });
  const { pending, root, update, temporal, details } = await open(
    new SequentialAgent({ name: 'root', subAgents: [ordering.agent] }),
  );
  const [request] = await pending(1);
  const given = { requestId: request?.requestId, credentialRef: 'sk-S3CRET-4711' };
  expect(await failureOf(update('provideCredential', given))).toMatchObject({ type: 'RawSecret' });
  await root.signal('provideCredential', given);
  await expect.poll(details).toContain('a raw secret was sent');
  const child = temporal.workflow.getHandle(
    childWorkflowIdOf(root.workflowId, runKeyOfCallKey(request?.callKey ?? '')),
  );
  expect(JSON.stringify(await child.fetchHistory())).not.toContain('S3CRET');
  await root.signal('interrupt', {});
});
