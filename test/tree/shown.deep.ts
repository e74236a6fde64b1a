import { expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { ParallelAgent, SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const openEnvironment = shareEnvironment();
let scene: TreeScene;

const open = async (agent: BaseAgent) => {
  scene = await TreeScene.open(openEnvironment, agent);
  return await scene.send();
};
const pay = () =>
  tool({ name: 'pay', description: 'd', requireConfirmation: true, execute: () => ({ paid: true }) });
const paying = (name: string) =>
  new Speaking(name, [calling({ name: 'pay' }), 'paid'], { description: 'd', tools: [pay()] }).agent;
const labelOf = async (workflowId = scene.rootId) => {
  const { searchAttributes } = await scene.handle(workflowId).describe();
  return searchAttributes.HoldfastStatus?.[0];
};

test('an operator who looks at the root sees what waits below it, at any depth, and how to answer it [tree.requests]', async () => {
  const held = new HeldTool();
  const desk = new Speaking('desk', [calling({ name: 'expert', args: { request: 'x' } }), 'done'], {
    tools: [new AgentTool({ agent: paying('expert') })],
  });
  const holding = new Speaking('holding', [calling({ name: 'hold' }), 'held'], { tools: [held.tool()] });
  const both = new ParallelAgent({ name: 'both', subAgents: [desk.agent, holding.agent] });
  const turn = await open(new SequentialAgent({ name: 'root', subAgents: [both] }));
  const [[request]] = await Promise.all([scene.pending(1), held.begun()]);
  await expect.poll(() => scene.details()).toContain(`npx holdfast approvals approve ${request?.requestId}`);
  expect(await scene.details()).toMatch(/root \/ both \/ desk \/ expert: waits for approval of `pay` since/);
  expect(await scene.details()).toMatch(/- root \/ both: runs since/);
  expect((await scene.status()).children).toMatchObject([
    {
      agent: 'both',
      path: ['root', 'both'],
      status: 'running',
      waits: [
        {
          path: ['root', 'both', 'desk', 'expert'],
          status: 'waiting_approval',
          tool: 'pay',
          requestId: request?.requestId,
          workflowId: request?.workflowId,
        },
      ],
    },
  ]);
  // Somebody is still at work.
  expect(await labelOf()).toBe('running');
  held.release();
  await expect.poll(() => labelOf()).toBe('waiting_approval');
  await expect.poll(async () => (await scene.status()).status).toBe('waiting_approval');
  expect(await labelOf(request?.workflowId)).toBe('waiting_approval');
  const { staticSummary } = await scene.handle(request?.workflowId ?? '').describe();
  expect(await staticSummary()).toBe('root / both / desk / expert');
  await scene.root.signal('confirm', { confirmed: true });
  await turn.result();
  await expect.poll(() => labelOf()).toBe('running');
  expect(await scene.details()).not.toContain('waits for');
});

test('of many agents the first ones are shown, those that wait before the others, and the rest is counted [tree.requests]', async () => {
  const held = new HeldTool();
  const heldBack = new HeldTool();
  const agents = Array.from({ length: 19 }, (_, n) =>
    n < 2
      ? new Speaking(`busy_${n}`, [calling({ name: 'hold' }), 'held'], { tools: [held.tool()] }).agent
      : paying(`asking_${n}`),
  );
  const late = new Speaking('asking_late', [calling({ name: 'hold' }), calling({ name: 'pay' }), 'paid'], {
    description: 'd',
    tools: [heldBack.tool(), pay()],
  });
  const all = new ParallelAgent({ name: 'all', subAgents: [...agents, late.agent] });
  const turn = await open(new SequentialAgent({ name: 'root', subAgents: [all] }));
  await Promise.all([scene.pending(17), held.begun(2), heldBack.begun()]);
  // One more is told all the way up although it changes none of those that are shown.
  await expect.poll(() => scene.details()).toMatch(/^- and 9 more$/m);
  heldBack.release();
  await scene.pending(18);
  const { workflowId } = await scene.child('all');
  await expect
    .poll(async () => (await scene.status(workflowId)).children?.filter(({ waits }) => waits).length)
    .toBe(18);
  const details = await scene.details(workflowId);
  expect(details.match(/^- root \/ all \/ asking_\d+: waits for approval since/gm)).toHaveLength(8);
  expect(details.match(/^- root \/ all \/ asking_\d+: waits for approval of/gm)).toHaveLength(8);
  expect(details.match(/^- and (\d+) more$/gm)).toEqual(['- and 10 more', '- and 12 more']);
  await expect.poll(() => scene.details()).toMatch(/^- and 10 more$/m);
  const [child] = (await scene.status()).children ?? [];
  expect(child?.waits).toHaveLength(16);
  expect(child?.more).toBe(2);
  await scene.root.signal('interrupt', {});
  await turn.result();
});
