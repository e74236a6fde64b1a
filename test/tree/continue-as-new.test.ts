import { afterEach, expect, test } from 'vitest';
import { LoopAgent, ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { isDeep } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const openBrief = shareEnvironment({ serverConfig: SHORT_RUNS });
const STEPS = 8;

let scene: TreeScene;
let paid: string[] = [];
let looked: string[] = [];
afterEach(() => {
  paid = [];
  looked = [];
});

const look = () =>
  tool({
    name: 'look',
    description: 'd',
    execute: (_args, { callKey }) => {
      looked.push(callKey);
      return { seen: true };
    },
  });
const pay = () =>
  tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    execute: (_args, { callKey }) => {
      paid.push(callKey);
      return { paid: true };
    },
  });

/** Runs of each workflow below the root, by its id. */
async function runsBelow(): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { workflowId } of await scene.below()) {
    counts.set(workflowId, (counts.get(workflowId) ?? 0) + 1);
  }
  return counts;
}

async function runOfRoot(): Promise<string> {
  return (await scene.root.describe()).runId;
}

test('agents that run others go on in new runs between two of them, and know where they stood [flow.loop] [flow.sequential]', async () => {
  const [one, two] = [new Speaking('one', ['1']), new Speaking('two', ['2'])];
  const steps = new SequentialAgent({ name: 'steps', subAgents: [one.agent, two.agent] });
  const many = new LoopAgent({ name: 'many', subAgents: [steps], maxIterations: 6 });
  scene = await TreeScene.open(openBrief, new SequentialAgent({ name: 'root', subAgents: [many] }));
  const turn = await scene.send();
  expect(await turn.result()).toMatchObject({ status: 'completed', text: '2' });
  expect([one, two].map(({ shown }) => shown.length)).toEqual([6, 6]);
  const runs = [...(await runsBelow()).values()];
  expect(runs).toHaveLength(1 + 6 + 12);
  expect(Math.max(...runs)).toBeGreaterThan(1);
});

if (isDeep) {
  test('the root, too, and a message that waits meanwhile is answered behind it [flow.loop]', async () => {
    const one = new Speaking('one', ['1']);
    scene = await TreeScene.open(
      openBrief,
      new LoopAgent({ name: 'root', subAgents: [one.agent], maxIterations: 8 }),
    );
    const turn = await scene.send();
    const first = await runOfRoot();
    const second = await scene.send('and again');
    expect(await turn.result()).toMatchObject({ status: 'completed', text: '1' });
    expect(await second.result()).toMatchObject({ status: 'completed', text: '1' });
    expect(one.shown).toHaveLength(16);
    expect(await runOfRoot()).not.toBe(first);
  });
}

if (isDeep) {
  test('an agent goes on in new runs while another waits beside it, and its parent waits for both [flow.parallel] [flow.resume]', async () => {
    const working = new Speaking(
      'working',
      [...Array.from({ length: STEPS }, () => calling({ name: 'look' })), 'worked'],
      { tools: [look()] },
    );
    const asking = new Speaking('asking', [calling({ name: 'pay' }), 'paid'], { tools: [pay()] });
    scene = await TreeScene.open(
      openBrief,
      new SequentialAgent({
        name: 'root',
        subAgents: [new ParallelAgent({ name: 'both', subAgents: [working.agent, asking.agent] })],
      }),
    );
    const turn = await scene.send();
    const [request] = await scene.pending(1);
    await expect.poll(() => looked.length).toBe(STEPS);
    await expect
      .poll(async () =>
        (await scene.events()).some(({ event }) => event.content?.parts?.[0]?.text === 'worked'),
      )
      .toBe(true);
    expect(Math.max(...(await runsBelow()).values())).toBeGreaterThan(1);
    await scene.root.signal('confirm', { requestId: request?.requestId, confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(new Set(looked).size).toBe(STEPS);
    expect(looked).toHaveLength(STEPS);
    expect(paid).toHaveLength(1);
  });
}

if (isDeep) {
  test('no answer that came by the root is lost where its agent goes on in a new run [tree.requests] [flow.resume]', async () => {
    const asking = new Speaking(
      'asking',
      [...Array.from({ length: STEPS }, () => calling({ name: 'pay' })), 'paid'],
      { tools: [pay()] },
    );
    scene = await TreeScene.open(
      openBrief,
      new SequentialAgent({
        name: 'root',
        subAgents: [new SequentialAgent({ name: 'steps', subAgents: [asking.agent] })],
      }),
    );
    const turn = await scene.send();
    const answered = new Set<string>();
    while (answered.size < STEPS) {
      const [request] = await scene.environment.client.approvals.list(scene.names);
      // As soon as the store has it, which is before the agent's workflow hears of it.
      if (request === undefined || answered.has(request.requestId)) continue;
      answered.add(request.requestId);
      await scene.root.signal('confirm', { requestId: request.requestId, confirmed: true });
    }
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'paid' });
    expect(paid).toHaveLength(STEPS);
    expect(new Set(paid).size).toBe(STEPS);
    expect(Math.max(...(await runsBelow()).values())).toBeGreaterThan(1);
  });
}
