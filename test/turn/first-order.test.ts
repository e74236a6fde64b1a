import { WorkflowNotFoundError } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Content } from '../../src/events/content.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { Conversation } from '../setup/conversation.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

const STEPS = 16;

const lastText = (contents: readonly Content[]) =>
  contents.findLastIndex(
    ({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined),
  );

/** "work" takes so many steps that its run continues as new, all else is answered at once. */
const script: GeminiScript = ({ contents = [] }) => {
  const asked = lastText(contents as Content[]);
  const said = (contents as Content[])[asked]?.parts?.[0]?.text ?? '';
  const answered = (contents as Content[])
    .slice(asked + 1)
    .filter(({ parts }) => parts?.some((part) => part.functionResponse !== undefined)).length;
  if (said === 'pay' && answered === 0) return call('pay');
  return said === 'work' && answered < STEPS ? call('look') : text(`answer to ${said}`);
};

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [
      new LlmAgent({
        name: 'support',
        model: 'gemini-2.5-flash',
        tools: [
          tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) }),
          tool({ name: 'pay', description: 'd', requireConfirmation: true, execute: () => ({ paid: true }) }),
        ],
      }),
    ],
    script,
    serverConfig: SHORT_RUNS,
  });
});
afterAll(() => environment.close());

interface Sent {
  id: string;
  by: 'signal' | 'update';
}

/** Sends messages by signal, each of which is in the history then, and by updates, which nobody waits for. */
async function sendSome(conversation: Conversation, random: SeededRandom, count: number) {
  const sent: Sent[] = [];
  const updates: Promise<unknown>[] = [];
  for (let index = 1; index <= count; index += 1) {
    const by = random.pick(['signal', 'update'] as const);
    const id = `m${index}`;
    sent.push({ id, by });
    if (by === 'signal') await conversation.send(id);
    else updates.push(conversation.ask(id).catch((error: unknown) => withdrawn(sent, id, error)));
  }
  return { sent, updates };
}

/** A run that has ended takes no update. */
function withdrawn(sent: Sent[], id: string, error: unknown): void {
  if (!(error instanceof WorkflowNotFoundError)) throw error;
  sent.splice(
    sent.findIndex((one) => one.id === id),
    1,
  );
}

async function expectInOrder(conversation: Conversation, sent: readonly Sent[]): Promise<void> {
  const said = await conversation.said();
  const place = ({ id }: Sent) => said.indexOf(`answer to ${id}`);
  expect(sent.filter((one) => place(one) === -1)).toEqual([]);
  const overtaken = sent.flatMap((one, index) =>
    sent.slice(index + 1).flatMap((later) =>
      // What came by signal was accepted when it was sent; an update, when the workflow had taken it.
      one.by === 'signal' && place(later) < place(one) ? [`${later.id} before ${one.id}`] : [],
    ),
  );
  expect(overtaken).toEqual([]);
}

describe('messages that came by signal', () => {
  test('aren’t overtaken by an update before a worker is there [message.order.first]', async () => {
    await environment.stopWorker();
    const conversation = new Conversation(environment);
    await conversation.start('m0');
    await conversation.send('m1');
    const update = conversation.ask('m2');
    await environment.restartWorker();
    expect(await update).toMatchObject({ messageId: 'm2' });
    await conversation.result();
    expect((await conversation.said()).filter((line) => line.startsWith('answer'))).toEqual([
      'answer to m0',
      'answer to m1',
      'answer to m2',
    ]);
  });

  test.each(inTier([1], [1, 2, 3, 4, 5, 6]))(
    'nor in any order of both: seed %i [message.order.first]',
    async (seed) => {
      const random = seededRandom(`first order ${seed}`);
      await environment.stopWorker();
      const conversations = await Promise.all(
        Array.from({ length: 4 }, async () => {
          const conversation = new Conversation(environment);
          await conversation.start('m0');
          return { conversation, ...(await sendSome(conversation, random, 6)) };
        }),
      );
      await environment.restartWorker();
      for (const { conversation, sent, updates } of conversations) {
        await Promise.all(updates);
        await conversation.result();
        await expectInOrder(conversation, sent);
      }
    },
  );

  test('are withdrawn by an order that came behind them [message.order.first]', async () => {
    await environment.stopWorker();
    const conversation = new Conversation(environment);
    await conversation.start('m0');
    await conversation.send('m1');
    const { app, userId, sessionId } = conversation.names;
    const order = conversation.handle.executeUpdate('interrupt', {
      args: [{ invocationId: invocationIdOf(app, userId, sessionId, 'm1'), queued: true }],
    });
    await environment.restartWorker();
    await order;
    await conversation.result();
    expect((await conversation.said()).filter((line) => line.startsWith('answer'))).toEqual(['answer to m0']);
  });

  if (isDeep) {
    test.each(inTier([1], [1, 2, 3, 4]))(
      'nor where a run continues as new: seed %i [message.order.first]',
      async (seed) => {
        const random = seededRandom(`new runs ${seed}`);
        const conversation = new Conversation(environment);
        await conversation.start('work');
        const { sent, updates } = await sendSome(conversation, random, 24);
        await Promise.all(updates);
        await conversation.result();
        const { raw } = await conversation.handle.describe();
        expect(raw.workflowExecutionInfo?.firstRunId).not.toBe(raw.workflowExecutionInfo?.execution?.runId);
        await expectInOrder(conversation, sent);
      },
    );
  }
});

test('answers that are there before their run decide nothing, whichever way they came [message.order.first]', async () => {
  await environment.stopWorker();
  const conversation = new Conversation(environment);
  await conversation.start('pay');
  const { handle, names } = conversation;
  const requestId = `rq-${invocationIdOf(names.app, names.userId, names.sessionId, 'pay')}.1.0.1`;
  await handle.signal('confirm', { requestId, confirmed: false });
  const early = handle.executeUpdate('confirm', { args: [{ requestId, confirmed: true }] });
  const refused = expect(early).rejects.toMatchObject({ cause: { type: 'NotPending' } });
  await environment.restartWorker();
  await refused;
  await until(async () => expect((await conversation.status()).waiting).toMatchObject([{ requestId }]));
  await handle.executeUpdate('confirm', { args: [{ requestId, confirmed: true }] });
  await conversation.result();
  expect(await conversation.said()).toContain(JSON.stringify({ paid: true }));
});
