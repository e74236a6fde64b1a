import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { LongRunningFunctionTool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function ordering(kind: 'parks' | 'goes on') {
  const ids: string[] = [];
  const order = new LongRunningFunctionTool({
    name: 'order',
    description: 'd',
    execute: (_args: unknown, { job }) => {
      ids.push(job.id);
      return kind === 'parks' ? undefined : { ordered: true };
    },
  });
  const buyer = new Speaking('buyer', [calling({ name: 'order' }), 'ordered'], { tools: [order] });
  const root = new Speaking(
    'root',
    [calling({ name: 'buyer', args: { request: 'buy' } }), 'done', 'thanks'],
    {
      tools: [new AgentTool({ agent: buyer.agent })],
    },
  );
  const environment = await openEnvironment({ agents: [root.agent] });
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await environment.client.sendMessage({ ...names, message: 'go' });
  return { ...environment, names, turn, buyer, root, ids };
}

test('a job of a called agent is listed under the root, and whoever ends it lets that agent go on [tree.requests] [agentTool.run]', async () => {
  const { client, names, temporal, turn, buyer, root } = await ordering('parks');
  await expect.poll(async () => (await client.jobs.list(names)).length).toBe(1);
  const [job] = await client.jobs.list(names);
  expect(job).toMatchObject({ ...names, tool: 'order', agent: 'buyer', status: 'running' });
  const handle = temporal.workflow.getHandle(turn.workflowId);
  await expect
    .poll(async () => (await handle.query<{ status: string }>('status')).status)
    .toBe('waiting_job');
  await client.jobs.complete(job?.jobId ?? '', { result: { sent: true } });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
  expect(buyer.shown[1]?.at(-1)?.parts).toMatchObject([{ functionResponse: { response: { sent: true } } }]);
  expect(root.shown).toHaveLength(2);
});

test('what a job comes to that a called agent has left going on is told to the root’s session [tree.requests] [agentTool.run]', async () => {
  const { client, names, turn, root, ids } = await ordering('goes on');
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
  const [jobId = ''] = ids;
  expect(await client.jobs.get(jobId)).toMatchObject({ ...names, mode: 'detached' });
  await client.jobs.complete(jobId, { result: { sent: true } });
  await expect.poll(() => root.shown.length).toBe(3);
  expect(textsOf(root.shown[2]).at(-1)).toBe(
    'The job that agent "buyer" began by calling "order" has ended (completed): {"sent":true}',
  );
});

test('a message that answers the job of an agent in its own session, by the id that the model gave its call, goes there [tree.requests]', async () => {
  const order = new LongRunningFunctionTool({ name: 'order', description: 'd', execute: () => undefined });
  const call = { functionCall: { id: 'call_1', name: 'order', args: {} } };
  const buyer = new Speaking('buyer', [{ content: { role: 'model', parts: [call] } }, 'ordered'], {
    tools: [order],
  });
  const environment = await openEnvironment({
    agents: [new SequentialAgent({ name: 'team', subAgents: [buyer.agent] })],
  });
  const { client, temporal } = environment;
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await client.sendMessage({ ...names, message: 'go' });
  const handle = temporal.workflow.getHandle(turn.workflowId);
  await expect
    .poll(async () => (await handle.query<{ status: string }>('status')).status)
    .toBe('waiting_job');
  const functionResponse = { id: 'call_1', name: 'order', response: { sent: true } };
  await client.sendMessage({ ...names, message: { role: 'user', parts: [{ functionResponse }] } });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'ordered' });
  expect(buyer.shown[1]?.at(-1)?.parts).toMatchObject([{ functionResponse: { response: { sent: true } } }]);
});
