import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { PAYLOAD_LIMIT, WORKFLOW_TASK_LIMIT } from '../../src/protocol/sizes.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { payloadSizes, scheduledActivities, workflowTaskSizes } from '../setup/history-facts.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

const large = tool({
  name: 'large',
  description: 'returns that many bytes',
  parameters: z.object({ bytes: z.number(), n: z.number() }),
  execute: ({ bytes, n }) => ({ n, data: 'x'.repeat(bytes) }),
});
const takes = tool({
  name: 'takes',
  description: 'takes much',
  parameters: z.object({ data: z.string() }),
  execute: ({ data }) => ({ bytes: data.length, first: data.slice(0, 3) }),
});

describe('the size rule', () => {
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'sizes', model: 'gemini-2.5-flash', tools: [large, takes] })],
    });
  });
  afterAll(() => environment.close());

  function expectSmallHistory({ history }: RanTurn): void {
    expect(Math.max(...payloadSizes(history))).toBeLessThanOrEqual(PAYLOAD_LIMIT);
    expect(Math.max(...workflowTaskSizes(history))).toBeLessThanOrEqual(WORKFLOW_TASK_LIMIT);
  }

  test('100 parallel calls with results of 64 KiB each [size.results]', async () => {
    const asked = Array.from({ length: 100 }, (_, n) => ({ name: 'large', args: { bytes: 64 * 1024, n } }));
    environment.gemini.reset(stepCalls([asked]));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result.status).toBe('completed');
    expectSmallHistory(turn);
    const told = getFunctionResponses(turn.events[2]?.event ?? {});
    expect(told.map(({ response }) => [response?.n, String(response?.data).length])).toEqual(
      Array.from({ length: 100 }, (_, n) => [n, 64 * 1024]),
    );
    expect(payloadSizes(turn.history).reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(256 * 1024);
  });

  if (isDeep) {
    test('40 calls with arguments of 200 KiB each [size.arguments]', async () => {
      const asked = Array.from({ length: 40 }, (_, n) => ({
        name: 'takes',
        args: {
          data: String(n)
            .padStart(3, '0')
            .padEnd(200 * 1024, 'y'),
        },
      }));
      environment.gemini.reset(stepCalls([asked]));
      const turn = await environment.run({ message: 'go' });
      expect(turn.result.status).toBe('completed');
      expectSmallHistory(turn);
      const told = getFunctionResponses(turn.events[2]?.event ?? {});
      expect(told.map(({ response }) => response)).toEqual(
        Array.from({ length: 40 }, (_, n) => ({ bytes: 200 * 1024, first: String(n).padStart(3, '0') })),
      );
    });
  }

  test('many calls with arguments just below the inline limit stay within one payload [size.arguments]', async () => {
    const asked = Array.from({ length: 120 }, () => ({ name: 'takes', args: { data: 'z'.repeat(4000) } }));
    environment.gemini.reset(stepCalls([asked]));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result.status).toBe('completed');
    expectSmallHistory(turn);
    expect(getFunctionResponses(turn.events[2]?.event ?? {})).toHaveLength(120);
  });

  test('more calls than one plan holds: those beyond are answered, not run [size.calls]', async () => {
    const asked = Array.from({ length: 150 }, (_, n) => ({ name: 'large', args: { bytes: 1, n } }));
    environment.gemini.reset(stepCalls([asked]));
    const turn = await environment.run({ message: 'go' });
    expect(turn.result.status).toBe('completed');
    expect(scheduledActivities(turn.history).filter(({ type }) => type === 'large')).toHaveLength(128);
    const told = getFunctionResponses(turn.events[2]?.event ?? {});
    expect(told).toHaveLength(150);
    expect(told[149]?.response).toEqual({
      error: 'at most 128 calls run at a time; call again with the rest',
    });
  });

  test('a long answer stays in the store, its reference in the result [size.text]', async () => {
    const answer = 'word '.repeat(40_000).trim();
    environment.gemini.reset([text(answer)]);
    const turn = await environment.run({ message: 'go', sessionId: 'long' });
    expectSmallHistory(turn);
    const reference = turn.result.text;
    if (typeof reference !== 'object') throw new Error('expected a reference');
    expect(reference).toMatchObject({ bytes: answer.length + 2, gist: expect.stringMatching(/^"word word/) });
    const names = { app: 'test', userId: 'ada', sessionId: 'long' };
    expect(await environment.store.turns.readReference(names, reference.key)).toBe(answer);
  });
});
