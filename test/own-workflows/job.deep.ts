import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/protocol/names.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { Speaking } from '../tree/speaking.ts';
import { OwnWorker, replayed } from './own-worker.ts';

const openEnvironment = shareEnvironment();
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  own = undefined;
});

async function open() {
  const tokens: string[] = [];
  const cancelled: string[] = [];
  const train = new LongRunningFunctionTool({
    name: 'train',
    description: 'd',
    parameters: { type: 'object', properties: { dataset: { type: 'string' } }, required: ['dataset'] },
    execute: (_args, { job }) => {
      tokens.push(job.token);
    },
    cancel: ({ id }) => {
      cancelled.push(id);
    },
  });
  const adds = tool({
    name: 'adds',
    description: 'd',
    parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    execute: ({ n }, { state }) => {
      state.set('sum', Number(state.get('sum') ?? 0) + Number(n));
      return { sum: state.get('sum') };
    },
  });
  const large = tool({ name: 'large', description: 'd', execute: () => ({ text: 'x'.repeat(20_000) }) });
  const secret = tool({
    name: 'secret',
    description: 'd',
    sensitive: true,
    execute: () => ({ pin: '0815-secret' }),
  });
  const speaking = new Speaking('root', ['hello'], { tools: [train, adds, large, secret] });
  const heard = new Speaking('heard', ['hello'], {
    tools: [adds],
    afterAgentCallback: () => ({ role: 'model', parts: [{ text: 'the last word' }] }),
  });
  const silenced = new Speaking('silenced', ['hello'], {
    tools: [adds],
    beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'not now' }] }),
  });
  const group = new SequentialAgent({ name: 'group', subAgents: [new Speaking('member', ['hi']).agent] });
  const opened = await openEnvironment({
    agents: [speaking.agent, heard.agent, silenced.agent, group],
    workerOptions: {
      taskQueue: DEFAULT_TASK_QUEUE,
      credentialKeys: { k: randomBytes(32).toString('base64') },
    },
  });
  own = new OwnWorker(opened);
  await own.start();
  const user = { app: 'test', userId: randomUUID() };
  return { ...opened, own, speaking, user, tokens, cancelled };
}

test('a job parks until a callback ends it, over a restart of both workers [flow.workflow]', async () => {
  const { own, user, client, tokens, restartWorker, speaking } = await open();
  const handle = await own.begin('runsJob', { ...user, tool: 'train', args: { dataset: 'birds' } });
  await expect.poll(async () => (await client.jobs.list(user)).length).toBe(1);
  const [job] = await client.jobs.list(user);
  expect(job).toMatchObject({ tool: 'train', status: 'running' });
  const names = { ...user, sessionId: job?.sessionId ?? '' };
  await expect.poll(async () => (await client.status(names))?.status).toBe('waiting_job');
  await own.stop();
  await restartWorker();
  await client.jobs.complete(job?.jobId ?? '', { result: { accuracy: 0.97 } });
  await own.start();
  expect(await handle.result()).toMatchObject({ result: { accuracy: 0.97 }, sessionId: job?.sessionId });
  expect(tokens).toHaveLength(1);
  expect(speaking.shown).toHaveLength(0);
  expect(JSON.stringify(await handle.fetchHistory())).not.toContain(tokens[0]);
  await replayed(handle);
});

test('a job that fails, and one whose arguments its tool doesn’t take, are told [flow.workflow]', async () => {
  const { own, user, client } = await open();
  const failing = await own.begin('tellsJobFailure', {
    ...user,
    tool: 'train',
    args: { dataset: 'birds' },
  });
  await expect.poll(async () => (await client.jobs.list(user)).length).toBe(1);
  const [job] = await client.jobs.list(user);
  await client.jobs.fail(job?.jobId ?? '', { error: 'no birds' });
  expect(await failing.result()).toEqual({ message: 'train: no birds', response: { error: 'no birds' } });
  const wrong = await own.begin('tellsJobFailure', { ...user, tool: 'train' });
  expect(await wrong.result()).toMatchObject({ message: expect.stringContaining('dataset') });
  const unknown = await own.begin('tellsJobFailure', { ...user, tool: 'nothing' });
  expect(await unknown.result()).toMatchObject({ message: expect.stringContaining("'nothing'") });
  for (const handle of [failing, wrong, unknown]) await replayed(handle);
});

test('a job is cancelled with its workflow [flow.workflow.cancel]', async () => {
  const { own, user, client, cancelled } = await open();
  const handle = await own.begin('runsJob', { ...user, tool: 'train', args: { dataset: 'birds' } });
  await expect.poll(async () => (await client.jobs.list(user)).length).toBe(1);
  const [job] = await client.jobs.list(user);
  const jobId = job?.jobId ?? '';
  await handle.cancel();
  await expect(handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
  expect(await client.jobs.get(jobId)).toMatchObject({ status: 'cancelled' });
  await expect.poll(() => cancelled).toEqual([jobId]);
});

test('any tool runs in a session, with its state, one after another; large results come whole, secret ones don’t [flow.workflow]', async () => {
  const { own, user, client, store, speaking } = await open();
  const names = { ...user, sessionId: randomUUID() };
  const both = await Promise.all(
    [1, 2].map((n) => own.begin('runsJob', { ...names, tool: 'adds', args: { n } })),
  );
  const sums = await Promise.all(both.map(async (handle) => (await handle.result()).result.sum));
  expect(sums.toSorted()).toEqual([expect.toBeOneOf([1, 2]), 3]);
  const turn = await client.sendMessage({ ...names, message: 'hi' });
  expect(await turn.result()).toMatchObject({ text: 'hello' });
  expect(JSON.stringify(speaking.shown)).toContain('"sum":3');
  const large = await own.begin('runsJob', { ...names, tool: 'large' });
  expect((await large.result()).result.text).toHaveLength(20_000);
  const secret = await own.begin('runsJob', { ...names, tool: 'secret' });
  expect(await secret.result()).toMatchObject({ reference: { gist: '(sensitive)' } });
  expect(JSON.stringify(await secret.fetchHistory())).not.toContain('0815-secret');
  expect(JSON.stringify(await store.sessions.readEvents(names))).toContain('0815-secret');
  for (const handle of [...both, large, secret]) await replayed(handle);
});

test('callbacks around a turn have their say, and the job its result; an agent without tools is named [flow.workflow]', async () => {
  const { own, user, store } = await open();
  const call = { ...user, tool: 'adds', args: { n: 2 } };
  const heard = await own.begin('runsJob', { ...call, agent: 'heard' });
  const { result, sessionId } = await heard.result();
  expect(result).toEqual({ sum: 2 });
  const events = await store.sessions.readEvents({ ...user, sessionId });
  expect(events.at(-1)?.event.content?.parts).toEqual([{ text: 'the last word' }]);
  const silenced = await own.begin('tellsJobFailure', { ...call, agent: 'silenced' });
  expect(await silenced.result()).toMatchObject({ message: expect.stringContaining('it has not run') });
  const group = await own.begin('runsJob', { ...call, agent: 'group' });
  await expect(group.result()).rejects.toMatchObject({
    cause: { type: 'AgentTurnFailed', message: expect.stringContaining('HOLDFAST_NO_TOOLS') },
  });
  for (const handle of [heard, silenced, group]) await replayed(handle);
});
