import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { calling, Speaking } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function open(agent: BaseAgent) {
  const opened = await openEnvironment({ agents: [agent] });
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await opened.client.sendMessage({ ...names, message: 'go' });
  const handle = opened.temporal.workflow.getHandle(turn.workflowId);
  const status = () => handle.query<TurnStatus>('status');
  return { ...opened, names, turn, handle, status };
}

const paying = (runs: unknown[]) =>
  tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    execute: () => {
      runs.push(1);
      return { paid: true };
    },
  });

test('a request in an agent of a sequence pauses that one only, and the next is reached [flow.resume] [tree.requests]', async () => {
  const runs: unknown[] = [];
  const first = new Speaking('first', [calling({ name: 'pay' }), 'paid'], { tools: [paying(runs)] });
  const second = new Speaking('second', ['thanks']);
  const root = new SequentialAgent({ name: 'root', subAgents: [first.agent, second.agent] });
  const { client, names, turn, status, handle } = await open(root);
  await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
  const [request] = await client.approvals.list(names);
  expect(request).toMatchObject({
    tool: 'pay',
    agent: 'first',
    path: ['root', 'first'],
    sessionId: names.sessionId,
  });
  await expect.poll(async () => (await status()).status).toBe('waiting_approval');
  expect((await status()).children).toMatchObject([
    { agent: 'first', path: ['root', 'first'], status: 'waiting_approval', tool: 'pay' },
  ]);
  const metadata = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
  expect(metadata.currentDetails).toMatch(/root \/ first: waits for approval of `pay`/);
  await client.approvals.confirm({ ...names, requestId: request?.requestId ?? '' }, { confirmed: true });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'thanks' });
  expect([first, second].map(({ shown }) => shown.length)).toEqual([2, 1]);
  expect(runs).toHaveLength(1);
});

if (isDeep) {
  test('siblings go on while one waits; a worker that is gone meanwhile loses nothing [flow.resume] [flow.parallel]', async () => {
    const runs: unknown[] = [];
    const asking = new Speaking('asking', [calling({ name: 'pay' }), 'paid'], { tools: [paying(runs)] });
    const other = new Speaking('other', ['fine']);
    const root = new ParallelAgent({ name: 'root', subAgents: [asking.agent, other.agent] });
    const { client, names, turn, restartWorker, store } = await open(root);
    await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
    await expect
      .poll(async () =>
        (await store.sessions.readEvents(names)).some(({ event }) => event.author === 'other'),
      )
      .toBe(true);
    await restartWorker();
    const [request] = await client.approvals.list(names);
    await client.approvals.confirm({ ...names, requestId: request?.requestId ?? '' }, { confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(asking.shown).toHaveLength(2);
    expect(other.shown).toHaveLength(1);
    expect(runs).toHaveLength(1);
  });
}

if (isDeep) {
  test('cancelling and interrupting a turn ends all that runs below it [tree.cancel]', async () => {
    const started: string[] = [];
    const hold = (name: string) =>
      tool({
        name,
        description: 'd',
        execute: async (_args, { abortSignal }) => {
          started.push(name);
          await new Promise((_resolve, reject) => abortSignal.addEventListener('abort', reject));
        },
      });
    const agents = ['a', 'b'].map(
      (name) =>
        new Speaking(name, [calling({ name: `hold_${name}` })], { tools: [hold(`hold_${name}`)] }).agent,
    );
    const root = new SequentialAgent({
      name: 'root',
      subAgents: [new ParallelAgent({ name: 'both', subAgents: agents })],
    });
    const { client, names, turn, handle, store, temporal } = await open(root);
    await expect.poll(() => started.length).toBe(2);
    await handle.signal('interrupt', { reason: 'enough' });
    expect(await turn.result()).toMatchObject({ status: 'interrupted' });
    const running = async () => {
      const ids: string[] = [];
      for await (const { workflowId, status } of temporal.workflow.list()) {
        if (workflowId.startsWith(turn.workflowId) && status.name === 'RUNNING') ids.push(workflowId);
      }
      return ids;
    };
    // The list comes a moment behind the runs.
    await expect.poll(running).toEqual([]);
    const responses = (await store.sessions.readEvents(names)).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response ?? []),
    );
    expect(responses).toHaveLength(2);
    const next = await client.sendMessage({ ...names, message: 'again', agent: 'root' });
    await expect.poll(() => started.length).toBe(4);
    await temporal.workflow.getHandle(next.workflowId).cancel();
    await expect(next.result()).rejects.toThrow('cancelled');
  });
}
