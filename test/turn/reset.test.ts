import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ToolError } from '../../src/tools/tool-error.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { contentsOf, stepCalls } from '../setup/scripts.ts';
import { settledCalls } from '../setup/settled-calls.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { type History, openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const LARGE = 100 * 1024;

/** Call keys of the tools' runs, in order. */
let effects: string[] = [];
const held = new HeldTool();
const heldSecond = new HeldTool('hold_second');

const adds = (execution: 'activity' | 'inline') =>
  tool({
    name: `add_${execution}`,
    description: 'adds and counts',
    parameters: z.object({ a: z.number() }),
    execution,
    execute: ({ a }, context) => {
      effects.push(context.callKey);
      context.state.set('sum', (context.state.get<number>('sum', 0) ?? 0) + a);
      return { a };
    },
  });
const large = tool({
  name: 'large',
  description: 'takes and returns much',
  parameters: z.object({ data: z.string() }),
  execute: (_args, context) => {
    effects.push(context.callKey);
    return { data: 'r'.repeat(LARGE) };
  },
});
const fails = tool({
  name: 'fails',
  description: 'fails the first time, and then for good',
  retry: { initialInterval: 1, maximumInterval: 2 },
  execute: (_args, context) => {
    effects.push(context.callKey);
    throw new ToolError('no luck', { retryable: context.attempt === 1 });
  },
});

const agents = () => [
  new LlmAgent({
    name: 'support',
    model: 'gemini-2.5-flash',
    tools: [adds('activity'), adds('inline'), large, fails, held.tool(), heldSecond.tool()],
  }),
];

const add = (a: number) => ({ name: 'add_activity', args: { a } });
const addInline = (a: number) => ({ name: 'add_inline', args: { a } });
const much = { name: 'large', args: { data: 'a'.repeat(LARGE) } };
const STEPS = [
  [add(1), much, addInline(2), { name: 'fails' }, much],
  [add(3)],
  [{ name: 'missing' }, addInline(4), add(5)],
];

const ONE_STEP = ['message', 'model', 'responses', 'model'];

const kindsOf = (transcript: readonly StoredEvent[]) => transcript.map(({ kind }) => kind);
const scripted = (steps: Parameters<typeof stepCalls>[0]) =>
  stepCalls(steps) as Extract<GeminiScript, (...args: never[]) => unknown>;

interface Run {
  workflowId: string;
  runId: string;
}

interface Recorded {
  result: unknown;
  transcript: StoredEvent[];
  effects: string[];
  requests: number;
}

class Session {
  readonly names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  readonly #environment: TurnEnvironment;

  constructor(environment: TurnEnvironment) {
    this.#environment = environment;
  }

  get #workflow() {
    return this.#environment.temporal.workflow;
  }

  /** What must not change, once the run has ended. */
  async recorded(run: Run): Promise<Recorded> {
    const { gemini, store } = this.#environment;
    return {
      result: await this.#workflow.getHandle(run.workflowId, run.runId).result(),
      transcript: await store.sessions.readEvents(this.names),
      effects: [...effects],
      requests: gemini.requests.length,
    };
  }

  async history({ workflowId, runId }: Run): Promise<History> {
    return await this.#workflow.getHandle(workflowId, runId).fetchHistory();
  }

  /** The ends of a run's workflow tasks, at which it can be reset. */
  async workflowTasks(run: Run) {
    const { events } = await this.history(run);
    return (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  }

  async reset({ workflowId, runId }: Run, { eventId }: NonNullable<History['events']>[number]): Promise<Run> {
    const { temporal } = this.#environment;
    const reset = await temporal.workflowService.resetWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: eventId ?? null,
      reason: 'a test',
      requestId: randomUUID(),
    });
    return { workflowId, runId: reset.runId };
  }

  /** The runs of a chain that continued as new, from its first. */
  async chain(run: Run): Promise<Run[]> {
    const { events } = await this.history(run);
    const next = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    return [run, ...(next ? await this.chain({ ...run, runId: next }) : [])];
  }
}

const kinds = [
  { kind: 'a run', serverConfig: undefined, tasks: 4 },
  {
    kind: 'runs that continued each other',
    serverConfig: ['limit.historyCount.suggestContinueAsNew=15'],
    tasks: 4,
  },
];

