import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { MessageReceipt, SendMessage } from '../../src/protocol/message.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const STEPS = 12;
const MESSAGES = 20;

const held = new HeldTool();
let effects = 0;
const effect = tool({
  name: 'effect',
  description: 'has an effect',
  execute: () => {
    effects += 1;
    return { effects };
  },
});

/** "work" is answered after twelve steps of one call each, "hold" after a call that is held, "work and hold" after both. */
const script: GeminiScript = ({ contents = [] }) => {
  const asked = contents.findLastIndex(
    ({ parts }) =>
      parts?.some((part) => part.text !== undefined && !part.thought) &&
      parts?.[0]?.functionCall === undefined,
  );
  const said = contents[asked]?.parts?.[0]?.text ?? '';
  const answered = contents.slice(asked + 1).filter(({ role }) => role === 'user').length;
  if (said.startsWith('work') && answered < STEPS) return call('effect');
  if (said === 'work and hold' && answered === STEPS) return call('hold');
  if (said === 'hold' && answered === 0) return call('hold');
  return text(`answer to ${said}`);
};

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'worker', model: 'gemini-2.5-flash', tools: [held.tool(), effect] })],
    script,
    serverConfig: SHORT_RUNS,
  });
});
beforeEach(() => {
  held.hold();
  effects = 0;
});
afterAll(() => environment.close());

function conversation() {
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const workflowId = `test/ada/${names.sessionId}`;
  const handle = environment.temporal.workflow.getHandle(workflowId);
  return {
    names,
    handle,
    start: (message: string, fields: object = {}) =>
      environment.temporal.workflow.start('agentTurn', {
        workflowId,
        taskQueue: 'holdfast',
        args: [{ v: 1, ...names, message, messageId: message, ...fields }],
      }),
    ask: (message: string, fields: object = {}) =>
      handle.executeUpdate<MessageReceipt, [SendMessage]>('sendMessage', {
        args: [{ messageId: message, message, ...fields }],
      }),
    result: async () => (await handle.result()) as TurnResult,
    async runs(): Promise<number> {
      let runs = 0;
      for await (const _run of environment.temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
        runs += 1;
      return runs;
    },
    async messages(): Promise<string[]> {
      const events = await environment.store.sessions.readEvents({ ...names, limit: 10_000 });
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_event, index) => index + 1));
      return events
        .filter(({ kind }) => kind === 'message')
        .map(({ event }) => event.content?.parts?.[0]?.text ?? '');
    },
  };
}

test('signals and updates that race with it are lost nowhere, and known after it [turn.continueAsNew]', async () => {
  const { start, ask, handle, result, runs, messages } = conversation();
  await start('work');
  const sent = Array.from({ length: MESSAGES }, (_, index) => `m${index}`);
  const flood = Promise.all(
    sent.map((message, index) =>
      index % 2 === 0
        ? handle.signal('sendMessage', { messageId: message, message })
        : ask(message).then(({ status }) => expect(['queued', 'running', 'finished']).toContain(status)),
    ),
  );
  await flood;
  await handle.signal('sendMessage', { messageId: 'hold', message: 'hold' });
  await held.begun();
  for (const message of sent) await handle.signal('sendMessage', { messageId: message, message });
  held.release();
  const { status, others } = await result();
  expect(status).toBe('completed');
  expect(others).toHaveLength(MESSAGES + 1);
  expect(effects).toBe(STEPS);
  expect((await messages()).toSorted()).toEqual(['hold', 'work', ...sent].toSorted());
  await expect.poll(runs).toBeGreaterThan(4);
});

if (isDeep) {
  test('what was queued before it is in order after it, and an id with other content is still found out [turn.continueAsNew]', async () => {
    const { start, ask, result, messages } = conversation();
    await start('hold');
    await held.begun();
    const queued = ['a', 'work', 'b', 'work and hold'];
    for (const message of queued) expect((await ask(message)).status).toBe('queued');
    held.release();
    await expect.poll(messages).toContain('a');
    held.hold();
    await held.begun();
    expect(await ask('hold', { message: 'something else' })).toMatchObject({ status: 'duplicate' });
    held.release();
    await result();
    expect(await messages()).toEqual(['hold', ...queued]);
  });
}

test('the message of the first run, sent again while a later one runs, is the one that runs [turn.continueAsNew]', async () => {
  const { start, ask, result, runs, messages } = conversation();
  await start('work and hold');
  await held.begun();
  await expect.poll(runs).toBeGreaterThan(2);
  expect(await ask('work and hold')).toMatchObject({ status: 'running' });
  expect(await ask('work and hold', { message: 'other' })).toMatchObject({ status: 'duplicate' });
  held.release();
  await result();
  expect(await messages()).toEqual(['work and hold']);
  expect(effects).toBe(STEPS);
});
