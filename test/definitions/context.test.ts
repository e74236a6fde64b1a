import { describe, expect, test, vi } from 'vitest';
import { createEventActions } from '../../src/events/event-actions.ts';
import { Context } from '../../src/tools/context.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';

const init: ContextInit = {
  appName: 'shop',
  userId: 'ada',
  sessionId: 's1',
  invocationId: 'e-1',
  agentName: 'support',
  state: { city: 'Graz' },
  userContent: { role: 'user', parts: [{ text: 'hi' }] },
};

/** Records as the ledger keeps them: JSON, over attempts. */
function call(records = new Map<string, string>(), attempt = 1): CallInit {
  return {
    callId: 'call_0',
    callKey: 'e-1.1.0',
    session: 'of-the-store',
    attempt,
    heartbeat: () => {},
    once: {
      get: (key) => (records.has(key) ? JSON.parse(records.get(key) ?? '') : undefined),
      put: async (key, value) => {
        if (!records.has(key)) records.set(key, JSON.stringify(value));
        return JSON.parse(records.get(key) ?? '');
      },
    },
  };
}

describe('Context [tool.context]', () => {
  test('tells who, where and which call', () => {
    const { signal } = new AbortController();
    const context = new Context({ ...init, abortSignal: signal, call: call(undefined, 3) });
    expect(context).toMatchObject({
      appName: 'shop',
      userId: 'ada',
      sessionId: 's1',
      invocationId: 'e-1',
      agentName: 'support',
      userContent: { parts: [{ text: 'hi' }] },
      functionCallId: 'call_0',
      callKey: 'e-1.1.0',
      idempotencyKey: 'of-the-store.e-1.1.0',
      attempt: 3,
    });
    expect(context.abortSignal).toBe(signal);
  });

  test('state and actions are one', () => {
    const eventActions = createEventActions();
    const context = new Context({ ...init, eventActions });
    context.state.set('city', 'Wien');
    context.actions.skipSummarization = true;
    expect(context.state.get('city')).toBe('Wien');
    expect(eventActions).toMatchObject({ stateDelta: { city: 'Wien' }, skipSummarization: true });
    expect(init.state).toEqual({ city: 'Graz' });
    expect(new Context(init).state.get('city')).toBe('Graz');
  });

  test('outside of a call there is no call key', async () => {
    const context = new Context(init);
    expect(context.functionCallId).toBeUndefined();
    expect(context.attempt).toBe(1);
    expect(() => context.callKey).toThrow('context.callKey is there in tool calls only');
    await expect(context.once('x', () => 1)).rejects.toMatchObject({
      code: 'HOLDFAST_NO_CALL',
      retryable: false,
    });
    context.heartbeat('fine');
  });

  test('heartbeat hands on its details', () => {
    const heartbeat = vi.fn();
    new Context({ ...init, call: { ...call(), heartbeat } }).heartbeat({ done: 3 });
    expect(heartbeat).toHaveBeenCalledWith({ done: 3 });
  });
});

