import { WorkflowFailedError } from '@temporalio/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Content } from '../../src/events/content.ts';
import type { CancelReceipt, InterruptReceipt, MessageReceipt } from '../../src/protocol/message.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { call, calls, error, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { Conversation } from '../setup/conversation.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { isDeep, someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

const held = new HeldTool();

const lastText = (contents: readonly Content[] | undefined) =>
  contents?.findLast(({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined))
    ?.parts?.[0]?.text ?? '';

/** A text that begins with "hold" is answered after a call that is held, all others at once. */
const script: GeminiScript = ({ contents }) => {
  const said = lastText(contents);
  const answered = contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined);
  if (said.startsWith('fail')) return error(400, 'no');
  if (!said.startsWith('hold') || answered) return text(`answer to ${said}`);
  return said.startsWith('hold two') ? calls([{ name: 'hold' }, { name: 'hold' }]) : call('hold');
};

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [
      new LlmAgent({
        name: 'support',
        model: 'gemini-2.5-flash',
        tools: [held.tool()],
        modelRetry: { initialInterval: 1, maximumInterval: 2 },
      }),
    ],
    script,
  });
});
beforeEach(() => held.hold());
afterAll(() => environment.close());

async function holding(message = 'hold'): Promise<Conversation> {
  const conversation = new Conversation(environment);
  await conversation.start(message);
  await held.begun();
  return conversation;
}

