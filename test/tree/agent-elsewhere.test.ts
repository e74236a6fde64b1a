import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AgentTool, type AgentToolConfig } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { App } from '../../src/app/app.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { createWorker } from '../../worker/index.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

/** Of the workers elsewhere. */
let library: string;
beforeEach(() => {
  library = `library-${randomUUID()}`;
});

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** A worker of its own for agents that live elsewhere. */
async function serve(scene: TreeScene, agent: BaseAgent, apps: App[] = []): Promise<void> {
  const { address, namespace } = scene.environment.place;
  const connection = await NativeConnection.connect({ address });
  const silent = () => undefined;
  const worker = await createWorker({
    agents: [agent],
    apps,
    store: scene.environment.store,
    connection,
    namespace,
    taskQueue: library,
    searchAttributes: true,
    shutdownGraceTime: 0,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
  });
  const ended = worker.run();
  open.push(async () => {
    worker.shutdown();
    await ended;
    await connection.close();
  });
}

/** An editor that asks a librarian who lives elsewhere; what it is here must never be asked. */
async function openLibrary(
  librarian: Speaking,
  more: Partial<AgentToolConfig> = {},
): Promise<{ scene: TreeScene; editor: Speaking; absent: Speaking }> {
  const absent = new Speaking(librarian.agent.name, ['I am not here.'], { description: 'finds books' });
  const editor = new Speaking(
    'editor',
    [calling({ name: librarian.agent.name, args: { request: 'where?' } }), 'Done.'],
    { tools: [new AgentTool({ agent: absent.agent, taskQueue: library, ...more })] },
  );
  const scene = await TreeScene.open(openEnvironment, editor.agent);
  await serve(scene, librarian.agent);
  return { scene, editor, absent };
}

test('an agent that is a tool runs where it lives, with what it has there, and within the budget of its call [agentTool.run] [tree.budget]', async () => {
  const own = tool({
    name: 'own',
    description: 'd',
    execute: (_args, { state }) => ({ plan: state.get('plan') }),
  });
  const librarian = new Speaking('librarian', [calling({ name: 'own' }), 'in the cellar'], {
    tools: [own],
    outputKey: 'found',
  });
  const { scene, editor, absent } = await openLibrary(librarian);
  const { client } = scene.environment;
  const turn = await client.sendMessage({ ...scene.names, message: 'go', stateDelta: { plan: 'gold' } });
  expect(await turn.result()).toMatchObject({ status: 'completed', usage: { modelCalls: 4 } });
  expect(await scene.responses()).toEqual([{ name: 'librarian', response: { result: 'in the cellar' } }]);
  expect(textsOf(librarian.shown[0])).toEqual(['where?']);
  expect(JSON.stringify(librarian.shown[1])).toContain('gold');
  expect([editor, absent].map(({ shown }) => shown.length)).toEqual([2, 0]);
  expect((await scene.environment.store.sessions.get(scene.names))?.state).toMatchObject({
    found: 'in the cellar',
  });
  const [child] = await scene.below();
  const { taskQueue } = await scene.handle(child?.workflowId ?? '').describe();
  expect(taskQueue).toBe(library);
});

test('what a call gives it of a budget counts where it lives [tree.budget]', async () => {
  const own = tool({ name: 'own', description: 'd', execute: () => ({}) });
  const librarian = new Speaking('librarian', [calling({ name: 'own' })], { tools: [own] });
  const { scene } = await openLibrary(librarian, { budget: { modelCalls: 2 } });
  expect(await scene.say('go')).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(librarian.shown).toHaveLength(2);
  expect(JSON.stringify(await scene.responses())).toContain('HOLDFAST_BUDGET_EXCEEDED');
});

