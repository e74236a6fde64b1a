import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { calling, Speaking, textsOf } from './speaking.ts';

const openEnvironment = shareEnvironment();

async function start(agent: BaseAgent) {
  const environment = await openEnvironment({ agents: [agent] });
  const { client } = environment;
  const names = { app: 'test', userId: randomUUID(), sessionId: randomUUID() };
  const turn = await client.sendMessage({ ...names, message: 'go' });
  const pending = async () => {
    await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
    const [request] = await client.approvals.list(names);
    if (request === undefined) throw new Error('nobody is asked');
    return request;
  };
  const answer = async (response: unknown) => {
    const { requestId } = await pending();
    return await client.approvals.provideInput({ requestId }, { response });
  };
  return { ...environment, names, turn, pending, answer };
}

const finish = (args: Record<string, unknown> = { result: 'it is done' }) =>
  calling({ name: 'finish_task', args });
const ask = (name: string, request = 'do it') => calling({ name, args: { request } });

function offered({ toolsDict }: LlmRequest): string[] {
  return Object.keys(toolsDict).sort();
}

/** A parent whose only sub-agent has a mode. */
function pair(
  replies: ConstructorParameters<typeof Speaking>[1],
  config: Omit<LlmAgentConfig, 'name' | 'model'>,
) {
  const name = `helper_${randomUUID().slice(0, 8)}`;
  const helper = new Speaking(name, replies, { description: 'knows it', ...config });
  const root = new Speaking(`root_${randomUUID().slice(0, 8)}`, [ask(name), 'thanks'], {
    subAgents: [helper.agent],
  });
  const told = () => root.shown[1]?.at(-1)?.parts?.[0]?.functionResponse;
  return { helper, root, name, told };
}

describe('a sub-agent with a mode', () => {
  test('is a tool of its parent, which transfers no turn to it, and answers once in a single turn [mode.tool] [mode.singleTurn]', async () => {
    const asked: string[][] = [];
    const peer = new Speaking('plain_peer', ['hello']);
    const helper = new Speaking('single_helper', ['it is 42'], {
      mode: 'single_turn',
      description: 'knows it',
    });
    const root = new Speaking(
      'single_root',
      [
        (request) => {
          asked.push(offered(request));
          return ask('single_helper', 'what is it?');
        },
        'it is said to be 42',
      ],
      { subAgents: [helper.agent, peer.agent] },
    );
    const { turn, client, names } = await start(root.agent);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'it is said to be 42' });
    expect(asked).toEqual([['single_helper', 'transfer_to_agent']]);
    expect(root.told[0]).toContain('plain_peer');
    expect(root.told[0]).not.toContain('single_helper');
    expect(textsOf(helper.shown[0])).toEqual(['what is it?']);
    expect(helper.told[0]).toContain('Nobody will answer questions');
    expect(helper.told[0]).not.toContain('single_helper');
    expect(root.shown[1]?.at(-1)?.parts).toMatchObject([
      { functionResponse: { name: 'single_helper', response: { result: 'it is 42' } } },
    ]);
    const next = await client.sendMessage({ ...names, message: 'and now?' });
    expect(await next.result()).toMatchObject({ status: 'completed' });
    expect(root.shown).toHaveLength(3);
  });

  test('transfers no turn, and can have sub-agents with modes of their own [mode.tool]', async () => {
    const deep = new Speaking('deep_helper', ['deep answer'], { mode: 'single_turn' });
    const seen: string[][] = [];
    const { root, helper, told } = pair(
      [
        (request) => {
          seen.push(offered(request));
          return ask('deep_helper');
        },
        finish({ result: 'from below' }),
      ],
      { mode: 'task', subAgents: [deep.agent] },
    );
    const { turn } = await start(root.agent);
    expect(await turn.result()).toMatchObject({ text: 'thanks' });
    expect(seen).toEqual([['adk_request_input', 'deep_helper', 'finish_task']]);
    expect(helper.shown[1]?.at(-1)?.parts).toMatchObject([
      { functionResponse: { response: { result: 'deep answer' } } },
    ]);
    expect(told()).toMatchObject({ response: { result: 'from below' } });
  });
});

