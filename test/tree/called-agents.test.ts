import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function ask(agent: BaseAgent, message = 'go', state: Record<string, unknown> = {}) {
  const environment = await openEnvironment({ agents: [agent] });
  const { client } = environment;
  const names = { app: 'test', userId: randomUUID(), sessionId: randomUUID() };
  const turn = await client.sendMessage({ ...names, message, stateDelta: state });
  const result = await turn.result().catch((error: unknown) => error);
  return { ...environment, names, turn, result };
}

test('an agent that a tool stands for is asked in a session of its own, which begins with the state of its caller, and what it changes comes back [agentTool.run] [agentTool.state]', async () => {
  const noting = tool({
    name: 'note',
    description: 'd',
    execute: (_args: unknown, ctx) => {
      ctx.state.set('noted', `${ctx.state.get('plan')} by ${ctx.agentName}`);
      ctx.state.set('user:seen', true);
      return { noted: true };
    },
  });
  const helper = new Speaking('helper', [calling({ name: 'note' }), 'it is 42'], {
    description: 'knows it all',
    tools: [noting],
  });
  const root = new Speaking(
    'root',
    [calling({ name: 'helper', args: { request: 'what is it?' } }), 'it is said to be 42'],
    { tools: [new AgentTool({ agent: helper.agent })] },
  );
  const { client, store, names, result } = await ask(root.agent, 'go', { plan: 'gold' });
  expect(result).toMatchObject({ status: 'completed', text: 'it is said to be 42' });
  expect(textsOf(helper.shown[0])).toEqual(['what is it?']);
  expect(root.shown[1]?.at(-1)?.parts).toMatchObject([
    { functionResponse: { name: 'helper', response: { result: 'it is 42' } } },
  ]);
  const session = await client.sessions.get(names);
  expect(session?.state).toMatchObject({ plan: 'gold', noted: 'gold by helper', 'user:seen': true });
  expect(session?.usage).toMatchObject({ modelCalls: 4 });
  const [child, ...more] = await store.turns.listChildren(names);
  expect(more).toEqual([]);
  expect(child).toMatchObject({ status: 'completed', path: ['root', 'helper'], parent: session?.session });
  const listed = await client.sessions.list({ app: names.app, userId: names.userId });
  expect(listed.sessions.map(({ sessionId }) => sessionId)).toEqual([names.sessionId]);
});

test('the run of a tool’s agent uses no more than its budget, nor than what is left of its caller’s, and the caller is told [agentTool.run] [tree.budget]', async () => {
  const deep = new Speaking('deep', [calling({ name: 'again' })], {
    tools: [tool({ name: 'again', description: 'd', execute: () => ({ ok: true }) })],
  });
  const helper = new Speaking('helper', [calling({ name: 'deep', args: { request: 'dig' } }), 'it gave up'], {
    tools: [new AgentTool({ agent: deep.agent, budget: { modelCalls: 50 } })],
  });
  const root = new Speaking('root', [calling({ name: 'helper', args: { request: 'ask' } }), 'done'], {
    tools: [new AgentTool({ agent: helper.agent, budget: { modelCalls: 4 } })],
  });
  const { result } = await ask(root.agent);
  expect(result).toMatchObject({ status: 'completed', text: 'done', usage: { modelCalls: 6 } });
  // One of the four is its caller's, which has none left for its own answer.
  expect(deep.shown).toHaveLength(3);
  expect(helper.shown).toHaveLength(1);
  expect(root.shown[1]?.at(-1)?.parts).toMatchObject([
    {
      functionResponse: {
        name: 'helper',
        response: {
          error: expect.stringMatching(
            /^error from sub-agent "helper" \(code: "HOLDFAST_BUDGET_EXCEEDED", message: "the agent's budget of 4 model calls is used up: 4 used"\)$/,
          ),
        },
      },
    },
  ]);
});

test('what people have said to a called agent is in the audit of the root, in a chain of its own [agentTool.gates] [tree.requests]', async () => {
  const paid: unknown[] = [];
  const pay = tool({
    name: 'pay',
    description: 'd',
    requireConfirmation: true,
    execute: () => {
      paid.push(1);
      return { paid: true };
    },
  });
  const helper = new Speaking('helper', [calling({ name: 'pay' }), 'paid'], { tools: [pay] });
  const root = new Speaking('root', [calling({ name: 'helper', args: { request: 'pay' } }), 'done'], {
    tools: [new AgentTool({ agent: helper.agent })],
  });
  const environment = await openEnvironment({ agents: [root.agent] });
  const { client, store } = environment;
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await client.sendMessage({ ...names, message: 'go' });
  await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
  const [request] = await client.approvals.list(names);
  expect(request).toMatchObject({ ...names, agent: 'helper', path: ['root', 'helper'] });
  await client.approvals.confirm({ requestId: request?.requestId ?? '' }, { confirmed: true });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
  expect(paid).toHaveLength(1);
  const [child] = await store.turns.listChildren(names);
  const rows = await client.approvals.audit(names);
  expect(rows.map(({ kind, sessionId }) => [kind, sessionId])).toEqual([
    ['requested', child?.runKey],
    ['approved', child?.runKey],
  ]);
  expect(await client.approvals.verifyAudit(names)).toEqual({ ok: true, rows: 2, problems: [] });
  await store.db
    .updateTable('holdfast.audit')
    .set({ hash: 'forged' })
    .where('session_id', '=', child?.session ?? '')
    .where('n', '=', 1)
    .execute();
  expect(await client.approvals.verifyAudit(names)).toMatchObject({
    ok: false,
    problems: [
      { n: 1, sessionId: child?.runKey },
      { n: 2, sessionId: child?.runKey },
    ],
  });
});