describe('once [turn.once]', () => {
  test('runs in one attempt only, and gives both the same', async () => {
    const records = new Map<string, string>();
    const charge = vi.fn(() => ({ id: 'ch_1', at: new Date(0), note: undefined }));
    const first = await new Context({ ...init, call: call(records) }).once('charge', charge);
    const second = await new Context({ ...init, call: call(records, 2) }).once('charge', charge);
    expect(charge).toHaveBeenCalledTimes(1);
    expect(first).toEqual({ id: 'ch_1', at: '1970-01-01T00:00:00.000Z' });
    expect(second).toEqual(first);
  });

  test.each([[undefined], [null], [0], [''], [false], [[]]])('records %s', async (value) => {
    const records = new Map<string, string>();
    const action = vi.fn(() => value);
    expect(await new Context({ ...init, call: call(records) }).once('k', action)).toEqual(value);
    expect(await new Context({ ...init, call: call(records) }).once('k', action)).toEqual(value);
    expect(action).toHaveBeenCalledTimes(1);
  });

  test('the value that another attempt recorded first is the one that counts', async () => {
    const put = async () => ({ value: 'theirs' });
    const context = new Context({ ...init, call: { ...call(), once: { get: () => undefined, put } } });
    expect(await context.once('k', () => 'mine')).toBe('theirs');
    expect(await context.once('k', () => 'mine again')).toBe('theirs');
  });

  test('a failed action is not recorded', async () => {
    const context = new Context({ ...init, call: call() });
    const action = vi.fn().mockRejectedValueOnce(new Error('down')).mockResolvedValueOnce('up');
    await expect(context.once('k', action)).rejects.toThrow('down');
    expect(await context.once('k', action)).toBe('up');
    expect(await context.once('k', action)).toBe('up');
    expect(action).toHaveBeenCalledTimes(2);
  });

  test('at the same time runs once, keys apart', async () => {
    const context = new Context({ ...init, call: call() });
    const action = vi.fn(async () => ({}));
    const [one, two] = await Promise.all([context.once('k', action), context.once('k', action)]);
    expect(one).toBe(two);
    await context.once('other', action);
    expect(action).toHaveBeenCalledTimes(2);
  });

  test('does not depend on the store seeing its own writes at once', async () => {
    const put = vi.fn(async (_key: string, value: unknown) => value);
    const context = new Context({ ...init, call: { ...call(), once: { get: () => undefined, put } } });
    const action = vi.fn(() => 1);
    await context.once('k', action);
    await context.once('k', action);
    expect(action).toHaveBeenCalledTimes(1);
  });

  test('a result that JSON lacks ends the attempts, because the action has happened', async () => {
    const context = new Context({ ...init, call: call() });
    await expect(context.once('k', () => ({ n: 1n }))).rejects.toMatchObject({
      message: `once("k"): the result can't be recorded: n: JSON has no bigint; give a number or a string`,
      code: 'HOLDFAST_ONCE_RESULT',
      retryable: false,
    });
  });

  test('a store that fails fails the action', async () => {
    const once = { get: () => undefined, put: () => Promise.reject(new Error('store down')) };
    await expect(new Context({ ...init, call: { ...call(), once } }).once('k', () => 1)).rejects.toThrow(
      'store down',
    );
  });

  test('bad keys and actions', async () => {
    const context = new Context({ ...init, call: call() });
    await expect(context.once('', () => 1)).rejects.toThrow(
      'once: key must be a string of 1 to 200 characters',
    );
    await expect(context.once('x'.repeat(201), () => 1)).rejects.toThrow('key must be');
    await expect(context.once('k', 1 as never)).rejects.toThrow('once("k"): action must be a function');
  });
});

test('ReadonlyContext: state is read-only [tool.context]', () => {
  const context = new ReadonlyContext(init);
  expect(context.state.get('city')).toBe('Graz');
  expect(() => (context.state as { set(key: string, value: unknown): void }).set('city', 'Wien')).toThrow(
    'read-only',
  );
  expect(context.agentName).toBe('support');
});

