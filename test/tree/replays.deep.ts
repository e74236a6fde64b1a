import { Worker } from '@temporalio/worker';
import { expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const openBrief = shareEnvironment({ serverConfig: SHORT_RUNS });

const pay = () =>
  tool({ name: 'pay', description: 'd', requireConfirmation: true, execute: () => ({ paid: true }) });

/** Says the first of these while its last call has no response. */
const always = (name: string, call: ReturnType<typeof calling>, more: object) => {
  const speaking = new Speaking(name, [], { description: name, ...more });
  speaking.replies = [
    ({ contents }) =>
      contents.at(-1)?.parts?.some(({ functionResponse }) => functionResponse !== undefined)
        ? `${name} is done`
        : call,
  ];
  return speaking.agent;
};

test('each run of a tree does the same when it is replayed: forwarded, waited for, continued as new [replay] [flow.resume]', async () => {
  const cashier = always('cashier', calling({ name: 'pay' }), { tools: [pay()] });
  const desk = always('desk', calling({ name: 'cashier', args: { request: 'pay' } }), {
    tools: [new AgentTool({ agent: cashier })],
  });
  const paying = always('paying', calling({ name: 'pay' }), { tools: [pay()] });
  const both = new ParallelAgent({ name: 'both', subAgents: [desk, paying] });
  const steps = new SequentialAgent({
    name: 'steps',
    subAgents: [new Speaking('first', ['1']).agent, both],
  });
  const root = new LoopAgent({ name: 'root', subAgents: [steps], maxIterations: 3 });
  const scene = await TreeScene.open(openBrief, root);
  const turn = await scene.send();
  const unknown = `rq-e-${'x'.repeat(22)}.1.0.1`;
  let asked = 0;
  await expect
    .poll(
      async () => {
        for (const { requestId, callKey } of await scene.environment.client.approvals.list(scene.names)) {
          asked += 1;
          const name = asked % 2 === 0 ? { requestId } : { callKey };
          await scene.root.signal('confirm', { ...name, confirmed: true });
          await scene.root.signal('confirm', { requestId: unknown, confirmed: true });
          await scene.root.signal('cancelCall', { callKey: unknown.slice(3, -2) });
        }
        return (await scene.root.describe()).status.name;
      },
      { interval: 200 },
    )
    .toBe('COMPLETED');
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  const runs: { workflowId: string; runId: string }[] = await scene.below();
  for await (const { workflowId, runId } of scene.environment.temporal.workflow.list()) {
    if (workflowId === scene.rootId) runs.push({ workflowId, runId });
  }
  expect(runs.length).toBeGreaterThan(3 * 6);
  const histories = await Promise.all(
    runs.map(async ({ workflowId, runId }) => ({
      workflowId,
      history: await scene.handle(workflowId, runId).fetchHistory(),
    })),
  );
  const errors: string[] = [];
  const replayed = Worker.runReplayHistories({ workflowBundle: { codePath: bundlePath() } }, histories);
  for await (const { workflowId, error } of replayed) {
    if (error !== undefined) errors.push(`${workflowId}: ${error.message}`);
  }
  expect(errors).toEqual([]);
});
