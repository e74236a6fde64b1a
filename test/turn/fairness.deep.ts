import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { fairnessKeyOf } from '../../src/protocol/identity.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { type History, openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const own = new OwnModel();
const look = tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) });
const clerk = new LlmAgent({ name: 'clerk', model: own, tools: [look] });

const calling = { content: { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] } };

/** Fairness key and priority of what a run was started with, and of its activities. */
function prioritiesOf({ events }: History) {
  const [started] = events ?? [];
  const of = (priority: { fairnessKey?: string | null; priorityKey?: number | null } | null | undefined) => ({
    fairnessKey: priority?.fairnessKey,
    priorityKey: priority?.priorityKey,
  });
  return {
    run: of(started?.workflowExecutionStartedEventAttributes?.priority),
    activities: (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled ? [{ type: scheduled.activityType?.name, ...of(scheduled.priority) }] : [],
    ),
  };
}

describe('fair shares of the workers', () => {
  let environment: TurnEnvironment;
  let asked: { text: string; answer(): void }[] = [];

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [clerk],
      // Users take turns within each partition of a queue: of one the order is exact.
      serverConfig: ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'],
      workerOptions: { maxConcurrentActivityTaskExecutions: 1 },
    });
  });
  beforeEach(() => {
    asked = [];
    own.respond = ({ contents }) =>
      new Promise((resolve) => {
        const text = contents.at(-1)?.parts?.[0]?.text ?? '';
        asked.push({ text, answer: () => resolve(saying('done')) });
      });
  });
  afterAll(() => environment.close());

  const send = (userId: string, message: string, priority?: number) =>
    environment.client.sendMessage({
      ...{ app: 'test', userId, sessionId: randomUUID(), message },
      ...(priority === undefined ? {} : { priority }),
    });
  const isScheduled = async (workflowId: string) => {
    const { raw } = await environment.temporal.workflow.getHandle(workflowId).describe();
    return (raw.pendingActivities ?? []).length > 0;
  };
  const allScheduled = (ids: readonly string[]) =>
    expect.poll(async () => (await Promise.all(ids.map(isScheduled))).every(Boolean)).toBe(true);

  /** Answers one after another, as they are asked; whose they were. */
  async function answerAll(count: number): Promise<string[]> {
    const order: string[] = [];
    while (order.length < count) {
      await expect.poll(() => asked.length).toBeGreaterThan(0);
      const next = asked.shift();
      order.push(next?.text ?? '');
      next?.answer();
    }
    return order;
  }

  test('a lone turn is not behind the fifty of another user [limit.fairness]', async () => {
    const many = await Promise.all(Array.from({ length: 50 }, () => send('ada', 'one of fifty')));
    await allScheduled(many.map(({ workflowId }) => workflowId));
    const one = await send('bob', 'the lone one');
    await allScheduled([one.workflowId]);
    const order = await answerAll(51);
    // The one that runs, and what the worker's poll had been given.
    expect(order.indexOf('the lone one')).toBeLessThan(10);
    for (const handle of [...many, one]) expect(await handle.result()).toMatchObject({ text: 'done' });
  });

  test('a message of priority 1 goes before those of others, one of priority 5 behind [limit.fairness]', async () => {
    const first = await send('ada', 'runs');
    await expect.poll(() => asked.length).toBe(1);
    const sent = [first];
    for (const [text, priority] of [
      ['last', 5],
      ['ordinary', undefined],
      ['ordinary', 3],
      ['first', 1],
    ] as const) {
      for (let nth = 0; nth < 4; nth += 1) sent.push(await send('ada', text, priority));
    }
    await allScheduled(sent.map(({ workflowId }) => workflowId));
    const order = await answerAll(sent.length);
    for (const handle of sent) await handle.result();
    const places = (text: string) => order.flatMap((other, place) => (other === text ? [place] : []));
    const mean = (text: string) => places(text).reduce((sum, place) => sum + place, 0) / places(text).length;
    expect(mean('first')).toBeLessThan(mean('ordinary'));
    expect(mean('ordinary')).toBeLessThan(mean('last'));
  });

  test('each activity names its user, and the priority of its message [limit.fairness]', async () => {
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const key = fairnessKeyOf('test', 'ada');
    const steps = [calling, saying('done'), calling, saying('done')];
    own.respond = async () => {
      if (steps.length === 4) {
        // Waits behind the first, and is another turn.
        await environment.client.sendMessage({ ...names, message: 'and then' });
        await expect.poll(async () => (await environment.client.status(names))?.queued).toBe(1);
      }
      return steps.shift();
    };
    const first = await environment.client.sendMessage({ ...names, message: 'go', priority: 2 });
    await first.result();
    const handle = environment.temporal.workflow.getHandle(first.workflowId, first.runId);
    await handle.result();
    const { run, activities } = prioritiesOf(await handle.fetchHistory());
    expect(run).toEqual({ fairnessKey: key, priorityKey: 2 });
    const ofTurn = activities.filter(({ type }) => type === 'holdfast.callModel' || type === 'look');
    expect(ofTurn).toEqual([
      { type: 'holdfast.callModel', fairnessKey: key, priorityKey: 2 },
      { type: 'look', fairnessKey: key, priorityKey: 2 },
      { type: 'holdfast.callModel', fairnessKey: key, priorityKey: 2 },
      { type: 'holdfast.callModel', fairnessKey: key, priorityKey: 3 },
      { type: 'look', fairnessKey: key, priorityKey: 3 },
      { type: 'holdfast.callModel', fairnessKey: key, priorityKey: 3 },
    ]);
    expect(activities.every(({ fairnessKey }) => fairnessKey === key)).toBe(true);
    expect(activities.length).toBeGreaterThan(ofTurn.length);
  });
});
