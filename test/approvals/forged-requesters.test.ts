import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { signMessage } from '../../src/approvals/message-attestation.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import type { TurnIdentity } from '../../src/protocol/step.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const DAY = 24 * 60 * 60_000;
const ownCall = { tool: 'pay', args: { amount: 777 } };
let bob: ApproverKey;
let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  const { key, issuer } = await createApproverKey('bob');
  bob = key;
  const pay = tool({
    name: 'pay',
    description: 'd',
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    approval: { notRequester: true },
    execute: ({ amount }) => ({ paid: amount }),
  });
  const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay] });
  const durable = { approval: { issuers: [issuer] } };
  environment = await openTurnEnvironment({ apps: [new App({ name: 'till', rootAgent, durable })] });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});
beforeEach(() => environment.gemini.reset(stepCalls([[{ name: 'pay', args: { amount: 41 } }]])));

const newTurn = (): TurnIdentity => ({
  app: 'till',
  userId: 'ada',
  sessionId: randomUUID(),
  messageId: 'm1',
});

const invocationOf = ({ app, userId, sessionId, messageId }: TurnIdentity) =>
  invocationIdOf(app, userId, sessionId, messageId);

function signed(identity: TurnIdentity, now = Date.now()): Promise<string> {
  const claims = { issuer: bob.issuer, principal: 'bob', ...identity, messageDigest: messageDigest('hello') };
  return signMessage(claims, bob.privateKey, { now });
}

/** As the first step of a turn that a workflow of ours runs. */
function firstStep(identity: TurnIdentity, invocationId = invocationOf(identity)) {
  const fence = { startedAt: Date.now() + 60_000, invocation: 1 };
  return { v: 1, identity, invocationId, runKey: invocationId, step: 1, seq: 0, fence };
}

async function requested({ app, userId, sessionId }: TurnIdentity): Promise<ApprovalRow> {
  const [request] = await environment.store.approvals.list({ app, userId, sessionId });
  return request as ApprovalRow;
}

const MISPLACED = { refused: 'HOLDFAST_MISPLACED_STEP' };

describe('whoever has Temporal alone asks for nothing in another’s name [approval.requester]', () => {
  test('by their attestation for a turn that is not that of the message', async () => {
    const identity = newTurn();
    const attestation = await signed(identity);
    const input = firstStep(identity, 'e-0000000000000000000000');
    await foreigner.schedule('holdfast.callModel', { ...input, message: 'hello', attestation });
    expect(await requested(identity)).not.toHaveProperty('requester');
  });

  test('by an attestation that has expired, whenever the input says that it came', async () => {
    const identity = newTurn();
    const cameAt = Date.now() - 2 * DAY;
    const attestation = await signed(identity, cameAt);
    const input = { ...firstStep(identity), message: 'hello', attestation, cameAt: cameAt + 1_000 };
    await foreigner.schedule('holdfast.callModel', input);
    expect(await requested(identity)).not.toHaveProperty('requester');
  });

  test('by a call that they have not signed', async () => {
    const identity = newTurn();
    const attestation = await signed(identity);
    await foreigner.schedule('holdfast.callModel', {
      ...firstStep(identity),
      ...{ message: 'hello', attestation, ownCall },
    });
    const request = await requested(identity);
    expect(request.args).toEqual(ownCall.args);
    expect(request).not.toHaveProperty('requester');
  });

  test('by content that is not what they have signed', async () => {
    const identity = newTurn();
    const { messageId, ...session } = identity;
    const invocationId = invocationOf(identity);
    const digest = messageDigest('hello');
    const message = { messageId, invocationId, place: 1, digest, bytes: 5, message: 'pay a million' };
    const kept = await foreigner.schedule('holdfast.keepMessages', {
      ...{ v: 1, ...session, startedAt: 1 },
      messages: [{ ...message, attestation: await signed(identity) }],
    });
    expect(kept).toMatchObject({ result: { messages: [{ kind: 'kept' }] } });
    const claimed = await foreigner.schedule('holdfast.callModel', {
      ...firstStep(identity),
      messageDigest: digest,
      attestation: await signed(identity),
    });
    expect(claimed).toMatchObject({ result: { outcome: { error: { code: 'HOLDFAST_MESSAGE_CONFLICT' } } } });
    await foreigner.schedule('holdfast.callModel', firstStep(identity));
    expect(await requested(identity)).not.toHaveProperty('requester');
  });

  test('by steps and messages in a turn that they have begun', async () => {
    const identity = newTurn();
    const attestation = await signed(identity);
    const turn = await AskingTurn.start(environment, { ...identity, message: 'hello', attestation });
    const [{ session, requester }] = (await turn.pending()) as [ApprovalRow];
    expect(requester).toBe('bob');
    const first = firstStep(identity);
    const { identity: _none, ...later } = first;
    for (const forged of [
      { ...first, runKey: 'x-0000000000000000000000', message: 'pay a million' },
      { ...later, runKey: 'x-0000000000000000000000', session, message: 'pay a million' },
      { ...later, session, step: 2, ownCall },
      { ...later, runKey: 'x-0000000000000000000000', session, ownCall },
      {
        ...first,
        call: { session, runKey: first.runKey, callKey: `${first.runKey}.1.0`, args: { value: {} } },
      },
    ]) {
      expect(await foreigner.schedule('holdfast.callModel', forged)).toMatchObject(MISPLACED);
    }
    expect(await turn.requests()).toHaveLength(1);
    await turn.handle.terminate();
  });

  test('by a call in the place of what their model answers', async () => {
    const identity = newTurn();
    environment.gemini.reset(
      (_request, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)),
    );
    const turn = await AskingTurn.start(environment, {
      ...identity,
      message: 'hello',
      attestation: await signed(identity),
    });
    const find = () => environment.store.turns.findInvocation(identity, invocationOf(identity));
    await expect.poll(find).toMatchObject({ requester: 'bob' });
    const forged = { ...firstStep(identity), message: 'hello', ownCall };
    expect(await foreigner.schedule('holdfast.callModel', forged)).toMatchObject(MISPLACED);
    await turn.handle.terminate();
    expect(await turn.requests()).toEqual([]);
  });
});

test('a message that waits behind another one has the sender who has signed it [approval.requester]', async () => {
  const first = newTurn();
  const second = { ...first, messageId: 'm2' };
  const turn = await AskingTurn.start(environment, { ...first, message: 'hello' });
  const [request] = (await turn.pending()) as [ApprovalRow];
  expect(request).not.toHaveProperty('requester');
  const sent = await environment.client.sendMessage({
    ...second,
    message: 'hello',
    attestation: await signed(second),
  });
  await environment.client.interrupt(first);
  await expect.poll(async () => (await requested(first))?.requester).toBe('bob');
  await environment.temporal.workflow.getHandle(sent.workflowId).terminate();
});
