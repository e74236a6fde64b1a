import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { MissingTemplateValue } from '../../src/flows/fill-template.ts';
import { TranscriptLog } from '../../src/flows/transcript.ts';
import type { EventKind, StoredEvent } from '../../src/store/store.ts';
import type { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { tool } from '../../src/tools/tool.ts';

const add = tool({
  name: 'add',
  description: 'adds',
  parameters: z.object({ a: z.number() }),
  execute: ({ a }) => a,
});
const drop = tool({ name: 'drop', description: 'drops', execute: () => 1 });

function stored(seq: number, kind: EventKind, invocationId: string, text: string): StoredEvent {
  return {
    seq,
    kind,
    runKey: invocationId,
    step: 1,
    event: {
      id: `${seq}`,
      invocationId,
      timestamp: 0,
      content: { role: kind === 'message' ? 'user' : 'model', parts: [{ text }] },
      actions: createEventActions(),
    },
  };
}

const log = new TranscriptLog();
log.append([
  stored(1, 'message', 'e-1', 'first'),
  stored(2, 'model', 'e-1', 'answer'),
  stored(3, 'message', 'e-2', 'second'),
]);
const transcript = log.at(3);
const context = {
  invocationId: 'e-2',
  names: { app: 'shop', userId: 'ada', sessionId: 's1' },
  state: { 'user:name': 'Ada' },
};
const config = { name: 'support', model: 'gemini-2.5-flash' };

describe('a request', () => {
  test('is model, transcript, filled instruction, tools in one entry, and settings [request.build]', async () => {
    const agent = new LlmAgent({
      ...config,
      instruction: 'You help {user:name}.',
      tools: [add, drop],
      generateContentConfig: { temperature: 0.2 },
    });
    const request = await buildRequest(agent, transcript, context);
    expect(request.model).toBe('gemini-2.5-flash');
    expect(request.contents).toEqual([
      { role: 'user', parts: [{ text: 'first' }] },
      { role: 'model', parts: [{ text: 'answer' }] },
      { role: 'user', parts: [{ text: 'second' }] },
    ]);
    expect(request.config).toMatchObject({ temperature: 0.2, systemInstruction: 'You help Ada.' });
    expect(request.config?.tools).toHaveLength(1);
    expect(request.config?.tools?.[0]).toMatchObject({
      functionDeclarations: [{ name: 'add' }, { name: 'drop' }],
    });
    expect(request.toolsDict).toEqual({ add, drop });
  });

  test('of an agent with neither instruction nor tools has neither [request.build]', async () => {
    const { config: settings } = await buildRequest(new LlmAgent(config), transcript, context);
    expect(settings).not.toHaveProperty('systemInstruction');
    expect(settings).not.toHaveProperty('tools');
  });

  test('leaves the agent as it was: two requests of one agent are equal and apart [request.build]', async () => {
    const agent = new LlmAgent({ ...config, instruction: 'Be brief.', tools: [add] });
    const first = await buildRequest(agent, transcript, context);
    first.contents.push({ role: 'user', parts: [{ text: 'more' }] });
    if (first.config) first.config.temperature = 1;
    const second = await buildRequest(agent, transcript, context);
    expect(second.contents).toHaveLength(3);
    expect(second.config).not.toHaveProperty('temperature');
    expect(second.config?.systemInstruction).toBe('Be brief.');
  });

  test('leaves the transcript as it was: who edits what it shares is told [request.build] [store.cache]', async () => {
    const { contents } = await buildRequest(new LlmAgent(config), transcript, context);
    expect(() => contents[0]?.parts?.push({ text: 'more' })).toThrow(TypeError);
    contents[0] = { role: 'user', parts: [{ text: 'other' }] };
    const again = await buildRequest(new LlmAgent(config), transcript, context);
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
    const request = await buildRequest(new LlmAgent({ ...config, instruction }), transcript, context);
    expect(request.config?.systemInstruction).toBe('Say {missing}.');
    expect(seen).toEqual([
      {
        appName: 'shop',
        userId: 'ada',
        sessionId: 's1',
        invocationId: 'e-2',
        agentName: 'support',
        userContent: { role: 'user', parts: [{ text: 'second' }] },
      },
      'Ada',
    ]);
  });

  test('of a retried turn, an instruction provider gets the message that began it [instruction.provider] [session.retry]', async () => {
    let seen: unknown;
    const instruction = ({ userContent }: ReadonlyContext) => {
      seen = userContent;
      return '';
    };
    await buildRequest(new LlmAgent({ ...config, instruction }), transcript, {
      ...context,
      invocationId: 'e-2-again',
    });
    expect(seen).toEqual({ role: 'user', parts: [{ text: 'second' }] });
  });

  test('a provider that throws, and a missing value, fail the request [instruction.provider]', async () => {
    const throwing = new LlmAgent({
      ...config,
      instruction: () => {
        throw new Error('no prompt store');
      },
    });
    await expect(buildRequest(throwing, transcript, context)).rejects.toThrow('no prompt store');
    const missing = new LlmAgent({ ...config, instruction: '{missing}' });
    await expect(buildRequest(missing, transcript, context)).rejects.toThrow(MissingTemplateValue);
  });
});
