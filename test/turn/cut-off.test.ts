import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { hang, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { settledCalls } from '../setup/settled-calls.ts';
import { inTier } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const add = tool({ name: 'add', description: 'adds', execute: () => ({ sum: 2 }) });
const heldToo = new HeldTool('hold_too');

/** Where a turn is cut off: what its model says, and when it has come so far. */
interface Point {
  script: GeminiScript;
  reached(environment: TurnEnvironment): Promise<unknown>;
  /** What the model says of the calls, in order, at the next turn. */
  responses: unknown[];
}

const CUT_OFF = { error: expect.stringMatching(/cut off|cancelled/) };

const hanging = (step: number): GeminiScript => {
  const calls = stepCalls([[{ name: 'add' }]]) as Extract<GeminiScript, (...args: never[]) => unknown>;
  return (request, info) => (info.index + 1 === step ? hang() : calls(request, info));
};

const POINTS: Record<string, Point> = {
  'the first model call': {
    script: hanging(1),
    reached: ({ gemini }) => gemini.waitForRequests(1),
    responses: [],
  },
  'the second model call': {
    script: hanging(2),
    reached: ({ gemini }) => gemini.waitForRequests(2),
    responses: [{ sum: 2 }],
  },
  'a call': {
    script: stepCalls([[{ name: 'hold' }]]),
    reached: () => held.begun(),
    responses: [CUT_OFF],
  },
  'parallel calls, one of them settled': {
    script: stepCalls([[{ name: 'add' }], [{ name: 'hold' }, { name: 'add' }, { name: 'hold_too' }]]),
    reached: ({ store }) => Promise.all([held.begun(), heldToo.begun(), settledCalls(store, 'add', 2)]),
    responses: [{ sum: 2 }, CUT_OFF, { sum: 2 }, CUT_OFF],
  },
};

describe('a turn that is cut off', () => {
  let environment: TurnEnvironment;
  let names: { app: string; userId: string; sessionId: string };

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [
        new LlmAgent({
          name: 'support',
          model: 'gemini-2.5-flash',
          tools: [add, held.tool(), heldToo.tool()],
        }),
      ],
    });
  });
  beforeEach(() => {
    held.hold();
    heldToo.hold();
    names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  });
  afterAll(() => environment.close());

  async function startedUntil({ script, reached }: Point) {
    environment.gemini.reset(script);
    const there = reached(environment);
    const turn = await environment.client.sendMessage({ ...names, message: 'go', messageId: 'm1' });
    await there;
    return { turn, run: environment.temporal.workflow.getHandle(turn.workflowId, turn.runId) };
  }

  const recorded = (invocationId: string) => environment.store.turns.findInvocation(names, invocationId);

  /** The session's next turn, which the model takes only where each call has exactly one response. */
  async function expectGoesOn({ responses }: Point): Promise<void> {
    environment.gemini.reset([text('still here')]);
    const next = await environment.client.sendMessage({ ...names, message: 'are you there?' });
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'still here' });
    const events = await environment.store.sessions.readEvents(names);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.flatMap(({ event }) => getFunctionCalls(event))).toHaveLength(responses.length);
    expect(responsesOf(events)).toEqual(responses);
    expect(environment.gemini.requests).toHaveLength(1);
    expect(environment.gemini.refusals).toEqual([]);
  }

  const responsesOf = (events: readonly StoredEvent[]) =>
    events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);

  describe.each(Object.entries(POINTS).slice(inTier(2, 0)))('during %s', (_name, point) => {
    test('cancelled: the store says so at once, the next turn goes on, the message is not answered again [steer.reset] [turn.cancel]', async () => {
      const { turn, run } = await startedUntil(point);
      await run.cancel();
      await expect(run.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
      const { status, outcome } = (await recorded(turn.invocationId)) ?? {};
      expect({ status, outcome: outcome?.status }).toEqual({ status: 'interrupted', outcome: 'interrupted' });

      await expectGoesOn(point);
      const transcript = await environment.store.sessions.readEvents(names);
      const again = await environment.client.sendMessage({ ...names, message: 'go', messageId: 'm1' });
      expect(await again.result()).toMatchObject({ status: 'interrupted' });
      expect(await environment.store.sessions.readEvents(names)).toEqual(transcript);
    });

    test('terminated: the next turn goes on, and then the store says so [steer.reset] [store.heal]', async () => {
      const { turn, run } = await startedUntil(point);
      await run.terminate('a test');
      await expectGoesOn(point);
      expect(await recorded(turn.invocationId)).toMatchObject({ status: 'interrupted' });
    });
  });
});