describe('messages while a turn runs', () => {
  test('are answered after it, each once and in order, whatever is sent twice [message.enqueue]', async () => {
    const conversation = await holding();
    await conversation.send('one');
    expect(await conversation.ask('two')).toMatchObject({ status: 'queued', position: 2 });
    await conversation.send('one');
    expect(await conversation.ask('one')).toMatchObject({ status: 'queued', position: 1 });
    expect(await conversation.ask('hold')).toMatchObject({ status: 'running' });
    expect((await conversation.status()).queued).toBe(2);
    held.release();
    const result = await conversation.result();
    expect(result).toMatchObject({ status: 'completed', text: 'answer to hold' });
    expect(result.others?.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(await conversation.said()).toEqual([
      'hold',
      'hold()',
      '{"held":true}',
      'answer to hold',
      'one',
      'answer to one',
      'two',
      'answer to two',
    ]);
    expect(await environment.store.messages.readInbox(conversation.names)).toEqual([]);
  });

  test('of one id with other content are duplicates, and nothing is lost by them [message.enqueue]', async () => {
    const conversation = await holding();
    expect(await conversation.ask('one', { message: 'other', messageId: 'hold' })).toMatchObject({
      status: 'duplicate',
    });
    await conversation.send('one');
    expect(await conversation.ask('changed', { messageId: 'one' })).toMatchObject({ status: 'duplicate' });
    expect(await conversation.ask('one', { message: { parts: [{ text: 'one' }] } })).toMatchObject({
      status: 'queued',
    });
    held.release();
    await conversation.result();
    expect(await conversation.said()).toEqual(expect.arrayContaining(['one', 'answer to one']));
    const again = await holding();
    await conversation.start('later');
    await conversation.result();
    held.release();
    await again.result();
  });

  test('of a message that was answered long ago are told so, and answered no more [message.enqueue]', async () => {
    const conversation = new Conversation(environment);
    await conversation.start('first');
    await conversation.result();
    await conversation.start('hold');
    await held.begun();
    expect(await conversation.ask('first')).toMatchObject({ status: 'finished' });
    expect(await conversation.ask('first', { message: 'other' })).toMatchObject({ status: 'duplicate' });
    held.release();
    await conversation.result();
    expect((await conversation.said()).filter((said) => said === 'first')).toHaveLength(1);
  });

  test('can be rejected: by signal a note and a row tell of it [message.interrupt]', async () => {
    const conversation = await holding();
    expect(await conversation.ask('now', { policy: 'reject' })).toMatchObject({ status: 'rejected' });
    await conversation.send('again', { policy: 'reject' });
    await expect
      .poll(async () => await environment.store.messages.readInbox(conversation.names))
      .toEqual([expect.objectContaining({ messageId: 'again', status: 'rejected' })]);
    expect(await conversation.ask('again', { policy: 'reject' })).toMatchObject({ status: 'rejected' });
    held.release();
    await conversation.result();
    expect(await conversation.said()).not.toContain('again');
  });

  test('can interrupt it: open calls are answered, and the queue waits [message.interrupt]', async () => {
    const conversation = await holding('hold two');
    await held.begun(2);
    await conversation.send('waits');
    await conversation.send('now', { policy: 'interrupt' });
    const result = await conversation.result();
    expect(result.status).toBe('interrupted');
    const cancelled = '{"error":"cancelled: interrupted by a new message"}';
    expect(await conversation.said()).toEqual([
      'hold two',
      'hold()',
      'hold()',
      cancelled,
      cancelled,
      'now',
      'answer to now',
      'waits',
      'answer to waits',
    ]);
  });

  if (isDeep) {
    test('over the bound are refused, and all others answered in order [message.enqueue]', async () => {
      const conversation = await holding();
      const sent = Array.from({ length: 100 }, (_, index) => `m${index}`);
      for (const message of sent) await conversation.send(message);
      expect(await conversation.ask('m99')).toMatchObject({ status: 'queued', position: 100 });
      expect(await conversation.ask('one too many')).toMatchObject({ status: 'queue full' });
      const other = await holding();
      for (const messageId of ['a', 'b', 'c', 'd']) {
        await other.send(messageId.repeat(60_000), { messageId });
      }
      expect(await other.ask('e'.repeat(60_000), { messageId: 'e' })).toMatchObject({ status: 'queue full' });
      held.release();
      await Promise.all([conversation.result(), other.result()]);
      const said = await conversation.said();
      expect(said.filter((line) => sent.includes(line))).toEqual(sent);
      expect(said.filter((line) => line.startsWith('answer to m'))).toHaveLength(100);
      expect((await other.said()).filter((line) => line.length === 60_000)).toHaveLength(4);
    });
  }

  test('that make no sense change nothing and say why [message.enqueue]', async () => {
    const conversation = await holding();
    const bad: [unknown, RegExp][] = [
      [undefined, /arguments: expected an object, got nothing/],
      [{ message: 'x' }, /messageId: /],
      [{ messageId: 'x' }, /message: expected text/],
      [{ messageId: 'x', message: 'x', policy: 'now' }, /policy: /],
      [{ messageId: 'x', message: 'x'.repeat(70_000) }, /message: 70\d+ bytes .*into the store first/],
      [
        { messageId: 'x', message: { parts: [{ functionResponse: {} }] } },
        /message\.parts\[0\]\.functionResponse\.name: /,
      ],
      [{ messageId: 'x', stored: 'yes' }, /stored: /],
    ];
    for (const [payload, problem] of bad) {
      await conversation.handle.signal('sendMessage', payload);
      const update = conversation.handle.executeUpdate('sendMessage', { args: [payload] });
      await expect(update).rejects.toMatchObject({
        cause: { type: 'InvalidMessage', message: expect.stringMatching(problem) },
      });
    }
    expect((await conversation.status()).queued).toBe(0);
    held.release();
    expect((await conversation.result()).others).toBeUndefined();
  });

  test('whose content is said to be in the store and is not are refused [message.large]', async () => {
    const conversation = await holding();
    const stored = { digest: 'none', bytes: 5 };
    const receipt = await conversation.handle.executeUpdate<MessageReceipt, [object]>('sendMessage', {
      args: [{ messageId: 'x', stored }],
    });
    expect(receipt).toMatchObject({ status: 'rejected', reason: expect.stringContaining('in the store') });
    held.release();
    await conversation.result();
  });

  test('go on after a turn that failed; the run fails with what it came to [message.acknowledged]', async () => {
    const conversation = new Conversation(environment);
    await environment.temporal.workflow.signalWithStart('agentTurn', {
      workflowId: conversation.workflowId,
      taskQueue: 'holdfast',
      args: [{ ...conversation.names, message: 'fail', messageId: 'fail' }],
      signal: 'sendMessage',
      signalArgs: [{ messageId: 'after', message: 'after' }],
    });
    const failure: unknown = await conversation.handle.result().catch((thrown) => thrown);
    expect(failure).toBeInstanceOf(WorkflowFailedError);
    const { cause } = failure as WorkflowFailedError & { cause: { type: string; details: TurnResult[] } };
    expect(cause).toMatchObject({
      type: 'TurnFailed',
      details: [{ status: 'failed', others: [{ status: 'completed' }] }],
    });
    expect(await conversation.said()).toEqual(['fail', 'after', 'answer to after']);
  });

  test.each(someOf(['cancel', 'terminate'] as const))(
    'that were accepted are answered although it was %sed [message.acknowledged]',
    async (how) => {
      const conversation = await holding();
      await conversation.ask('one');
      await conversation.ask('two');
      await conversation.handle[how]();
      await conversation.result().catch(() => undefined);
      expect(await environment.store.messages.readInbox(conversation.names)).toHaveLength(2);
      await conversation.start('three');
      await conversation.result();
      expect((await conversation.said()).slice(3)).toEqual([
        'three',
        'answer to three',
        'one',
        'answer to one',
        'two',
        'answer to two',
      ]);
    },
  );

  test('can begin a run by themselves, by signal-with-start [message.offline]', async () => {
    const conversation = new Conversation(environment);
    await environment.temporal.workflow.signalWithStart('agentTurn', {
      workflowId: conversation.workflowId,
      taskQueue: 'holdfast',
      args: [conversation.names],
      signal: 'sendMessage',
      signalArgs: [{ messageId: 'm', message: 'hello', policy: 'reject' }],
    });
    expect(await conversation.result()).toMatchObject({ status: 'completed', text: 'answer to hello' });
  });
});

describe('steering', () => {
  test('one call is cancelled, its sibling and the turn go on [steer.cancelCall]', async () => {
    const conversation = await holding('hold two');
    await held.begun(2);
    const first = await until(async () => {
      const { running } = await conversation.status();
      expect(running).toHaveLength(2);
      return running[0];
    });
    const args: [object] = [{ callKey: first?.callKey, reason: 'too slow' }];
    const cancel = () => conversation.handle.executeUpdate<CancelReceipt, [object]>('cancelCall', { args });
    expect(await cancel()).toMatchObject({ callKey: first?.callKey, status: 'cancelling' });
    await expect.poll(async () => (await conversation.status()).running.length).toBe(1);
    await expect(cancel()).rejects.toMatchObject({ cause: { type: 'UnknownCall' } });
    held.release();
    expect(await conversation.result()).toMatchObject({ status: 'completed' });
    expect((await conversation.said()).slice(3, 5)).toEqual([
      '{"error":"cancelled: too slow"}',
      '{"held":true}',
    ]);
  });

  test('a call that is named wrongly is not cancelled, and the answer names those that are open [steer.cancelCall]', async () => {
    const conversation = await holding();
    for (const payload of [undefined, {}, { callKey: 'x' }, { callId: 'x' }, { callKey: 5 }]) {
      await conversation.handle.signal('cancelCall', payload);
      await expect(
        conversation.handle.executeUpdate('cancelCall', { args: [payload] }),
      ).rejects.toMatchObject({ cause: { type: 'UnknownCall' } });
    }
    held.release();
    expect((await conversation.said()).length).toBeGreaterThan(0);
    expect(await conversation.result()).toMatchObject({ status: 'completed', text: 'answer to hold' });
  });

  test('a turn is stopped politely while a tool runs, and its queue goes on [steer.interrupt]', async () => {
    const conversation = await holding();
    await conversation.send('next');
    const receipt = await conversation.handle.executeUpdate<InterruptReceipt, [object]>('interrupt', {
      args: [{ reason: 'enough' }],
    });
    expect(receipt.invocationId).toMatch(/^e-/);
    expect((await conversation.result()).status).toBe('interrupted');
    expect((await conversation.said()).slice(2)).toEqual([
      '{"error":"cancelled: interrupted: enough"}',
      'next',
      'answer to next',
    ]);
  });

  test.each(someOf(['interrupt', 'cancel'] as const))(
    'a turn is stopped by %s while the model is asked a second time, and leaves no open call [steer.interrupt]',
    async (how) => {
      const asked = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<void>();
      environment.gemini.reset(async (request) => {
        const second = request.contents?.at(-1)?.parts?.some((part) => part.functionResponse !== undefined);
        if (!second) return script(request, undefined as never) as never;
        asked.resolve();
        await answer.promise;
        return text('too late');
      });
      const conversation = await holding();
      held.release();
      await asked.promise;
      if (how === 'cancel') await conversation.handle.cancel();
      else await conversation.handle.signal('interrupt');
      await conversation.result().catch(() => undefined);
      answer.resolve();
      environment.gemini.reset(script);
      const { status } = await conversation.handle.describe();
      expect(status.name).toBe(how === 'cancel' ? 'CANCELLED' : 'COMPLETED');
      await conversation.start('more');
      await conversation.result();
      expect(await conversation.said()).toEqual([
        'hold',
        'hold()',
        '{"held":true}',
        'more',
        'answer to more',
      ]);
    },
  );
});
