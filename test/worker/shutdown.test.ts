import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { WorkerOptions } from '../../worker/index.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Milliseconds. */
const SHORT_GRACE = 1_500;
const LONG_GRACE = 120_000;

describe('a worker that shuts down', () => {
  const workerOptions: Partial<WorkerOptions> = { shutdownGraceTime: LONG_GRACE };
  let environment: TurnEnvironment;
  let begun: PromiseWithResolvers<void>;
  let shuttingDown: PromiseWithResolvers<void>;
  let runs: number;
  const works = tool({
    name: 'works',
    description: 'ends when its worker shuts down, which waits for it',
    execute: async (_args, context) => {
      runs += 1;
      begun.resolve();
      await shuttingDown.promise;
      context.abortSignal?.throwIfAborted();
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
      logger: {
        info: (message) => {
          if (message === 'worker shutdown begun') shuttingDown.resolve();
        },
        warn: () => undefined,
      },
      workerOptions,
    });
  });
  beforeEach(() => {
    begun = Promise.withResolvers();
    shuttingDown = Promise.withResolvers();
    runs = 0;
  });
  afterAll(() => environment.close());

  async function restartDuring(name: string, grace: number) {
    if (workerOptions.shutdownGraceTime !== grace) {
      workerOptions.shutdownGraceTime = grace;
      await environment.restartWorker();
      shuttingDown = Promise.withResolvers();
    }
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
    const { result, responses } = await restartDuring('works', LONG_GRACE);
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(responses).toEqual([{ attempt: 1 }]);
    expect(runs).toBe(1);
  });

  if (isDeep) {
    test('leaves what outlives the grace time to the next worker [worker.shutdown]', async () => {
      const { waited, result, responses } = await restartDuring('outlives', SHORT_GRACE);
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(responses).toEqual([{ attempt: 2 }]);
      expect(runs).toBe(2);
      expect(waited).toBeGreaterThanOrEqual(SHORT_GRACE - 100);
    });
  }
});
