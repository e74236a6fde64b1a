import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import * as names from '../../src/protocol/names.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { GARBAGE, GarbageAnswers, garbage } from '../setup/garbage-answers.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { jobTool, openJobEnvironment, responsesOf, startJobTurn } from '../setup/job-turns.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier, isDeep, someOf } from '../setup/tier.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

const CODE = 'HOLDFAST_UNUSABLE_RESULT';
const answers = new GarbageAnswers();
const held = new HeldTool();
const model = 'gemini-2.5-flash';
const pays = { description: 'd', execute: () => ({ paid: true }) };
/** What the long-running tools do, which give nothing back, or something at once. */
const jobs = (value?: object) => ({
  execute: () => value,
  poll: () => undefined,
  cancel: () => undefined,
  onTimeout: () => undefined,
});

let environment: TurnEnvironment;
beforeAll(async () => {
  const approval = { allowEdit: true } as const;
  const tools = [
    tool({ ...pays, name: 'pay' }),
    tool({ ...pays, name: 'gated', requireConfirmation: true, approval }),
    jobTool('report', () => jobs()),
    jobTool('order', () => jobs({ status: 'ordered' })),
    new AgentTool({ agent: new LlmAgent({ name: 'expert', model }) }),
    held.tool(),
  ];
  const support = new LlmAgent({ name: 'support', model, tools });
  const line = new SequentialAgent({
    name: 'line',
    subAgents: [new LlmAgent({ name: 'one', model }), new LlmAgent({ name: 'two', model })],
  });
  environment = await openJobEnvironment([], {
    agents: [support, line],
    production: true,
    workerOptions: { interceptors: { activity: [answers.interceptors] } },
  });
});
afterAll(() => environment.close());
beforeEach(() => answers.clear());

/** Of a failure of any depth. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return `${error.message} ${textOf(error.cause)}`;
}

/** It names whose result it is and what is wrong with it, and quotes nothing. */
function expectClear(text: string | undefined, activity: string): void {
  expect(text).toContain(`activity ${activity} gave a result that can’t be used: result`);
  expect(text).toMatch(/: expected .+, got .+/);
  expect(text).not.toContain('planted');
}

async function expectReplays(workflowId: string): Promise<void> {
  const history = await environment.temporal.workflow.getHandle(workflowId).fetchHistory();
  await Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history, workflowId);
}

/** The session goes on once nobody answers in its worker's place, and the run that was spoilt replays. */
async function expectGoesOn({ sessionId }: { sessionId: string }): Promise<void> {
  answers.clear();
  const workflowId = `test/ada/${sessionId}`;
  await expectReplays(workflowId);
  environment.gemini.reset(stepCalls([]));
  const { result } = await environment.run({ sessionId, message: 'and now?' });
  expect(result).toMatchObject({ status: 'completed', text: 'done' });
}

async function asking(sessionId: string, call?: string, agent?: string): Promise<TurnResult> {
  environment.gemini.reset(stepCalls(call === undefined ? [] : [[{ name: call }]]));
  const given = { sessionId, message: 'go', ...(agent === undefined ? {} : { agent }) };
  return (await environment.run(given)).result;
}

async function lastError(sessionId: string): Promise<string | undefined> {
  const events = await environment.store.sessions.readEvents({ app: 'test', userId: 'ada', sessionId });
  return events.at(-1)?.event.errorCode;
}