describe('of an invocation context, as in ADK programs [tool.context]', () => {
  const eventActions = createEventActions({ stateDelta: { city: 'Linz' } });
  const invocationContext = new InvocationContext({ ...init, eventActions, call: call() });

  test('ReadonlyContext sees who acts, and what was written by now', () => {
    const context = new ReadonlyContext(invocationContext);
    expect(context).toMatchObject({ appName: 'shop', userId: 'ada', sessionId: 's1', agentName: 'support' });
    expect(context.invocationContext).toBe(invocationContext);
    expect(context.state.get('city')).toBe('Linz');
    eventActions.stateDelta.road = 'A1';
    expect(context.state.get('road')).toBe('A1');
    expect(init.state).toEqual({ city: 'Graz' });
  });

  test('Context writes into actions of its own, or into those it is given', () => {
    const own = new Context({ invocationContext });
    expect(own.state.get('city')).toBe('Linz');
    own.state.set('city', 'Wels');
    expect(own.actions).toEqual(createEventActions({ stateDelta: { city: 'Wels' } }));
    expect(eventActions.stateDelta.city).toBe('Linz');
    const shared = new Context({ invocationContext, eventActions });
    shared.state.set('city', 'Steyr');
    expect(eventActions.stateDelta.city).toBe('Steyr');
    expect(shared.state.get('city')).toBe('Steyr');
    expect(shared.invocationContext).toBe(invocationContext);
  });

  test('Context belongs to a call where it is told which', async () => {
    const confirmation = { hint: 'sure?', confirmed: true };
    const params = { invocationContext, functionCallId: 'call_0', toolConfirmation: confirmation };
    const ofCall = new Context(params);
    expect([ofCall.functionCallId, ofCall.callKey]).toEqual(['call_0', 'e-1.1.0']);
    expect(ofCall.toolConfirmation).toEqual(confirmation);
    const ofOther = new Context({ invocationContext, functionCallId: 'call_9' });
    expect(ofOther.functionCallId).toBe('call_9');
    expect(() => ofOther.callKey).toThrow('tool calls only');
    expect(new Context({ invocationContext }).functionCallId).toBeUndefined();
  });

  test('ending the invocation is seen by all of its contexts', () => {
    new Context({ invocationContext }).invocationContext.endInvocation = true;
    expect(new ReadonlyContext(invocationContext).invocationContext.endInvocation).toBe(true);
  });

  test('anything but an invocation is refused', () => {
    expect(() => new Context({ invocationContext: {} as never })).toThrow(
      'invocationContext must be an InvocationContext, or have a session',
    );
  });
});

test("artifacts and memory without a service throw ADK's errors [context.services]", async () => {
  const context = new Context(init);
  const error = (service: string) => ({
    message: `${service} service is not initialized.`,
    code: 'HOLDFAST_SERVICE_MISSING',
    retryable: false,
  });
  await expect(context.saveArtifact('a.txt', { text: 'a' })).rejects.toMatchObject(error('Artifact'));
  await expect(context.loadArtifact('a.txt', 1)).rejects.toMatchObject(error('Artifact'));
  await expect(context.listArtifacts()).rejects.toMatchObject(error('Artifact'));
  await expect(context.searchMemory('tents')).rejects.toMatchObject(error('Memory'));
});

test('a call hears of its cancellation, anything else has none to hear of [tool.task]', () => {
  const handlers: (() => unknown)[] = [];
  const onCancel = (handler: () => unknown) => handlers.push(handler);
  const stop = vi.fn();
  const context = new Context({ ...init, call: { ...call(), onCancel } });
  context.task.onCancel(stop);
  for (const handler of handlers) handler();
  expect(stop).toHaveBeenCalledTimes(1);
  expect(() => context.task.onCancel('stop' as never)).toThrow('handler must be a function');
  new Context(init).task.onCancel(stop);
  expect(stop).toHaveBeenCalledTimes(1);
});

describe('calls of the turn [tool.turnCalls] [tool.transcript]', () => {
  const record = {
    callKey: 'e-1.1.0',
    callId: 'c0',
    name: 'pay',
    agent: 'support',
    args: {},
    response: { ok: true },
    failed: false,
    step: 1,
  };

  test('are there where the transcript was loaded', () => {
    const transcript = { events: () => [], contents: () => [], toolCalls: () => [record] };
    expect(new Context({ ...init, transcript }).turnToolCalls).toEqual([record]);
  });

  test('else the error says what the tool lacks', () => {
    const context = new Context({ ...init, call: call() });
    const error = expect.objectContaining({ code: 'HOLDFAST_TRANSCRIPT_NOT_LOADED', retryable: false });
    expect(() => context.turnToolCalls).toThrow('give the tool `needsTranscript: true`');
    expect(() => context.turnToolCalls).toThrow(error);
    expect(() => context.invocationContext.session.events).toThrow(error);
    expect(() => context.invocationContext.contents({ agent: 'support', include: 'default' })).toThrow(error);
  });
});