describe.each(kinds.slice(inTier(1, 0)))(
  '$kind, reset to each of its workflow tasks',
  ({ serverConfig, tasks }) => {
    let environment: TurnEnvironment;
    let session: Session;

    beforeAll(async () => {
      environment = await openTurnEnvironment({ agents: agents(), serverConfig });
    });
    beforeEach(() => {
      effects = [];
      held.hold();
      heldSecond.hold();
      session = new Session(environment);
    });
    afterAll(() => environment.close());

    /** Resets every run to every workflow task and expects that nothing has happened. */
    async function expectNothingRepeated(first: Run, expected: Recorded): Promise<void> {
      let resets = 0;
      for (const run of await session.chain(first)) {
        for (const task of await session.workflowTasks(run)) {
          const reset = await session.reset(run, task);
          expect(await session.recorded(reset), `reset of ${run.runId} to ${task.eventId}`).toEqual(expected);
          resets += 1;
        }
      }
      expect(resets).toBeGreaterThanOrEqual(tasks);
      expect(environment.gemini.refusals).toEqual([]);
    }

    test('a turn with parallel, large, inline, failing and unknown calls: no effect, no model call more [steer.reset]', async () => {
      environment.gemini.reset(stepCalls(STEPS));
      const turn = await environment.client.sendMessage({ ...session.names, message: 'go' });
      const expected = await session.recorded(turn);
      expect(expected.effects).toHaveLength(9);
      expect(expected.requests).toBe(4);
      expect((await session.chain(turn)).length > 1).toBe(serverConfig !== undefined);
      await expectNothingRepeated(turn, expected);
    });

    if (isDeep) {
      test('two invocations, the second one queued: both as they were recorded [steer.reset]', async () => {
        environment.gemini.reset(stepCalls([[{ name: 'hold' }, add(1)], [add(2)]]));
        const turn = await environment.client.sendMessage({
          ...session.names,
          message: 'first',
          messageId: 'm1',
        });
        await held.begun();
        const second = { ...session.names, message: 'second', messageId: 'm2' };
        await environment.client.sendMessage(second);
        held.release();
        const expected = await session.recorded(turn);
        const { others } = expected.result as TurnResult;
        expect(others).toHaveLength(1);
        expect(expected.effects).toHaveLength(4);
        await expectNothingRepeated(turn, expected);
      });
    }

    if (isDeep) {
      test('an older turn, behind which the session has gone on: the newer one stays [steer.reset]', async () => {
        environment.gemini.reset(stepCalls([[add(1)], [add(2)]]));
        const older = await environment.client.sendMessage({ ...session.names, message: 'go' });
        await older.result();
        const newer = await environment.client.sendMessage({ ...session.names, message: 'and now?' });
        const { transcript } = await session.recorded(newer);
        const expected = { ...(await session.recorded(older)), transcript };
        await expectNothingRepeated(older, expected);

        await (await environment.client.sendMessage({ ...session.names, message: 'still there?' })).result();
        expect(contentsOf(environment.gemini.requests.at(-3)).at(-1)?.parts).toEqual([
          { text: 'still there?' },
        ]);
      });
    }

    test('while a queued message is answered, to before it came: it is answered, once [steer.reset]', async () => {
      environment.gemini.reset((request, info) =>
        scripted([[{ name: info.userText === 'second' ? 'hold_second' : 'hold' }, add(1)]])(request, info),
      );
      const added = settledCalls(environment.store, 'add_activity', 2);
      const turn = await environment.client.sendMessage({
        ...session.names,
        message: 'first',
        messageId: 'm1',
      });
      await held.begun();
      await environment.client.sendMessage({ ...session.names, message: 'second', messageId: 'm2' });
      held.release();
      await Promise.all([heldSecond.begun(), added]);
      const [task] = await session.workflowTasks(turn);
      if (task === undefined) throw new Error('no workflow task has completed');
      const reset = await session.reset(turn, task);
      heldSecond.release();
      const { result, transcript, requests } = await session.recorded(reset);
      expect(kindsOf(transcript)).toEqual([...ONE_STEP, ...ONE_STEP]);
      expect(result).toMatchObject({ status: 'completed', others: [{ status: 'completed' }] });
      expect(effects).toHaveLength(2);
      expect(requests).toBe(4);
      expect(environment.gemini.refusals).toEqual([]);
    });

    test('a turn under way, while its call runs: the call runs once more, with its key, what was recorded does not [steer.reset]', async () => {
      environment.gemini.reset(stepCalls([[add(1)], [{ name: 'hold' }, add(2)]]));
      const added = settledCalls(environment.store, 'add_activity', 2);
      const turn = await environment.client.sendMessage({ ...session.names, message: 'go' });
      await Promise.all([held.begun(), added]);
      const [task] = await session.workflowTasks((await session.chain(turn)).at(-1) ?? turn);
      if (task === undefined) throw new Error('no workflow task has completed');
      const reset = await session.reset((await session.chain(turn)).at(-1) ?? turn, task);
      await held.begun(2);
      held.release();
      const { result, transcript } = await session.recorded(reset);
      expect(result).toMatchObject({ status: 'completed', text: 'done' });
      expect(effects).toHaveLength(2);
      expect(environment.gemini.requests).toHaveLength(3);
      expect(kindsOf(transcript)).toEqual([...ONE_STEP, 'responses', 'model']);
      expect(environment.gemini.refusals).toEqual([]);
    });
  },
);