describe('garbage in the place of a result', () => {
  test.each(
    someOf<[string, number]>([
      ['first', 0],
      ['second', 1],
    ]),
  )('of the %s model step: the turn fails and says so [garbage.turn]', async (_which, behind) => {
    for (const value of garbage(2 + behind)) {
      const sessionId = randomUUID();
      answers.plant(names.CALL_MODEL, value, { behind });
      const { status, error } = await asking(sessionId, 'pay');
      expect([value, status, error?.code]).toEqual([value, 'failed', CODE]);
      expectClear(error?.message, names.CALL_MODEL);
      expect(await lastError(sessionId)).toBe(CODE);
      await expectGoesOn({ sessionId });
    }
  });

  test('of a call: its model is told, and the turn goes on [garbage.turn]', async () => {
    for (const value of garbage(6)) {
      const sessionId = randomUUID();
      answers.plant('pay', value);
      expect(await asking(sessionId, 'pay')).toMatchObject({ status: 'completed' });
      const [response] = await responsesOf(environment, { app: 'test', userId: 'ada', sessionId });
      expectClear(String(response?.response?.error), 'pay');
      await expectGoesOn({ sessionId });
    }
  });

  if (isDeep) {
    test('of what settles a step: the turn fails, and where nothing can be settled its run does [garbage.turn]', async () => {
      // One of them is what a step that was settled gives: a lie, which the next step finds out by the store.
      for (const value of garbage(1).filter((one) => !JSON.stringify([one]).includes('"from"'))) {
        const sessionId = randomUUID();
        answers.plant('pay', null);
        answers.plant(names.SETTLE_STEP, value);
        const { status, error } = await asking(sessionId, 'pay');
        expect([value, status, error?.code]).toEqual([value, 'failed', CODE]);
        expectClear(error?.message, names.SETTLE_STEP);
        await expectGoesOn({ sessionId });

        answers.plant(names.CALL_MODEL, value);
        answers.plant(names.SETTLE_STEP, value, { times: 9 });
        const failure = await asking(sessionId, 'pay').catch((thrown: unknown) => thrown);
        expect(failure).toBeInstanceOf(WorkflowFailedError);
        expectClear(textOf(failure), names.SETTLE_STEP);
        await expectGoesOn({ sessionId });
      }
    });
  }

  if (isDeep) {
    test('of what keeps a message: it is refused, and can be sent again [garbage.turn]', async () => {
      environment.gemini.reset(stepCalls([[{ name: 'hold' }]]));
      held.hold();
      const turn = await AskingTurn.start(environment);
      await held.begun();
      for (const [index, value] of GARBAGE.entries()) {
        answers.plant(names.KEEP_MESSAGES, value);
        const send = () =>
          turn.handle.executeUpdate<{ status: string }, [object]>('sendMessage', {
            args: [{ messageId: `m${index}`, message: 'more' }],
          });
        expect(await send()).toMatchObject({ status: 'rejected' });
        expect(await send()).toMatchObject({ status: 'queued' });
      }
      held.release();
      const result = (await turn.handle.result()) as TurnResult;
      expect(result.others).toHaveLength(GARBAGE.length);
      await expectGoesOn(turn.names);
    });
  }

  if (isDeep) {
    test('of what people have to do with: their decision is refused, or the call is [garbage.turn]', async () => {
      for (const value of garbage(2)) {
        environment.gemini.reset(stepCalls([[{ name: 'gated' }]]));
        const turn = await AskingTurn.start(environment);
        await turn.pending();
        answers.plant(names.VERIFY_DECISION, value);
        const edited = { confirmed: true, args: { n: 1 } };
        expect(await turn.confirm(edited)).toMatchObject({ status: 'refused' });
        answers.plant(names.CLOSE_CALL, value);
        expect(await turn.confirm({ confirmed: false })).toMatchObject({ status: 'rejected' });
        expect(await turn.responses()).toEqual([{ error: 'This tool call is rejected.' }]);
        await expectGoesOn(turn.names);
      }
    });
  }

  if (isDeep) {
    test('of what a job comes to: it is refused, and what is recorded is what counts [garbage.turn]', async () => {
      const isEnd = (input: unknown) => (input as { job?: { do: string } }).job?.do === 'end';
      for (const value of garbage(7)) {
        const turn = await startJobTurn(environment, 'report');
        const { jobId, callId } = await turn.job('parked', 'running');
        const { workflow } = environment.temporal;
        const respond = () =>
          workflow.getHandle(turn.workflowId).executeUpdate<{ jobs: unknown }, [object]>('sendMessage', {
            args: [
              {
                messageId: randomUUID(),
                message: {
                  role: 'user',
                  parts: [{ functionResponse: { id: callId, name: 'report', response: { n: 1 } } }],
                },
              },
            ],
          });
        answers.plant(names.RECORD_JOB, value);
        expect((await respond()).jobs).toMatchObject([{ jobId, status: 'refused' }]);
        answers.plant('report', value, { isMeant: isEnd });
        expect((await respond()).jobs).toMatchObject([{ jobId, status: 'ended' }]);
        expect(await turn.result).toMatchObject({ status: 'completed' });
        // The store has the outcome.
        const responses = await responsesOf(environment, turn.names);
        expect(responses.map(({ response }) => response)).toEqual([{ n: 1 }]);
        await expectGoesOn(turn.names);
      }
    });
  }

  if (isDeep) {
    test('of what a job comes to that goes on alone: its workflow fails [garbage.turn]', async () => {
      const isEnd = (input: unknown) => (input as { job?: { do: string } }).job?.do === 'end';
      const spoilt = [
        ...garbage(8).map((value) => ['order', value] as const),
        ...GARBAGE.slice(0, 7).map((value) => [names.DELIVER_JOB, value] as const),
      ];
      for (const [activity, value] of spoilt) {
        const turn = await startJobTurn(environment, 'order');
        await turn.result;
        const { jobId, callKey } = await turn.job('detached', 'running');
        answers.plant(activity, value, activity === 'order' ? { isMeant: isEnd } : {});
        await environment.client.jobs.complete(jobId, { result: { n: 1 } });
        const run = environment.temporal.workflow.getHandle(jobWorkflowIdOf(turn.workflowId, callKey));
        const failure = await run.result().catch((thrown: unknown) => thrown);
        expectClear(textOf(failure), activity);
        await expectReplays(run.workflowId);
        await expectGoesOn(turn.names);
      }
    });
  }

  if (isDeep) {
    test('of a step of an agent below: its caller is told, or ends with it [garbage.turn]', async () => {
      const isOf = (agent: string) => (input: unknown) =>
        (input as { path?: readonly string[] }).path?.at(-1) === agent;
      for (const value of garbage(3)) {
        const sessionId = randomUUID();
        answers.plant(names.CALL_MODEL, value, { isMeant: isOf('expert') });
        environment.gemini.reset(stepCalls([[{ name: 'expert', args: { request: 'why?' } }]]));
        const called = await environment.run({ sessionId, message: 'go', agent: 'support' });
        expect([value, called.result.status]).toEqual([value, 'completed']);
        const [response] = await responsesOf(environment, { app: 'test', userId: 'ada', sessionId });
        expect(JSON.stringify(response)).toContain('can’t be used');
        await expectGoesOn({ sessionId });

        answers.plant(names.CALL_MODEL, value, { isMeant: isOf('two') });
        const planned = await asking(sessionId, undefined, 'line');
        expect([value, planned.status]).toEqual([value, 'failed']);
        expect(JSON.stringify(planned)).toContain('can’t be used');
        await expectGoesOn({ sessionId });
      }
    });
  }

  if (isDeep) {
    test('of what deletes old sessions: the workflow that wants it fails [garbage.turn]', async () => {
      for (const value of garbage(5)) {
        answers.plant(names.DELETE_EXPIRED_SESSIONS, value);
        const start = environment.temporal.workflow.execute(names.RETAIN_SESSIONS, {
          workflowId: randomUUID(),
          taskQueue: names.DEFAULT_TASK_QUEUE,
          args: [{ v: 1, app: 'test' }],
        });
        const failure = await start.catch((thrown: unknown) => thrown);
        expectClear(textOf(failure), names.DELETE_EXPIRED_SESSIONS);
      }
    });
  }
});

if (isDeep) {
  test('a foreign worker on the task queue spoils turns, and wedges none [garbage.turn]', async () => {
    let given = 0;
    const foreigner = await ForeignWorker.start(environment.temporal, {
      taskQueue: names.DEFAULT_TASK_QUEUE,
      activities: {
        default: () => {
          given += 1;
          return Promise.resolve(GARBAGE[given % GARBAGE.length]);
        },
      },
    });
    environment.gemini.reset(stepCalls([[{ name: 'pay' }]]));
    const sessions: string[] = [];
    const said: string[] = [];
    try {
      // Which tasks it gets is the server's choice.
      while (!said.some((text) => text.includes('can’t be used'))) {
        const more = Array.from({ length: inTier(4, 24) }, () => randomUUID());
        const ended = await Promise.allSettled(
          more.map((sessionId) => environment.run({ sessionId, message: 'go' })),
        );
        for (const one of ended) {
          said.push(one.status === 'fulfilled' ? JSON.stringify(one.value.result) : textOf(one.reason));
        }
        sessions.push(...more);
      }
      expect(given).toBeGreaterThan(0);
    } finally {
      await foreigner.close();
    }
    for (const sessionId of sessions) await expectGoesOn({ sessionId });
  });
}
