import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { Content } from '../../src/events/content.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { call, error, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { Conversation } from '../setup/conversation.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { inTier } from '../setup/tier.ts';
import { type History, openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const LARGE = 'x'.repeat(70_000);

const lastText = (contents: readonly Content[] = []) =>
  contents.findLast(({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined))
    ?.parts?.[0]?.text ?? '';

/** What begins with "hold" is answered after a call that is held, what begins with "fail" never, all else at once. */
const script: GeminiScript = ({ contents }) => {
  const said = lastText(contents);
  const answered = contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined);
  if (said.startsWith('fail')) return error(400, 'no');
  return said.startsWith('hold') && !answered ? call('hold') : text(`answer to ${said.slice(0, 40)}`);
};

/** What a history's model steps were asked for. */
function askedSteps(history: History): CallModelInput[] {
  return (history.events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => {
    if (scheduled?.activityType?.name !== 'holdfast.callModel') return [];
    return JSON.parse(Buffer.from(scheduled.input?.payloads?.[0]?.data ?? []).toString());
  });
}

const kinds: [kind: string, serverConfig: readonly string[] | undefined][] = [
  ['one run', undefined],
  ['runs that continue each other', SHORT_RUNS],
];

describe.each(kinds.slice(0, inTier(1, 2)))(
  'messages that waited when their run was terminated, of which a later one is sent again first, in %s',
  (_in, serverConfig) => {
    let environment: TurnEnvironment;

    beforeAll(async () => {
      environment = await openTurnEnvironment({
        agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool()] })],
        script,
        serverConfig,
      });
    });
    beforeEach(() => held.hold());
    afterAll(() => environment.close());

    /** A session with messages that were accepted in this order, and no run. */
    async function leftWaiting(...messages: string[]): Promise<Conversation> {
      const conversation = new Conversation(environment);
      await conversation.start('hold');
      await held.begun();
      for (const [index, message] of messages.entries()) {
        expect(await conversation.ask(message)).toMatchObject({ status: 'queued', position: index + 1 });
      }
      await conversation.handle.terminate('by an operator');
      held.release();
      held.hold();
      return conversation;
    }
    const idOf = ({ names: { app, userId, sessionId } }: Conversation, messageId: string) =>
      invocationIdOf(app, userId, sessionId, messageId);
    const waiting = async ({ names }: Conversation) =>
      (await environment.store.messages.readInbox(names)).map(({ messageId }) => messageId);
    /** What was said since the turn that was terminated. */
    const said = async (conversation: Conversation) => (await conversation.said()).slice(3);

    test('are answered in the order in which they were accepted, and the run’s result is that of its own message [message.acknowledged]', async () => {
      const conversation = await leftWaiting('one', 'two', 'three', 'four');
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
      const started = await environment.temporal.workflow.start('agentTurn', {
        workflowId: conversation.workflowId,
        taskQueue: 'holdfast',
        args: [{ v: 1, ...conversation.names, message: 'three', messageId: 'three', traceparent }],
      });
      const result = (await started.result()) as TurnResult;
      expect(result).toMatchObject({ invocationId: idOf(conversation, 'three'), text: 'answer to three' });
      expect(result.others?.map(({ invocationId, status }) => [invocationId, status])).toEqual(
        ['one', 'two', 'four'].map((messageId) => [idOf(conversation, messageId), 'completed']),
      );
      expect(await said(conversation)).toEqual(
        ['one', 'two', 'three', 'four'].flatMap((message) => [message, `answer to ${message}`]),
      );
      expect(await waiting(conversation)).toEqual([]);
      const first = environment.temporal.workflow.getHandle(
        conversation.workflowId,
        started.firstExecutionRunId,
      );
      const [begun, ...later] = askedSteps(await first.fetchHistory());
      expect(begun).toMatchObject({
        invocationId: idOf(conversation, 'three'),
        mayGiveWay: true,
        traceparent,
      });
      expect(later.map(({ invocationId }) => invocationId)).toEqual(
        ['one', 'two', 'three', 'four']
          .slice(0, later.length)
          .map((messageId) => idOf(conversation, messageId)),
      );
      for (const asked of later) expect(asked).not.toHaveProperty('mayGiveWay');
      if (serverConfig !== undefined) return expect(later.length).toBeLessThan(4);
      expect(later[2]).toMatchObject({ traceparent, cameAt: begun?.cameAt });
    });

    test.each([
      ['with a store', 'two'],
      ['without a store', 'two'],
      ['with a store, large', LARGE],
    ])(
      'have each its own result, for the clients that sent them again %s [message.acknowledged]',
      async (how, two) => {
        const { temporal, store } = environment;
        const client = new HoldfastClient(how === 'without a store' ? { temporal } : { temporal, store });
        const { names, handle } = new Conversation(environment);
        const first = await client.sendMessage({ ...names, message: 'hold', messageId: 'hold' });
        await held.begun();
        const messages = ['one', two].map((message, index) => ({
          ...names,
          message,
          messageId: `m${index + 1}`,
        }));
        const accepted = [];
        for (const message of messages) {
          const sent = await client.sendMessage(message);
          expect(await sent.receipt({ timeout: 120_000 })).toMatchObject({ status: 'queued' });
          accepted.push(sent);
        }
        await handle.terminate('by an operator');
        await expect(first.result()).rejects.toThrow(WorkflowFailedError);
        const again = await client.sendMessage(messages[1] as (typeof messages)[number]);
        expect(again.disposition).toBe('started');
        expect(await again.result()).toMatchObject({
          status: 'completed',
          invocationId: accepted[1]?.invocationId,
          text: `answer to ${two.slice(0, 40)}`,
        });
        // Without a store nobody can say whether the run that was terminated had begun it.
        if (how !== 'without a store') {
          expect(await accepted[1]?.result()).toMatchObject({ invocationId: again.invocationId });
        }
        const one = await accepted[0]?.result();
        expect(one).toMatchObject({ status: 'completed', invocationId: accepted[0]?.invocationId });
        const events = await store.sessions.readEvents(names);
        expect(events.filter(({ kind }) => kind === 'message').map(({ runKey }) => runKey)).toEqual(
          [first, ...accepted].map(({ invocationId }) => invocationId),
        );
      },
    );

    test('with another content, it is refused, and all wait on [turn.messageId]', async () => {
      const conversation = await leftWaiting('one', 'two');
      const refused = await conversation.start('another', 'two');
      await expect(refused.result()).rejects.toMatchObject({
        cause: { type: 'TurnFailed', message: expect.stringContaining('HOLDFAST_MESSAGE_CONFLICT') },
      });
      expect(await waiting(conversation)).toEqual(['one', 'two']);
      await conversation.start('two');
      expect(await conversation.result()).toMatchObject({ text: 'answer to two' });
      expect(await said(conversation)).toEqual(['one', 'answer to one', 'two', 'answer to two']);
    });

    test('and the turn of the first of them fails: the others are answered, and the run has not failed [message.acknowledged]', async () => {
      const conversation = await leftWaiting('fail', 'two');
      await conversation.start('two');
      expect(await conversation.result()).toMatchObject({
        status: 'completed',
        text: 'answer to two',
        others: [{ invocationId: idOf(conversation, 'fail'), status: 'failed' }],
      });
      expect(await said(conversation)).toEqual(['fail', 'two', 'answer to two']);
    });

    test('and the run is cancelled before its own message is begun: that waits on, and is answered later [message.acknowledged]', async () => {
      const conversation = await leftWaiting('hold on', 'two');
      const cancelled = await conversation.start('two');
      await held.begun();
      expect(await conversation.ask('two')).toMatchObject({ status: 'queued', position: 1 });
      await cancelled.cancel();
      await expect(cancelled.result()).rejects.toThrow(WorkflowFailedError);
      expect((await cancelled.describe()).status.name).toBe('CANCELLED');
      expect(await waiting(conversation)).toEqual(['two']);
      await conversation.start('two');
      expect(await conversation.result()).toMatchObject({ text: 'answer to two' });
      expect((await said(conversation)).slice(-2)).toEqual(['two', 'answer to two']);
    });
  },
);
