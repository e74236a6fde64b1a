import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/common';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { DELETE_SOON } from '../setup/delete-soon.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { settledCalls } from '../setup/settled-calls.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Call keys of the runs of `add`, in order. */
let effects: string[] = [];
const held = new HeldTool();
const add = tool({
  name: 'add',
  description: 'adds and counts',
  parameters: z.object({ a: z.number() }),
  execute: ({ a }, context) => {
    effects.push(context.callKey);
    return { a };
  },
});

describe("Temporal's histories are deleted", () => {
  let environment: TurnEnvironment;
  let names: { app: string; userId: string; sessionId: string };

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [add, held.tool()] })],
      serverConfig: DELETE_SOON,
    });
  });
  beforeEach(() => {
    effects = [];
    held.hold();
    names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  });
  afterAll(() => environment.close());

  const send = (message: string, messageId: string) =>
    environment.client.sendMessage({ ...names, message, messageId });

  /** Deletes a run, which is terminated where it is open. */
  async function deleteHistory({ workflowId, runId }: { workflowId: string; runId: string }): Promise<void> {
    const { temporal } = environment;
    await temporal.workflowService.deleteWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId, runId },
    });
    const describeRun = () => temporal.workflow.getHandle(workflowId, runId).describe();
    await expect.poll(() => describeRun().then(() => 'there', nameOf)).toBe('not found');
  }

  function nameOf(error: unknown): string {
    if (error instanceof WorkflowNotFoundError) return 'not found';
    throw error;
  }

  test('of a turn that has ended: its message sent again gives the recorded outcome [steer.reset] [turn.messageId]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'add', args: { a: 1 } }]]));
    const turn = await send('go', 'm1');
    const result = await turn.result();
    const transcript = await environment.store.sessions.readEvents(names);
    await deleteHistory(turn);

    const again = await send('go', 'm1');
    expect(again.runId).not.toBe(turn.runId);
    expect(await again.result()).toEqual(result);
    expect(await environment.store.sessions.readEvents(names)).toEqual(transcript);
    expect(effects).toHaveLength(1);
    expect(environment.gemini.requests).toHaveLength(2);

    environment.gemini.reset([text('still here')]);
    expect(await (await send('and now?', 'm2')).result()).toMatchObject({
      status: 'completed',
      text: 'still here',
      events: { from: 5, to: 6 },
    });
  });

  async function turnThatLostItsHistory() {
    environment.gemini.reset(
      stepCalls([[{ name: 'add', args: { a: 1 } }], [{ name: 'add', args: { a: 2 } }, { name: 'hold' }]]),
    );
    const added = settledCalls(environment.store, 'add', 2);
    const turn = await send('go', 'm1');
    await Promise.all([held.begun(), added]);
    await deleteHistory(turn);
    return turn;
  }

  test('of a turn under way: its message sent again goes on with it, nothing recorded is repeated [steer.reset]', async () => {
    const broken = await turnThatLostItsHistory();
    const again = await send('go', 'm1');
    await held.begun(2);
    held.release();
    expect(await again.result()).toMatchObject({
      invocationId: broken.invocationId,
      status: 'completed',
      text: 'done',
      events: { from: 1, to: 6 },
    });
    expect(effects).toHaveLength(2);
    expect(environment.gemini.requests).toHaveLength(3);
    expect(environment.gemini.refusals).toEqual([]);
  });

  test('of a turn under way: another message goes on with the session, the open call is answered [steer.reset] [store.heal]', async () => {
    const broken = await turnThatLostItsHistory();
    environment.gemini.reset([text('still here')]);
    const next = await send('and now?', 'm2');
    expect(await next.result()).toMatchObject({ status: 'completed', text: 'still here' });
    held.release();

    const events = await environment.store.sessions.readEvents(names);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.map(({ kind }) => kind)).toEqual([
      ...['message', 'model', 'responses', 'model', 'responses'],
      ...['message', 'model'],
    ]);
    const healed = events[4] && getFunctionResponses(events[4].event).map(({ response }) => response);
    expect(healed).toEqual([{ a: 2 }, { error: expect.stringMatching(/cut off/) }]);
    expect(effects).toHaveLength(2);
    expect(environment.gemini.requests).toHaveLength(1);
    expect(environment.gemini.refusals).toEqual([]);

    const resent = await (await send('go', 'm1')).result();
    expect(resent).toMatchObject({ invocationId: broken.invocationId, status: 'interrupted' });
    expect(await environment.store.sessions.readEvents(names)).toEqual(events);
  });
});