test.each(
  someOf<[string, boolean]>([
    ['is not known', false],
    ['has no budgets', true],
  ]),
)('what its app keeps a turn to holds where the app %s [tree.budget]', async (_where, isKnown) => {
  const own = tool({ name: 'own', description: 'd', execute: () => ({}) });
  const librarian = new Speaking('librarian', [calling({ name: 'own' })], { tools: [own] });
  const absent = new Speaking('librarian', ['I am not here.'], { description: 'finds books' });
  const editor = new Speaking('editor', [calling({ name: 'librarian', args: { request: 'where?' } })], {
    tools: [new AgentTool({ agent: absent.agent, taskQueue: library })],
  });
  const prices = { 'own-model': { input: 1, output: 1 } };
  const durable = { prices, budgets: { turn: { modelCalls: 4, cost: 1_000 } } };
  const app = new App({ name: 'test', rootAgent: editor.agent, durable });
  const scene = await TreeScene.open(openEnvironment, editor.agent, { apps: [app] });
  await serve(scene, librarian.agent, isKnown ? [new App({ name: 'test', rootAgent: librarian.agent })] : []);
  const { status, error } = await scene.say('go');
  expect({ status, code: error?.code }).toEqual({ status: 'failed', code: 'HOLDFAST_BUDGET_EXCEEDED' });
  expect(librarian.shown).toHaveLength(3);
});

test('a request of an agent that lives elsewhere is listed and answered below its root [agentTool.gates] [tree.requests]', async () => {
  const pay = tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    execute: () => ({ paid: true }),
  });
  const librarian = new Speaking('librarian', [calling({ name: 'pay' }), 'paid'], { tools: [pay] });
  const { scene } = await openLibrary(librarian);
  const turn = await scene.send();
  const [request] = await scene.pending(1);
  expect(request).toMatchObject({ tool: 'pay', path: ['editor', 'librarian'] });
  const { requestId = '' } = request ?? {};
  await scene.environment.client.approvals.confirm({ ...scene.names, requestId }, { confirmed: true });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Done.' });
  expect(await scene.responses()).toEqual([{ name: 'librarian', response: { result: 'paid' } }]);
});

if (isDeep) {
  test('an agent without a worker keeps no turn that is interrupted [agentTool.errors] [tree.cancel]', async () => {
    const absent = new Speaking('librarian', ['never']);
    const editor = new Speaking(
      'editor',
      [calling({ name: 'librarian', args: { request: 'where?' } }), 'And now?'],
      { tools: [new AgentTool({ agent: absent.agent, taskQueue: library })] },
    );
    const scene = await TreeScene.open(openEnvironment, editor.agent);
    const turn = await scene.send();
    await expect.poll(async () => (await scene.below()).length).toBe(1);
    await scene.environment.client.interrupt(scene.names);
    expect(await turn.result()).toMatchObject({ status: 'interrupted' });
    expect(await scene.say('go on')).toMatchObject({ status: 'completed', text: 'And now?' });
  });
}

if (isDeep) {
  test('an agent without a worker is given up when the time of its call is up [agentTool.errors]', async () => {
    const absent = new Speaking('librarian', ['never']);
    const editor = new Speaking(
      'editor',
      [calling({ name: 'librarian', args: { request: 'where?' } }), 'Then not.'],
      { tools: [new AgentTool({ agent: absent.agent, taskQueue: library, timeout: '1 second' })] },
    );
    const scene = await TreeScene.open(openEnvironment, editor.agent);
    const turn = await scene.send();
    // Its workflow is asked to end, and nobody is there who could.
    await expect.poll(async () => (await scene.below()).length).toBe(1);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Then not.' });
    expect(JSON.stringify(await scene.responses())).toContain('HOLDFAST_AGENT_TIMED_OUT');
    const [child] = await scene.environment.store.turns.listChildren(scene.names);
    expect(child?.status ?? 'never begun').toBe('never begun');
    // A worker that comes then asks no model.
    const late = new Speaking('librarian', ['too late']);
    expect(await scene.below()).toMatchObject([{ status: 'RUNNING' }]);
    await serve(scene, late.agent);
    await expect
      .poll(async () => (await scene.below()).filter(({ status }) => status === 'RUNNING'))
      .toEqual([]);
    expect(late.shown).toEqual([]);
  });
}
