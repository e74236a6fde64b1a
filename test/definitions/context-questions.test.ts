import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { type CallAnswers, CallQuestions } from '../../src/tools/call-questions.ts';
import { Context, questionsOf } from '../../src/tools/context.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';
import { callOf, contextWith, INIT } from './tool-context.ts';

const BEARER = { credentialKey: 'bank', authScheme: { type: 'http', scheme: 'bearer' } };
const token: AuthCredential = {
  authType: 'http',
  http: { scheme: 'bearer', credentials: { token: 'sk-tulip' } },
};

/** The context of one run of a call, with what people have answered by then. */
const runWith = (answers: CallAnswers = {}) =>
  contextWith({ call: callOf({ questions: new CallQuestions(answers) }) });
const NO_CALL = { code: 'HOLDFAST_NO_CALL', retryable: false };

describe('a confirmation [confirm.inside]', () => {
  test('is asked for as in ADK, and seen by the activity', () => {
    const context = runWith();
    context.requestConfirmation({ hint: 'Order?', payload: { price: 5 } });
    const theirs = new adk.Context({
      invocationContext: { session: { state: {} } } as never,
      functionCallId: 'call_0',
    });
    theirs.requestConfirmation({ hint: 'Order?', payload: { price: 5 } });
    expect(JSON.stringify(context.actions.requestedToolConfirmations)).toBe(
      JSON.stringify(theirs.actions.requestedToolConfirmations),
    );
    expect(questionsOf(context).asked).toEqual({
      kind: 'confirmation',
      hint: 'Order?',
      payload: { price: 5 },
    });
  });

  test('has no hint where none is given, and its payload is JSON', () => {
    const context = runWith();
    context.requestConfirmation({ payload: { at: new Date(0), left: undefined } });
    expect(context.actions.requestedToolConfirmations).toEqual({
      call_0: { hint: '', confirmed: false, payload: { at: '1970-01-01T00:00:00.000Z' } },
    });
    expect(() => context.requestConfirmation({ payload: () => 1 })).toThrow('JSON has no function');
  });

  test('the last one of a run counts', () => {
    const context = runWith();
    context.requestConfirmation({ hint: 'one' });
    context.requestConfirmation({ hint: 'two' });
    expect(questionsOf(context).asked).toEqual({ kind: 'confirmation', hint: 'two' });
    expect(context.actions.requestedToolConfirmations.call_0).toMatchObject({ hint: 'two' });
  });

  test('is there outside of calls for nobody', () => {
    expect(() => contextWith().requestConfirmation({})).toThrow(expect.objectContaining(NO_CALL));
    expect(questionsOf(contextWith()).asked).toBeUndefined();
  });

  test('contexts that user code makes for the same call ask for it', () => {
    const call = callOf({ questions: new CallQuestions() });
    const init = { ...INIT, call, eventActions: createEventActions() };
    const outer = new Context(init);
    const own = new Context({ invocationContext: new InvocationContext(init), functionCallId: 'call_0' });
    own.requestConfirmation({ hint: 'Order?' });
    expect(questionsOf(outer).asked).toEqual({ kind: 'confirmation', hint: 'Order?' });
  });
});

describe('a credential [credential.request]', () => {
  test('is asked for by its scheme and its name: no secret of it is told', () => {
    const context = runWith();
    context.requestCredential({ ...BEARER, rawAuthCredential: token, exchangedAuthCredential: token });
    expect(context.actions.requestedAuthConfigs).toEqual({ call_0: BEARER });
    expect(questionsOf(context).asked).toEqual({ kind: 'credential', authConfig: BEARER });
  });

  const opened = {
    get: (key: string) => (key === 'bank' ? token : undefined),
    renewed: async () => token,
  };

  test('is read where a person has given it, and is in no state', () => {
    const context = runWith({ credentials: opened });
    expect(context.getAuthResponse(BEARER)).toBe(token);
    expect(context.getAuthResponse({ ...BEARER, credentialKey: 'other' })).toBeUndefined();
    expect(contextWith().getAuthResponse(BEARER)).toBeUndefined();
    expect(JSON.stringify([context.state.toRecord(), context.actions])).not.toContain('tulip');
  });

  test('of the tool itself is there when it runs', () => {
    expect(runWith({ credentials: opened, wanted: { authConfig: BEARER } }).authCredential).toBe(token);
    expect(contextWith().authCredential).toBeUndefined();
  });

  test('needs a name, and a call that can wait', () => {
    const nameless = { authScheme: {} } as never;
    const message = 'authConfig.credentialKey must be a name, got undefined';
    expect(() => runWith().requestCredential(nameless)).toThrow(`requestCredential: ${message}`);
    expect(() => runWith().getAuthResponse(nameless)).toThrow(`getAuthResponse: ${message}`);
    expect(() => contextWith().requestCredential(BEARER)).toThrow(expect.objectContaining(NO_CALL));
  });

  test('shows in nothing that logs a context', async () => {
    const { inspect } = await import('node:util');
    const context = runWith({ credentials: opened, wanted: { authConfig: BEARER } });
    expect(inspect(context, { depth: 10 })).not.toContain('tulip');
    expect(JSON.stringify(context)).not.toContain('tulip');
  });
});

