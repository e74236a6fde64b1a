import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import type { FunctionCall, Part } from '../../src/events/content.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { originalCallFrom } from '../../src/events/request-calls.ts';
import {
  getPendingUserInputRequests,
  getUserInputRequests,
  requiresUserInput,
} from '../../src/events/user-input-request.ts';

const original = { id: 'call_0', name: 'pay', args: { amount: 500 } };
const CONFIRM = 'adk_request_confirmation';
const confirmation = (originalFunctionCall: unknown, more: object = {}): FunctionCall => ({
  id: 'rq-1',
  name: CONFIRM,
  args: { originalFunctionCall, toolConfirmation: { hint: 'Pay?', confirmed: false }, ...more },
});

describe('the original call [confirm.original]', () => {
  test('of a request, as an event has it and as it comes over the wire', () => {
    expect(originalCallFrom(confirmation(original))).toEqual(original);
    const wire = JSON.parse(JSON.stringify(confirmation({ ...original, willContinue: true })));
    expect(originalCallFrom(wire)).toEqual(original);
    expect(originalCallFrom(confirmation({ name: 'pay', id: null, args: null }))).toEqual({ name: 'pay' });
    expect(originalCallFrom(confirmation({}))).toEqual({});
  });

  test.each<[string, FunctionCall | null | undefined, string]>([
    ['nothing', undefined, 'functionCall or its arguments cannot be nil'],
    ['null', null, 'functionCall or its arguments cannot be nil'],
    ['no arguments', { id: 'rq-1', name: CONFIRM }, 'functionCall or its arguments cannot be nil'],
    [
      'no original call',
      { id: 'rq-1', name: CONFIRM, args: {} },
      'required argument "originalFunctionCall" is missing from call with ID rq-1',
    ],
    [
      'an inherited one',
      { name: CONFIRM, args: Object.create({ originalFunctionCall: original }) },
      'required argument "originalFunctionCall" is missing from call without an ID',
    ],
    ...[
      ['text', '{"name":"pay"}', 'string'] as const,
      ['a list', [original], 'array'] as const,
      ['null', null, 'null'] as const,
    ].map(([what, value, kind]): [string, FunctionCall, string] => [
      `${what} as the original call`,
      confirmation(value),
      `argument "originalFunctionCall" has invalid type: expected JSON object or FunctionCall, got ${kind}`,
    ]),
    [
      'a name that is none',
      confirmation({ ...original, name: 5 }),
      'failed to decode "originalFunctionCall" structure of call with ID rq-1: name is no string',
    ],
    [
      'arguments that are none',
      confirmation({ ...original, args: [1] }),
      'failed to decode "originalFunctionCall" structure of call with ID rq-1: args is no object',
    ],
  ])('is refused for %s', (_, call, message) => {
    expect(() => originalCallFrom(call)).toThrow(new TypeError(message));
  });
});

const eventOf = (...parts: Part[]): Event =>
  createEvent({ id: 'e', author: 'support', timestamp: 1, content: { role: 'user', parts } });
const calls = (...given: FunctionCall[]) => eventOf(...given.map((functionCall) => ({ functionCall })));
const BEARER = { credentialKey: 'bank', authScheme: { type: 'http', scheme: 'bearer' } };

const EVENTS: Record<string, Event> = {
  'a text': eventOf({ text: 'hello' }),
  'no content': createEvent({ id: 'e', timestamp: 1 }),
  'a call of a tool': calls(original),
  'a confirmation': calls(confirmation(original)),
  'a confirmation with a payload': calls(
    confirmation(original, { toolConfirmation: { hint: ' ', confirmed: false, payload: { n: 1 } } }),
  ),
  'a confirmation of nothing': calls({ id: 'rq-1', name: CONFIRM, args: {} }),
  'one without arguments': calls({ id: 'rq-1', name: CONFIRM }),
  'an input': calls({
    id: 'rq-2',
    name: 'adk_request_input',
    args: { message: 'Where to?', payload: null, response_schema: { type: 'string' } },
  }),
  'an input without an id': calls({ name: 'adk_request_input', args: { interruptId: 'i-1', message: 5 } }),
  'an input that nobody can answer': calls({ name: 'adk_request_input', args: { message: '?' } }),
  'a credential': calls({ id: 'rq-3', name: 'adk_request_credential', args: { authConfig: BEARER } }),
  'a credential of another ADK': calls({
    name: 'adk_request_credential',
    args: {
      function_call_id: 'call_0',
      auth_config: { credential_key: 'bank', auth_scheme: { type: 'http', flows: [{ a_b: 1 }] } },
    },
  }),
  'calls of tools that are named like what every object has': calls(
    { id: 'call_0', name: 'toString', args: {} },
    { id: 'call_1', name: 'constructor', args: { message: '?' } },
  ),
  'several, with text between them': eventOf(
    { functionCall: confirmation(original) },
    { text: 'and' },
    { functionCall: { id: 'rq-2', name: 'adk_request_input', args: { message: '?' } } },
  ),
};

describe('requests in events are read as in ADK [event.helpers]', () => {
  test.each(Object.entries(EVENTS))('%s', (_, event) => {
    expect(getUserInputRequests(event)).toEqual(adk.getUserInputRequests(event as adk.Event));
    expect(requiresUserInput(event)).toBe(adk.requiresUserInput(event as adk.Event));
  });

  test('also those that other ADKs write, as adk-go does', () => {
    const args = { interruptId: 'i-1', message: 'Name?', payload: null, responseSchema: { type: 'string' } };
    expect(getUserInputRequests(calls({ id: 'i-1', name: 'adk_request_input', args }))).toMatchObject([
      { kind: 'input', interruptId: 'i-1', message: 'Name?', responseSchema: { type: 'string' } },
    ]);
    const bare = { id: 'i-1', name: 'adk_request_input', args: null } as unknown as FunctionCall;
    expect(getUserInputRequests(calls(bare))).toMatchObject([{ kind: 'input', interruptId: 'i-1' }]);
  });

  test('those that nobody has answered, each once', () => {
    const answer = (id: string): Event =>
      eventOf({ functionResponse: { id, name: CONFIRM, response: { confirmed: true } } });
    const { 'a confirmation': one, 'an input': two } = EVENTS as Record<string, Event> & object;
    if (one === undefined || two === undefined) throw new Error('no events');
    for (const events of [[], [one, two, one], [one, answer('rq-1'), two], [answer('rq-1'), one, two]]) {
      const ours = getPendingUserInputRequests(events);
      const theirs = adk.getPendingUserInputRequests(events as adk.Event[]);
      expect(ours.map(({ interruptId }) => interruptId)).toEqual(
        theirs.map(({ interruptId }) => interruptId),
      );
    }
  });
});
