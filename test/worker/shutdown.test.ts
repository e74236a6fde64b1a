import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { tool } from '../../src/tools/tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const GRACE = 4_000;

describe('a worker that shuts down', () => {
  let environment: TurnEnvironment;
  let begun: PromiseWithResolvers<void>;
  let runs: number;
  const works = tool({
    name: 'works',
    description: 'needs a while, for which its worker waits',
    execute: async (_args, context) => {
      runs += 1;
      begun.resolve();
      await setTimeout(1_500, undefined, { signal: context.abortSignal });
      return { attempt: context.attempt };
    },
  });
  const outlives = tool({
    name: 'outlives',
    description: 'needs far longer than its first worker waits',
    execute: async (_args, context) => {
      runs += 1;
      begun.resolve();
      if (context.attempt === 1) await new Promise(() => undefined);
      return { attempt: context.attempt };
    },
  });

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [works, outlives] })],
      workerOptions: { shutdownGraceTime: GRACE },
    });
  });
  beforeEach(() => {
    begun = Promise.withResolvers();
    runs = 0;
  });
  afterAll(() => environment.close());

  async function restartDuring(name: string) {
    environment.gemini.reset(stepCalls([[{ name }]]));
    const running = environment.run({ message: 'go' });
    await begun.promise;
    const asked = performance.now();
    await environment.restartWorker();
    const waited = performance.now() - asked;
    const { result, events } = await running;
    const responses = events.flatMap(({ event }) => getFunctionResponses(event));
    return { waited, result, responses: responses.map(({ response }) => response) };
  }

  test('lets a tool finish within the grace time: it is settled, and not run again [worker.shutdown]', async () => {
    const { result, responses } = await restartDuring('works');
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(responses).toEqual([{ attempt: 1 }]);
    expect(runs).toBe(1);
  });

  test('leaves what outlives the grace time to the next worker [worker.shutdown]', async () => {
    const { waited, result, responses } = await restartDuring('outlives');
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(responses).toEqual([{ attempt: 2 }]);
    expect(runs).toBe(2);
    expect(waited).toBeGreaterThanOrEqual(GRACE - 100);
  });
});
