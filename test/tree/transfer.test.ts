import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { EXIT_LOOP } from '../../src/tools/built-in/loop-control-tools.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

const to = (agentName: string) => calling({ name: 'transfer_to_agent', args: { agentName } });

async function open(agent: BaseAgent) {
  const opened = await openEnvironment({ agents: [agent] });
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const say = async (message: string) => (await opened.client.sendMessage({ ...names, message })).result();
  return { names, say, ...opened };
}

test('hands the turn to a sub-agent, which also gets the next one; it may hand it back [transfer.to] [transfer.next]', async () => {
  const billing = new Speaking('billing', ['The bill is paid.', 'Anything else?', to('desk')]);
  const desk = new Speaking('desk', [to('billing'), 'Back at the desk.'], { subAgents: [billing.agent] });
  const { say, store, names } = await open(desk.agent);
  expect(await say('my bill?')).toMatchObject({ status: 'completed', text: 'The bill is paid.' });
  expect(await say('thanks')).toMatchObject({ text: 'Anything else?' });
  expect(desk.shown).toHaveLength(1);
  expect(await say('somebody else, please')).toMatchObject({ text: 'Back at the desk.' });
  expect(await say('hello?')).toMatchObject({ text: 'Back at the desk.' });
  const events = await store.sessions.readEvents(names);
  expect(events.map(({ event }) => event.author)).toEqual([
    ...['user', 'desk', 'desk', 'billing'],
    ...['user', 'billing'],
    ...['user', 'billing', 'billing', 'desk'],
    ...['user', 'desk'],
  ]);
  expect(textsOf(billing.shown[0])).toContain(
    '[desk] called tool `transfer_to_agent` with parameters: {"agentName":"billing"}',
  );
});

test('goes to peers, and to no agent that there isn’t: that is an answer [transfer.to] [transfer.unknown]', async () => {
  const sales = new Speaking('sales', [to('nobody'), to('billing')]);
  const billing = new Speaking('billing', ['paid']);
  const desk = new Speaking('desk', [to('sales')], { subAgents: [sales.agent, billing.agent] });
  const { say, store, names } = await open(desk.agent);
  expect(await say('my bill?')).toMatchObject({ status: 'completed', text: 'paid' });
  const responses = (await store.sessions.readEvents(names)).flatMap(({ event }) =>
    (event.content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
  expect(responses[1]).toEqual({ error: expect.stringMatching(/unknown agent.*nobody/) });
});

test('to an agent that runs others ends the turn behind them [transfer.to]', async () => {
  const first = new Speaking('first', ['one']);
  const second = new Speaking('second', ['two']);
  const both = new SequentialAgent({ name: 'both', subAgents: [first.agent, second.agent] });
  const desk = new Speaking('desk', [to('both'), 'never'], { subAgents: [both] });
  const { say } = await open(desk.agent);
  expect(await say('go')).toMatchObject({ status: 'completed', text: 'two' });
  expect(desk.shown).toHaveLength(1);
  // No agent that runs others begins a turn.
  desk.replies = ['mine'];
  expect(await say('and now?')).toMatchObject({ text: 'mine' });
});

test('has the callbacks of each agent asked, those behind them last first [transfer.to]', async () => {
  const told: string[] = [];
  const hooks = (name: string) => ({
    beforeAgentCallback: () => void told.push(`before ${name}`),
    afterAgentCallback: () => void told.push(`after ${name}`),
  });
  const billing = new Speaking('billing', ['paid'], hooks('billing'));
  const desk = new Speaking('desk', [to('billing')], { ...hooks('desk'), subAgents: [billing.agent] });
  const { say } = await open(desk.agent);
  await say('my bill?');
  expect(told).toEqual(['before desk', 'before billing', 'after billing', 'after desk']);
});

test('takes no tools along: each agent has its own [transfer.to]', async () => {
  const secret = tool({ name: 'secret', description: 'd', execute: () => 'secret' });
  const billing = new Speaking('billing', [calling({ name: 'secret' }), 'done']);
  const desk = new Speaking('desk', [to('billing')], { tools: [secret], subAgents: [billing.agent] });
  const { say, store, names } = await open(desk.agent);
  await say('go');
  const responses = (await store.sessions.readEvents(names)).flatMap(({ event }) =>
    (event.content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response ?? []),
  );
  expect(responses.at(-1)).toEqual({ error: expect.stringMatching(/'secret' not found/) });
});

if (isDeep) {
  test('is bounded: two agents that hand a turn to and fro are told to answer [transfer.to]', async () => {
    const billing = new Speaking('billing', [to('desk')]);
    const desk = new Speaking('desk', [to('billing')], { subAgents: [billing.agent] });
    const last = (shown: unknown) =>
      JSON.stringify(shown).includes('transfers are allowed: answer it yourself');
    for (const one of [billing, desk]) {
      const reply = one.replies[0] as ReturnType<typeof to>;
      one.replies = [({ contents }) => (last(contents) ? 'I answer.' : reply)];
    }
    const { say } = await open(desk.agent);
    expect(await say('go')).toMatchObject({ status: 'completed', text: 'I answer.' });
    expect(desk.shown.length + billing.shown.length).toBe(34);
  });
}

test('the agent that a turn is transferred to answers, also where a tool beside it wants no summary [transfer.to]', async () => {
  const billing = new Speaking('billing', ['paid']);
  const both = calling({ name: 'exit_loop' }, { name: 'transfer_to_agent', args: { agentName: 'billing' } });
  const desk = new Speaking('desk', [both], { tools: [EXIT_LOOP], subAgents: [billing.agent] });
  const { say } = await open(desk.agent);
  expect(await say('my bill?')).toMatchObject({ status: 'completed', text: 'paid' });
});
