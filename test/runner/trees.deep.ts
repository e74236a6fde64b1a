import { afterEach, describe, expect, test } from 'vitest';
import {
  AgentTool,
  type BaseAgent,
  type Content,
  type Event,
  getFunctionCalls,
  LlmAgent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  Runner,
  SequentialAgent,
  tool,
} from '../../src/index.ts';
import { call, type TestEnvironment, text } from '../../src/testing/index.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});
const model = 'gemini-2.5-flash';
const payer = () => new LlmAgent({ name: 'payer', model, instruction: 'I am payer.', tools: [pay] });

describe('a runner of a tree', () => {
  let env: TestEnvironment;
  afterEach(() => env.close());

  async function open(root: BaseAgent) {
    env = await openPlacedEnvironment({
      agents: [root],
      script: ({ contents, systemInstruction }) => {
        const told = JSON.stringify(systemInstruction ?? '');
        const last = contents?.at(-1)?.parts ?? [];
        const answered = last.some(({ functionResponse }) => functionResponse);
        if (told.includes('I am payer.')) return answered ? text('paid') : call('pay');
        if (told.includes('I am desk.'))
          return answered ? text('desk is done') : call('payer', { request: 'go' });
        return answered ? text('moved') : call('transfer_to_agent', { agentName: 'payer' });
      },
    });
    const runner = new Runner({ appName: 'test', agent: root, client: env.client });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'test', userId: 'ada' });
    const run = async (message: string | Content): Promise<Event[]> => {
      const newMessage = typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message;
      const events: Event[] = [];
      for await (const event of runner.runAsync({ userId: 'ada', sessionId, newMessage })) events.push(event);
      return events;
    };
    return { run, names: { app: 'test', userId: 'ada', sessionId } };
  }

  const saidBy = (events: readonly Event[]) =>
    events.map(({ author, content }) => {
      const [part = {}] = content?.parts ?? [];
      return `${author}: ${part.text ?? part.functionCall?.name ?? `← ${part.functionResponse?.name}`}`;
    });
  const approving = (events: readonly Event[]): Content => {
    const asked = events.flatMap((event) => getFunctionCalls(event));
    const request = asked.find(({ name }) => name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME);
    return {
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: request?.id ?? '',
            name: REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
            response: { confirmed: true },
          },
        },
      ],
    };
  };

  test('is told what the agent of a call asks, and answers it there [agentTool.gates] [tree.requests]', async () => {
    const desk = new LlmAgent({
      name: 'desk',
      model,
      instruction: 'I am desk.',
      tools: [new AgentTool({ agent: payer() })],
    });
    const { run, names } = await open(desk);
    const first = await run('go');
    expect(saidBy(first)).toEqual(['desk: payer', `payer: ${REQUEST_CONFIRMATION_FUNCTION_CALL_NAME}`]);
    expect(await env.client.approvals.list(names)).toMatchObject([{ path: ['desk', 'payer'] }]);
    expect(saidBy(await run(approving(first)))).toEqual(['desk: ← payer', 'desk: desk is done']);
  });

  test('goes on with an agent of a sequence behind the answer [flow.resume]', async () => {
    const { run } = await open(new SequentialAgent({ name: 'row', subAgents: [payer()] }));
    const first = await run('go');
    expect(saidBy(first)).toEqual(['payer: pay', `payer: ${REQUEST_CONFIRMATION_FUNCTION_CALL_NAME}`]);
    expect(saidBy(await run(approving(first)))).toEqual(['payer: ← pay', 'payer: paid']);
  });

  test('leaves it to the tree who answers the next message [transfer.next]', async () => {
    const helper = new LlmAgent({
      name: 'payer',
      model,
      instruction: 'I am payer.',
      tools: [tool({ name: 'pay', description: 'd', execute: () => ({ paid: true }) })],
    });
    const root = new LlmAgent({ name: 'root', model, instruction: 'I am root.', subAgents: [helper] });
    const { run } = await open(root);
    expect(saidBy(await run('go')).slice(-2)).toEqual(['payer: ← pay', 'payer: paid']);
    // ADK's rule: who has answered goes on, with no hop through the root.
    expect(saidBy(await run('more'))).toEqual(['payer: pay', 'payer: ← pay', 'payer: paid']);
  });

  test('has its own tree answer, also a message that waits behind another turn [transfer.next]', async () => {
    const release = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = tool({
      name: 'slow',
      description: 'd',
      execute: async () => {
        begun.resolve();
        await release.promise;
        return { done: true };
      },
    });
    const first = new LlmAgent({ name: 'first', model, tools: [slow] });
    const second = new LlmAgent({ name: 'second', model });
    env = await openPlacedEnvironment({
      agents: [first, second],
      script: ({ tools }, { functionResponses }) =>
        tools !== undefined && functionResponses.length === 0 ? call('slow') : text('said'),
    });
    const [one, other] = [first, second].map(
      (agent) => new Runner({ appName: 'test', agent, client: env.client }),
    );
    const { sessionId } = await env.client.sessions.create({ app: 'test', userId: 'ada' });
    const run = async (runner: Runner | undefined) => {
      const events: Event[] = [];
      const newMessage = { role: 'user', parts: [{ text: 'go' }] };
      for await (const event of runner?.runAsync({ userId: 'ada', sessionId, newMessage }) ?? [])
        events.push(event);
      return saidBy(events);
    };
    const running = run(one);
    await begun.promise;
    const waiting = run(other);
    await expect
      .poll(async () => (await env.client.status({ app: 'test', userId: 'ada', sessionId }))?.queued)
      .toBe(1);
    release.resolve();
    expect(await running).toEqual(['first: slow', 'first: ← slow', 'first: said']);
    expect(await waiting).toEqual(['second: said']);
  });
});
