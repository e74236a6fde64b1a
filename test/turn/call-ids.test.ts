import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const ran: number[] = [];
const note = tool({
  name: 'note',
  description: 'notes a number',
  parameters: z.object({ n: z.number() }),
  execute: ({ n }) => {
    ran.push(n);
    return { noted: n };
  },
});

describe('a provider that sends call_0 for every call', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'ids', model: 'gemini-2.5-flash', tools: [note] })],
    });
  });
  afterAll(() => environment.close());

  const twice = (from: number) =>
    stepCalls([
      [
        { id: 'call_0', name: 'note', args: { n: from } },
        { id: 'call_0', name: 'note', args: { n: from + 1 } },
      ],
      [{ id: 'call_0', name: 'note', args: { n: from + 2 } }],
    ]);

  test('each call runs once and gets its own response, in this turn and the next [call.ids]', async () => {
    // The real API would not send one id twice; other providers behind its protocol do.
    environment.gemini.reset(twice(0));
    const first = await environment.run({ message: 'go', sessionId: 'ids' });
    environment.gemini.reset(twice(10));
    const second = await environment.run({ message: 'again', sessionId: 'ids' });
    expect(first.result.status).toBe('completed');
    expect(second.result.status).toBe('completed');
    expect(ran.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 10, 11, 12]);
    expect(environment.gemini.refusals).toEqual([]);

    const calls = second.events.flatMap(({ event }) => getFunctionCalls(event));
    const responses = second.events.flatMap(({ event }) => getFunctionResponses(event));
    expect(new Set(calls.map(({ id }) => id)).size).toBe(6);
    expect(responses.map(({ id }) => id)).toEqual(calls.map(({ id }) => id));
    expect(responses.map(({ response }) => response?.noted)).toEqual([0, 1, 2, 10, 11, 12]);
  });

  test('no request carries one id twice, nor an id that the model did not say [call.ids]', () => {
    const contents = contentsOf(environment.gemini.requests.at(-1));
    const ids = contents.flatMap(({ parts }) =>
      (parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
    );
    expect(ids).toEqual(['call_0']);
  });
});