describe('an input [input.request]', () => {
  test('is pending until a person has answered, whatever user code makes of that', async () => {
    const context = runWith();
    const swallowed = await context
      .requestInput({ message: 'Where to?', payload: { order: 7 } })
      .catch(() => 'swallowed');
    expect(swallowed).toBe('swallowed');
    expect(questionsOf(context).asked).toEqual({
      kind: 'input',
      message: 'Where to?',
      payload: { order: 7 },
    });
    await expect(runWith().requestInput({ message: 'Where to?' })).rejects.toMatchObject({
      name: 'InputPending',
    });
  });

  test('the nth question of a run gets the nth answer', async () => {
    const ask = async (context: Context) => [
      await context.requestInput({ message: 'one' }),
      await context.requestInput({ message: 'two' }),
    ];
    const asked = async (inputs: unknown[]) => {
      const context = runWith({ inputs });
      const answers = await ask(context).catch(() => undefined);
      return { answers, asked: questionsOf(context).asked };
    };
    expect(await asked([])).toMatchObject({ asked: { message: 'one' } });
    expect(await asked(['a'])).toMatchObject({ asked: { message: 'two' } });
    expect(await asked(['a', null])).toEqual({ answers: ['a', null], asked: undefined });
  });

  test('of several at once the first is asked', async () => {
    const context = runWith();
    await Promise.allSettled(['one', 'two'].map((message) => context.requestInput({ message })));
    expect(questionsOf(context).asked).toMatchObject({ message: 'one' });
  });

  test('comes after confirmation and credential', async () => {
    const context = runWith();
    await context.requestInput({ message: 'Where to?' }).catch(() => undefined);
    expect(questionsOf(context).asked?.kind).toBe('input');
    context.requestCredential(BEARER);
    expect(questionsOf(context).asked?.kind).toBe('credential');
    context.requestConfirmation({ hint: 'Order?' });
    expect(questionsOf(context).asked?.kind).toBe('confirmation');
  });

  test('has a schema of any kind, which people are shown and the answer goes through', async () => {
    const responseSchema = z.object({ street: z.string(), copies: z.number().default(1) });
    const asking = runWith();
    await asking.requestInput({ message: 'Where to?', responseSchema }).catch(() => undefined);
    expect(questionsOf(asking).asked).toMatchObject({
      responseSchema: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
    });
    const answer = { street: 'Ringstraße' };
    const given = await runWith({ inputs: [answer] }).requestInput({ message: 'Where to?', responseSchema });
    expect(given).toEqual({ street: 'Ringstraße', copies: 1 });
    expect(answer).toEqual({ street: 'Ringstraße' });
    const plain = { type: 'string', enum: ['a', 'b'] } as const;
    expect(await runWith({ inputs: ['b'] }).requestInput({ message: '?', responseSchema: plain })).toBe('b');
  });

  test('an answer that no longer fits the schema is an error, not a retry', async () => {
    const context = runWith({ inputs: [5] });
    const asked = context.requestInput({ message: '?', responseSchema: z.string() });
    await expect(asked).rejects.toMatchObject({
      code: 'HOLDFAST_INPUT_MISMATCH',
      retryable: false,
      message: expect.stringContaining("the answer doesn't match responseSchema"),
    });
    expect(questionsOf(context).asked).toBeUndefined();
  });

  test.each<[string, object, string]>([
    ['no question', {}, 'message must be the text of a question, got undefined'],
    ['an empty one', { message: '' }, 'message must be the text of a question, got string'],
    ['no schema', { message: '?', responseSchema: 'text' }, 'responseSchema: expected a schema'],
    ['a payload that is no JSON', { message: '?', payload: 1n }, 'JSON has no bigint'],
  ])('refuses %s', async (_, request, message) => {
    const context = runWith();
    await expect(context.requestInput(request as never)).rejects.toThrow(message);
    expect(questionsOf(context).asked).toBeUndefined();
  });

  test('is there in calls only', async () => {
    await expect(contextWith().requestInput({ message: '?' })).rejects.toMatchObject(NO_CALL);
  });
});
