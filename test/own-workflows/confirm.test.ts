import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { App } from '../../src/app/app.ts';
import { createApproverKey } from '../../src/approvals/approver-key.ts';
import { signDecision } from '../../src/approvals/decision-attestation.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/protocol/names.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { Speaking } from '../tree/speaking.ts';
import { OwnWorker, replayed } from './own-worker.ts';

/** A budget of cost needs the price of each model that is asked; nobody asks one here. */
const prices = { 'own-model': { input: 1, output: 1 } };

const openEnvironment = shareEnvironment();
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  own = undefined;
});

async function open() {
  const speaking = new Speaking('root', ['hello']);
  const opened = await openEnvironment({
    agents: [speaking.agent],
    workerOptions: { taskQueue: DEFAULT_TASK_QUEUE },
  });
  own = new OwnWorker(opened);
  await own.start();
  const user = { app: 'test', userId: randomUUID() };
  const pending = async () => {
    await expect.poll(async () => (await opened.client.approvals.list(user)).length).toBe(1);
    const [request] = await opened.client.approvals.list(user);
    if (request === undefined) throw new Error('a request is pending');
    const { sessionId } = request;
    await expect
      .poll(async () => (await opened.client.status({ ...user, sessionId }))?.status)
      .toBe('waiting_approval');
    return request;
  };
  return { ...opened, own, speaking, user, pending };
}

test('a workflow asks people, who find it in their list, over a restart of both workers [flow.workflow]', async () => {
  const { own, user, pending, client, restartWorker, speaking, store } = await open();
  const question = {
    ...user,
    hint: 'Publish the report?',
    payload: { pages: 3 },
    args: { title: 'June' },
    approval: { allowEdit: true },
  };
  const handle = await own.begin('asksPeople', question);
  const request = await pending();
  expect(request).toMatchObject({ tool: 'confirm', hint: 'Publish the report?', args: { title: 'June' } });
  expect(request.payload).toEqual({ pages: 3 });
  await own.stop();
  await restartWorker();
  const { sessionId, requestId } = request;
  const decision = { confirmed: true, args: { title: 'July' }, reason: 'looks good' };
  await client.approvals.confirm({ ...user, sessionId, requestId }, decision);
  await own.start();
  expect(await handle.result()).toEqual({
    confirmed: true,
    status: 'approved',
    by: [expect.objectContaining({ principal: 'unverified', verified: false })],
    reason: 'looks good',
    payload: { pages: 3 },
    args: { title: 'July' },
    requestId,
    sessionId,
  });
  expect(speaking.shown).toHaveLength(0);
  const [message] = await store.sessions.readEvents({ ...user, sessionId });
  expect(message?.event.content?.parts).toEqual([{ text: 'Publish the report?' }]);
  await replayed(handle);
});

if (isDeep) {
  test('a rejection by a plain signal and an expiry are answers, and what can’t be asked is told [flow.workflow]', async () => {
    const { own, user, pending, temporal } = await open();
    const rejected = await own.begin('asksPeople', { ...user, hint: 'Really?' });
    const request = await pending();
    await temporal.workflow
      .getHandle(request.workflowId)
      .signal('confirm', { confirmed: false, reason: 'no', payload: { of: 'the decision' } });
    expect(await rejected.result()).toMatchObject({ confirmed: false, status: 'rejected', reason: 'no' });
    const late = await own.begin('asksPeople', { ...user, hint: 'Now?', approval: { expiresIn: '1s' } });
    expect(await late.result()).toMatchObject({ confirmed: false, status: 'expired', by: [] });
    const wrong = await own.begin('asksPeople', { ...user, hint: 'Who?', approval: { quorum: 0 } });
    await expect(wrong.result()).rejects.toMatchObject({
      cause: { type: 'ConfirmFailed', message: expect.stringContaining('quorum') },
    });
    const mute = await own.begin('asksPeople', { ...user, hint: ' ' });
    await expect(mute.result()).rejects.toMatchObject({ cause: { type: 'InvalidTurn' } });
    for (const handle of [rejected, late, wrong]) await replayed(handle);
  });
}

test('approvers are checked: a decision without an attestation doesn’t count for them [flow.workflow.cancel]', async () => {
  const { own, user, pending, client, temporal } = await open();
  const question = { ...user, hint: 'Pay?', approval: { approvers: ['mira'] } };
  const handle = await own.begin('asksInVain', question);
  const { sessionId, requestId, workflowId } = await pending();
  const decided = client.approvals.confirm({ ...user, sessionId, requestId }, { confirmed: true });
  await expect(decided).rejects.toMatchObject({ code: 'HOLDFAST_DECISION_REFUSED' });
  await handle.signal('stop');
  expect(await handle.result()).toBe('taken back');
  expect(await client.approvals.list(user)).toEqual([]);
  expect((await temporal.workflow.getHandle(workflowId).describe()).status.name).toBe('CANCELLED');
  await replayed(handle);
});

