import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { jsonBytes } from '../../src/contract/json-bytes.ts';
import { createEvent } from '../../src/events/event.ts';
import { invocationIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { AGENT_TURN, SEND_MESSAGE } from '../../src/protocol/names.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** What once added a tool with the sender's arguments, took one away, and ended the turn without its model. */
const OWN = {
  'temp:_holdfast_tools': [
    { add: 'refunder', args: { customer: 'ada', limit: 1e9 } },
    { remove: 'look' },
    { remove: 'pay' },
    { add: 'payer', args: {} },
  ],
  'temp:_holdfast_end': true,
  'temp:holdfast_question': { hint: 'may I?' },
};

let environment: TurnEnvironment;
const held = new HeldTool();
const ran: string[] = [];
const made = (name: string) =>
  tool({
    name,
    description: 'moves money',
    execute: () => {
      ran.push(name);
      return { done: true };
    },
  });

beforeAll(async () => {
  const agent = new LlmAgent({
    name: 'support',
    model: 'gemini-2.5-flash',
    tools: [
      tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) }),
      tool({ name: 'pay', description: 'pays', requireConfirmation: true, execute: () => ({}) }),
      held.tool(),
    ],
  });
  const app = new App({
    name: 'test',
    rootAgent: agent,
    durable: { toolFactories: { refunder: () => made('refunder'), payer: () => made('pay') } },
  });
  environment = await openTurnEnvironment({
    apps: [app],
    script: ({ contents = [] }) => {
      const last = contents.at(-1)?.parts ?? [];
      if (last.some((part) => part.functionResponse !== undefined)) return text('done');
      const said = last[0]?.text ?? '';
      return said.startsWith('hold') ? call('hold') : call('refunder');
    },
  });
});
afterAll(() => environment.close());

interface Declaration {
  name: string;
  description: string;
}

const newNames = (): SessionNames => ({ app: 'test', userId: 'eve', sessionId: randomUUID() });

const handleOf = ({ app, userId, sessionId }: SessionNames) =>
  environment.temporal.workflow.getHandle(workflowIdOf(app, userId, sessionId));

const start = (names: SessionNames, given: object) =>
  environment.temporal.workflow.start(AGENT_TURN, {
    workflowId: workflowIdOf(names.app, names.userId, names.sessionId),
    taskQueue: 'holdfast',
    args: [{ v: 1, ...names, ...given }],
  });

/** A turn that is under way, for messages to wait behind. */
async function busy(): Promise<SessionNames> {
  held.hold();
  const names = newNames();
  await start(names, { messageId: 'first', message: 'hold' });
  await held.begun();
  return names;
}

/** Whoever has Temporal, or the store, needs no client of ours. */
const WAYS: [string, (given: object) => Promise<SessionNames>][] = [
  [
    'a start',
    async (given) => {
      const names = newNames();
      await start(names, given);
      return names;
    },
  ],
  [
    'a signal that waits',
    async (given) => {
      const names = await busy();
      await handleOf(names).signal(SEND_MESSAGE, given);
      return names;
    },
  ],
  [
    'an update that waits',
    async (given) => {
      const names = await busy();
      await handleOf(names).executeUpdate(SEND_MESSAGE, { args: [given] });
      return names;
    },
  ],
  [
    'a row of the inbox',
    async (given) => {
      const names = newNames();
      const { messageId, stateDelta } = given as { messageId: string; stateDelta: Record<string, unknown> };
      const message = `refund ${'x'.repeat(100_000)}`;
      const stored = await environment.store.messages.upload({ ...names, messageId, message, stateDelta });
      expect(stored.bytes).toBeGreaterThan(jsonBytes(message));
      await start(names, { messageId, stored });
      return names;
    },
  ],
];

describe.each(WAYS)('%s whose state delta has keys that are ours', (_way, send) => {
  test('changes no tool of the turn, and does not end it [state.reserved]', async () => {
    const asked = environment.gemini.requests.length;
    const names = await send({
      messageId: 'm1',
      message: 'refund',
      stateDelta: { ...OWN, seen: 1 },
    });
    held.release();
    const invocationId = invocationIdOf(names.app, names.userId, names.sessionId, 'm1');
    await handleOf(names).result();
    const recorded = await environment.store.turns.findInvocation(names, invocationId);
    expect(recorded?.outcome).toMatchObject({ status: 'completed', text: 'done' });
    const requests = environment.gemini.requests.slice(asked);
    expect(requests.length).toBeGreaterThan(1);
    for (const { body } of requests) {
      const { tools: given = [] } = body as { tools?: { functionDeclarations?: Declaration[] }[] };
      const tools = given.flatMap(({ functionDeclarations = [] }) => functionDeclarations);
      expect(tools.map(({ name }) => name)).toEqual(['look', 'pay', 'hold']);
      expect(tools[1]?.description).toBe('pays');
    }
    expect(ran).toEqual([]);
    expect((await environment.store.sessions.get(names))?.state).toEqual({ seen: 1 });
  });
});

describe('a client refuses keys that are ours, and names them', () => {
  const text1 = /reserved for Holdfast: .*another name/;
  test.each(
    Object.entries(OWN).map(([key, value]) => ({
      [key.toUpperCase().replace('TEMP', 'temp')]: value,
      [key]: value,
    })),
  )('%j [state.reserved]', async (state) => {
    const { client } = environment;
    const names = newNames();
    for (const message of ['hi', 'x'.repeat(100_000)]) {
      const sent = client.sendMessage({ ...names, message, stateDelta: state });
      await expect(sent).rejects.toMatchObject({
        code: 'HOLDFAST_INVALID_TURN',
        message: expect.stringMatching(/^sendMessage: stateDelta: the key "temp:/),
      });
      await expect(sent).rejects.toThrow(text1);
    }
    expect(await environment.store.messages.readInbox(names)).toEqual([]);
    await expect(client.sessions.create({ ...names, state })).rejects.toThrow(text1);
    await client.sessions.create(names);
    const event = createEvent({ author: 'system', actions: { stateDelta: state } });
    await expect(client.sessions.append({ ...names, key: 'k', event })).rejects.toThrow(text1);
    const plain = new HoldfastClient({ temporal: environment.temporal });
    await expect(plain.sendMessage({ ...names, message: 'hi', stateDelta: state })).rejects.toThrow(text1);
  });
});
