import { afterEach, describe, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { type OpenShared, shareEnvironment } from '../setup/shared-environment.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';

const STEPS = 8;

const openEnvironment = shareEnvironment();
/** Turns go on as new runs early. */
const openBrief = shareEnvironment({ serverConfig: SHORT_RUNS });

let scene: TreeScene;
let paid: string[] = [];
afterEach(() => {
  paid = [];
});

async function open(agent: BaseAgent, of: OpenShared = openEnvironment): Promise<void> {
  scene = await TreeScene.open(of, agent);
}

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

const asks = (name: string) => calling({ name, args: { request: 'please' } });

/** A desk that asks an expert, who asks a cashier, who pays. */
function tree(payments = 1) {
  const cashier = new Speaking(
    'cashier',
    [...Array.from({ length: payments }, () => calling({ name: 'pay' })), 'paid'],
    { description: 'd', tools: [pay()] },
  );
  const expert = new Speaking('expert', [asks('cashier'), 'it is paid'], {
    description: 'd',
    tools: [new AgentTool({ agent: cashier.agent })],
  });
  const desk = new Speaking('desk', [asks('expert'), 'all is well'], {
    tools: [new AgentTool({ agent: expert.agent })],
  });
  return { cashier, expert, desk };
}

const lastResponse = (speaking: Speaking) =>
  speaking.shown.at(-1)?.at(-1)?.parts?.[0]?.functionResponse?.response;

describe('an agent that a call runs', () => {
  test('is answered for where an operator terminates it, and those below it end [agentTool.errors] [tree.cancel]', async () => {
    const { desk, expert } = tree();
    await open(desk.agent);
    const turn = await scene.send();
    await scene.pending(1);
    const { workflowId } = await scene.child('expert');
    await scene.handle(workflowId).terminate('a test');
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'all is well' });
    expect(lastResponse(desk)).toEqual({ error: expect.stringMatching(/expert.*terminated/) });
    expect(expert.shown).toHaveLength(1);
    await expect
      .poll(async () => (await scene.below()).map(({ status }) => status).toSorted())
      .toEqual(['CANCELLED', 'TERMINATED']);
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    const children = await scene.environment.store.turns.listChildren(scene.names);
    expect(children.map(({ status }) => status)).toEqual(['interrupted', 'interrupted']);
    expect(paid).toEqual([]);
    expect(await scene.say('and now?')).toMatchObject({ status: 'completed', text: 'all is well' });
  });

  test('ends with a turn that is cancelled, at any depth, and the session goes on [tree.cancel]', async () => {
    const held = new HeldTool();
    const slow = new Speaking('slow', [calling({ name: 'hold' })], {
      description: 'd',
      tools: [held.tool()],
    });
    const { desk, expert } = tree();
    expert.replies = [calling({ name: 'cashier', args: { request: 'a' } }), 'it is paid'];
    const root = new Speaking(
      'root',
      [calling({ name: 'desk', args: { request: 'a' } }, { name: 'slow', args: { request: 'b' } }), 'over'],
      { tools: [new AgentTool({ agent: desk.agent }), new AgentTool({ agent: slow.agent })] },
    );
    await open(root.agent);
    const turn = await scene.send();
    await Promise.all([scene.pending(1), held.begun()]);
    await scene.root.cancel();
    await expect(turn.result()).rejects.toThrow('cancelled');
    expect((await scene.below()).map(({ status }) => status)).toEqual(Array(4).fill('CANCELLED'));
    const children = await scene.environment.store.turns.listChildren(scene.names);
    expect(children.map(({ status }) => status)).toEqual(Array(4).fill('interrupted'));
    expect(await scene.environment.client.approvals.list(scene.names)).toEqual([]);
    root.replies = ['as before'];
    expect(await scene.say('again')).toMatchObject({ status: 'completed', text: 'as before' });
  });

  test.each(['cancelCall', 'interrupt'])(
    'has ended where %s cuts its call off while its model is asked the first time [tree.cancel]',
    async (order) => {
      const asked = Promise.withResolvers<void>();
      const silent = () => {
        asked.resolve();
        return new Promise<never>(() => undefined);
      };
      const expert = new Speaking('expert', [silent], { description: 'd' });
      const desk = new Speaking('desk', [asks('expert'), 'without it'], {
        tools: [new AgentTool({ agent: expert.agent })],
      });
      await open(desk.agent);
      const turn = await scene.send();
      await asked.promise;
      const { running, invocationId } = await scene.status();
      await scene.root.signal(
        order,
        order === 'interrupt' ? { invocationId } : { callKey: running[0]?.callKey },
      );
      const status = order === 'interrupt' ? 'interrupted' : 'completed';
      // The model that was asked may have answered.
      const usage = { modelCalls: order === 'interrupt' ? 2 : 3, unknownCalls: 1 };
      expect(await turn.result()).toMatchObject({ status, usage });
      expect(await scene.environment.store.turns.listChildren(scene.names)).toMatchObject([
        { status: 'interrupted' },
      ]);
    },
  );

  test.each(['root', 'expert', 'cashier'])(
    'of which %s is reset while it waits does nothing again that was done [agentTool.gates] [flow.resume]',
    async (whose) => {
      const { desk, expert, cashier } = tree(2);
      await open(desk.agent);
      await scene.send();
      const [first] = await scene.pending(1);
      await scene.root.signal('confirm', { requestId: first?.requestId, confirmed: true });
      await expect.poll(() => paid.length).toBe(1);
      await expect
        .poll(async () => (await scene.environment.client.approvals.list(scene.names))[0]?.requestId)
        .not.toBe(first?.requestId);
      const [second] = await scene.pending(1);
      const ids = {
        root: scene.rootId,
        expert: (await scene.child('expert')).workflowId,
        cashier: second?.workflowId ?? '',
      };
      await scene.reset(ids[whose as keyof typeof ids]);
      await expect
        .poll(
          async () => {
            for (const { requestId } of await scene.environment.client.approvals.list(scene.names))
              await scene.root.signal('confirm', { requestId, confirmed: true });
            return (await scene.root.describe()).status.name;
          },
          { interval: 500 },
        )
        .not.toBe('RUNNING');
      expect(await scene.root.result()).toMatchObject({ status: 'completed', text: 'all is well' });
      expect(paid).toHaveLength(2);
      expect(new Set(paid).size).toBe(2);
      expect([desk, expert, cashier].map(({ shown }) => shown.length)).toEqual([2, 2, 3]);
      expect(lastResponse(desk)).toEqual({ result: 'it is paid' });
    },
  );

  test('goes on in new runs, and loses no answer that came by the root [agentTool.gates] [tree.requests]', async () => {
    const { desk } = tree(STEPS);
    await open(new SequentialAgent({ name: 'root', subAgents: [desk.agent] }), openBrief);
    const turn = await scene.send();
    const answered = new Set<string>();
    while (answered.size < STEPS) {
      const [request] = await scene.environment.client.approvals.list(scene.names);
      // As soon as the store has it, which is before the agent's workflow hears of it.
      if (request === undefined || answered.has(request.requestId)) continue;
      answered.add(request.requestId);
      await scene.root.signal('confirm', { requestId: request.requestId, confirmed: true });
    }
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'all is well' });
    expect(paid).toHaveLength(STEPS);
    expect(new Set(paid).size).toBe(STEPS);
    expect((await scene.below()).length).toBeGreaterThan(3);
  });
});