test('a workflow that takes decisions itself refuses what its question would drop [flow.workflow]', async () => {
  const { own, user, pending } = await open();
  const handle = await own.begin('asksPeople', { ...user, hint: 'Really?' });
  const { callKey, workflowId } = await pending();
  for (const [field, wrong] of Object.entries({
    confirmed: { confirmed: 'yes' },
    v: { v: 99, confirmed: true },
    reason: { confirmed: true, reason: 'x'.repeat(2_001) },
    args: { confirmed: false, args: {} },
  })) {
    await expect(handle.executeUpdate('confirm', { args: [wrong] })).rejects.toMatchObject({
      cause: { type: 'InvalidDecision', message: expect.stringContaining(`confirm: ${field}: `) },
    });
  }
  const byOtherCall = { requestId: null, callId: 'adk-e-other.1.0', confirmed: true };
  await expect(handle.executeUpdate('confirm', { args: [byOtherCall] })).rejects.toMatchObject({
    cause: { type: 'NotPending' },
  });
  const decision = { requestId: null, callKey, confirmed: true };
  expect(await handle.executeUpdate('confirm', { args: [decision] })).toMatchObject({
    ...{ status: 'forwarded', callKey, workflowId },
  });
  expect(await handle.result()).toMatchObject({ confirmed: true });
  await replayed(handle);
});

test('a question stands in the session that it is asked in, and its next turn is the agent’s [flow.workflow]', async () => {
  const { own, user, pending, client, speaking } = await open();
  const names = { ...user, sessionId: 's1' };
  const handle = await own.begin('asksPeople', { ...names, hint: 'Go on?' });
  const { requestId } = await pending();
  await client.approvals.confirm({ ...names, requestId }, { confirmed: true });
  expect(await handle.result()).toMatchObject({ confirmed: true, sessionId: 's1' });
  const turn = await client.sendMessage({ ...names, message: 'What was decided?' });
  expect(await turn.result()).toMatchObject({ text: 'hello' });
  expect(JSON.stringify(speaking.shown[0])).toContain('Go on?');
});

if (isDeep) {
  test('a workflow that says so takes decisions itself, and gives them to the question that is meant [flow.workflow]', async () => {
    const { own, user, pending, client } = await open();
    const handle = await own.begin('asksPeople', { ...user, hint: 'Really?' });
    const request = await pending();
    await expect(
      handle.executeUpdate('confirm', { args: [{ requestId: 'rq-other.1.0.1', confirmed: true }] }),
    ).rejects.toMatchObject({ cause: { type: 'NotPending' } });
    await handle.signal('confirm', { requestId: 'rq-other.1.0.1', confirmed: false });
    expect(await handle.executeUpdate('confirm', { args: [{ confirmed: true }] })).toMatchObject({
      status: 'forwarded',
      workflowId: request.workflowId,
    });
    expect(await handle.result()).toMatchObject({ confirmed: true });
    const both = await own.begin('asksTwice', { ...user, hint: 'Both?' });
    await expect.poll(async () => (await client.approvals.list(user)).length).toBe(2);
    await expect(both.executeUpdate('confirm', { args: [{ confirmed: true }] })).rejects.toMatchObject({
      cause: { type: 'AmbiguousRequest' },
    });
    for (const { requestId } of await client.approvals.list(user)) {
      await both.signal('confirm', { requestId, confirmed: true });
    }
    expect(await both.result()).toEqual([true, true]);
    await replayed(handle);
    await replayed(both);
  });
}

if (isDeep) {
  test('two approvers whom the app knows approve of what a workflow asks [flow.workflow]', async () => {
    const people = await Promise.all(['mira', 'jon'].map((name) => createApproverKey(name)));
    const rootAgent = new Speaking('root', ['hello']).agent;
    const durable = {
      approval: { issuers: people.map(({ issuer }) => issuer) },
      budgets: { turn: { cost: 1 } },
      prices,
    };
    const apps = [new App({ name: 'desk', rootAgent, durable })];
    const opened = await openEnvironment({ apps, workerOptions: { taskQueue: DEFAULT_TASK_QUEUE } });
    own = new OwnWorker(opened);
    await own.start();
    const user = { app: 'desk', userId: 'ada' };
    const approval = { approvers: ['mira', 'jon'], quorum: 2 };
    const handle = await own.begin('asksPeople', { ...user, hint: 'Pay?', args: { cents: 100 }, approval });
    await expect.poll(async () => (await opened.client.approvals.list(user)).length).toBe(1);
    const [request] = await opened.client.approvals.list(user);
    const { session = '', requestId = '', argsDigest = '', sessionId = '' } = request ?? {};
    await expect
      .poll(async () => (await opened.client.status({ ...user, sessionId }))?.status)
      .toBe('waiting_approval');
    for (const { key } of people) {
      const { issuer, approver, privateKey } = key;
      const claims = {
        issuer,
        approver,
        session,
        requestId,
        argsDigest,
        decision: 'approve',
        channel: 'cli',
      } as const;
      const attestation = await signDecision(claims, privateKey);
      await opened.client.approvals.confirm(
        { ...user, sessionId, requestId },
        { confirmed: true, attestation },
      );
    }
    const { confirmed, by, args } = await handle.result();
    expect({ confirmed, args }).toEqual({ confirmed: true, args: { cents: 100 } });
    expect(by).toMatchObject([
      { principal: 'mira', verified: true },
      { principal: 'jon', verified: true },
    ]);
    await replayed(handle);
  });
}