describe('a task', () => {
  test('ends by finish_task alone, whose checked arguments are its result [mode.task]', async () => {
    const worked: unknown[] = [];
    const work = tool({ name: 'work', description: 'd', execute: () => worked.push(1) });
    const outputSchema = z.object({ total: z.number(), note: z.string().default('none') });
    const { root, helper, told } = pair(
      [
        calling({ name: 'work' }, { name: 'finish_task', args: { total: 1 } }),
        finish({ total: 'many' }),
        finish({ total: 3 }),
      ],
      { mode: 'task', tools: [work], outputSchema, outputKey: 'sum' },
    );
    const { turn, client, names } = await start(root.agent);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'thanks' });
    expect(worked).toHaveLength(1);
    expect(helper.shown[1]?.at(-1)?.parts).toMatchObject([
      { functionResponse: { name: 'work' } },
      { functionResponse: { name: 'finish_task', response: { error: expect.stringContaining('alone') } } },
    ]);
    expect(helper.shown[2]?.at(-1)?.parts).toMatchObject([
      { functionResponse: { response: { error: expect.stringContaining('total') } } },
    ]);
    expect(told()).toMatchObject({ response: { total: 3, note: 'none' } });
    expect((await client.sessions.get(names))?.state).toMatchObject({ sum: { total: 3, note: 'none' } });
    expect(helper.told[0]).toContain('finish_task');
  });

  test('has a result that is no object as the argument `result` [mode.task]', async () => {
    const { root, told } = pair([finish({ result: ['a', 'b'] })], {
      mode: 'task',
      outputSchema: z.array(z.string()),
    });
    const { turn } = await start(root.agent);
    await turn.result();
    expect(told()).toMatchObject({ response: { result: ['a', 'b'] } });
  });

  test('that speaks without finish_task asks a person, and goes on with the answer, also after another question [mode.task.asks]', async () => {
    const { root, helper, name, told } = pair(['Which city?', {}, finish({ result: 'Paris it is' })], {
      mode: 'task',
    });
    const { turn, pending, answer } = await start(root.agent);
    const request = await pending();
    expect(request).toMatchObject({ kind: 'input', hint: 'Which city?', agent: name });
    expect(helper.shown).toHaveLength(1);
    expect(await answer('Paris')).toMatchObject({ status: 'answered' });
    await expect.poll(() => helper.shown.length).toBe(2);
    expect(helper.shown[1]?.slice(-2)).toMatchObject([
      { role: 'model', parts: [{ text: 'Which city?' }, { functionCall: { name: 'adk_request_input' } }] },
      { role: 'user', parts: [{ functionResponse: { response: { result: 'Paris' } } }] },
    ]);
    await expect.poll(async () => (await pending()).requestId).not.toBe(request.requestId);
    expect((await pending()).hint).toContain('has neither asked nor finished');
    await answer('go on');
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'thanks' });
    expect(told()).toMatchObject({ response: { result: 'Paris it is' } });
  });

  test('fails with its model, and its parent is told [mode.task]', async () => {
    const { root, told } = pair([{ errorCode: 'SAFETY', errorMessage: 'no' }], { mode: 'task' });
    const { turn } = await start(root.agent);
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(told()).toMatchObject({ response: { error: expect.stringContaining('SAFETY') } });
  });

  test('of a workflow agent asks, too, and the next agent comes after it is finished [mode.task.asks]', async () => {
    const first = new Speaking('first_task', ['Which?', finish({ result: 'blue' })], {
      mode: 'task',
      tools: [requestInputTool],
      outputKey: 'colour',
    });
    const second = new Speaking('second_agent', ['seen'], { instruction: 'It is {colour?}.' });
    const root = new SequentialAgent({ name: 'in_order', subAgents: [first.agent, second.agent] });
    const { turn, pending, answer } = await start(root);
    expect((await pending()).hint).toBe('Which?');
    expect(second.shown).toHaveLength(0);
    await answer('blue');
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'seen' });
    expect(second.told[0]).toContain('It is blue.');
  });

  test('that is the root of a turn says what it likes, and its next message is the answer [mode.task.asks]', async () => {
    const root = new Speaking('task_root', ['Which city?', finish({ result: 'Paris it is' })], {
      mode: 'task',
    });
    const { turn, client, names } = await start(root.agent);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'Which city?' });
    const next = await client.sendMessage({ ...names, message: 'Paris' });
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'Paris it is' });
  });
});
