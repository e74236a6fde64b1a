import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MissingTemplateValue } from '../../src/agents/instructions.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { MESSAGE, type Scene, siteOf } from './request-scene.ts';

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number() }),
  execute: ({ a }) => a,
});
const drop = tool({ name: 'drop', description: 'drops', execute: () => 1 });

const config = { name: 'support', model: 'gemini-2.5-flash' };
const IDENTITY = 'You are an agent. Your internal name is "support".';

async function requestOf(agent: LlmAgent, scene?: Scene): Promise<LlmRequest> {
  return (await buildRequest(siteOf(agent, scene))).request;
}

describe('a request', () => {
  test('is model, transcript, filled instruction, tools in one entry, and settings [request.build]', async () => {
    const agent = new LlmAgent({
      ...config,
      instruction: 'You help {user:name}.',
      tools: [add, drop],
      generateContentConfig: { temperature: 0.2, labels: { team: 'shop' } },
    });
    const request = await requestOf(agent, { state: { 'user:name': 'Ada' } });
    expect(request.model).toBe('gemini-2.5-flash');
    expect(request.contents).toEqual([
      { role: 'user', parts: [{ text: 'first' }] },
      { role: 'model', parts: [{ text: 'answer' }] },
      { role: 'user', parts: [{ text: 'second' }] },
    ]);
    expect(request.config).toMatchObject({
      temperature: 0.2,
      labels: { team: 'shop', adk_agent_name: 'support' },
      systemInstruction: `${IDENTITY}\n\nYou help Ada.`,
    });
    expect(request.config?.tools).toHaveLength(1);
    expect(request.config?.tools?.[0]).toMatchObject({
      functionDeclarations: [{ name: 'add' }, { name: 'drop' }],
    });
    expect(request.toolsDict).toEqual({ add, drop });
  });

  test('of an agent without tools has none [request.build]', async () => {
    const request = await requestOf(new LlmAgent(config));
    expect(request.config).not.toHaveProperty('tools');
    expect(request.toolsDict).toEqual({});
  });

  test('leaves the agent as it was: two requests of one agent are equal and apart [request.build]', async () => {
    const agent = new LlmAgent({ ...config, instruction: 'Be brief.', tools: [add] });
    const first = await requestOf(agent);
    first.contents.push({ role: 'user', parts: [{ text: 'more' }] });
    if (first.config) first.config.temperature = 1;
    const second = await requestOf(agent);
    expect(second.contents).toHaveLength(3);
    expect(second.config).not.toHaveProperty('temperature');
    expect(second.config?.systemInstruction).toBe(`${IDENTITY}\n\nBe brief.`);
  });

  test('shares none of its settings, at whatever depth, with later ones [request.build]', async () => {
    const given = { stopSequences: ['a'], httpOptions: { headers: { tenant: 'one' } } };
    const staticInstruction = { inlineData: { data: 'AA==', mimeType: 'image/png' } };
    const agent = new LlmAgent({ ...config, generateContentConfig: given, staticInstruction });
    given.stopSequences.push('of the caller');
    const first = await requestOf(agent);
    first.config?.stopSequences?.push('of a callback');
    Object.assign(first.config?.httpOptions?.headers ?? {}, { tenant: 'two' });
    const image = first.contents.flatMap(({ parts = [] }) => parts).find(({ inlineData }) => inlineData);
    expect(() => Object.assign(image?.inlineData ?? {}, { data: '' })).toThrow(TypeError);
    const second = await requestOf(agent);
    expect(second.config).toMatchObject({
      stopSequences: ['a'],
      httpOptions: { headers: { tenant: 'one' } },
    });
  });

  test('leaves the transcript as it was: who edits what it shares is told [request.build] [store.cache]', async () => {
    const { contents } = await requestOf(new LlmAgent(config));
    expect(() => contents[0]?.parts?.push({ text: 'more' })).toThrow(TypeError);
    contents[0] = { role: 'user', parts: [{ text: 'other' }] };
    const again = await requestOf(new LlmAgent(config));
    expect(again.contents[0]).toEqual({ role: 'user', parts: [{ text: 'first' }] });
  });

  test('an instruction provider gets the context and is not filled in [instruction.provider]', async () => {
    const seen: unknown[] = [];
    const instruction = async (given: ReadonlyContext) => {
      const { appName, userId, sessionId, invocationId, agentName, userContent } = given;
      seen.push(
        { appName, userId, sessionId, invocationId, agentName, userContent },
        given.state.get('user:name'),
      );
      return 'Say {missing}.';
    };
    const request = await requestOf(new LlmAgent({ ...config, instruction }), {
      state: { 'user:name': 'Ada' },
    });
    expect(request.config?.systemInstruction).toBe(`${IDENTITY}\n\nSay {missing}.`);
    expect(seen).toEqual([
      {
        appName: 'shop',
        userId: 'ada',
        sessionId: 's1',
        invocationId: 'e-2',
        agentName: 'support',
        userContent: MESSAGE,
      },
      'Ada',
    ]);
  });

  test('a provider that throws or returns no text, and a missing value, fail the request [instruction.provider]', async () => {
    const throwing = new LlmAgent({
      ...config,
      instruction: () => {
        throw new Error('no prompt store');
      },
    });
    await expect(requestOf(throwing)).rejects.toMatchObject({
      code: 'HOLDFAST_INSTRUCTION_FAILED',
      retryable: true,
      message: 'the instruction of agent support failed: no prompt store',
    });
    const silent = new LlmAgent({ ...config, globalInstruction: (() => 5) as unknown as () => string });
    await expect(requestOf(silent)).rejects.toThrow(
      'the global instruction of agent support must be a string, its provider returned number',
    );
    const missing = new LlmAgent({ ...config, instruction: '{missing}' });
    await expect(requestOf(missing)).rejects.toThrow(MissingTemplateValue);
  });
});
