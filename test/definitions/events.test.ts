import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import {
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  isEvent,
  isFinalResponse,
  stringifyContent,
} from '../../src/events/event.ts';
import { createEventActions } from '../../src/events/event-actions.ts';

const base = { id: '1', invocationId: 'e-1', author: 'root', timestamp: 5, actions: {} };

/** Events as they come over the wire, from the reference of event JSON. */
const WIRE: Record<string, object> = {
  'user text': { ...base, author: 'user', content: { role: 'user', parts: [{ text: 'hi' }] } },
  'partial text': { ...base, partial: true, content: { role: 'model', parts: [{ text: 'He' }] } },
  'final text': { ...base, finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'Hello' }] } },
  thoughts: {
    ...base,
    content: { role: 'model', parts: [{ text: 'hm', thought: true }, { text: 'Hel' }, { text: 'lo' }] },
  },
  calls: {
    ...base,
    content: {
      role: 'model',
      parts: [
        { functionCall: { id: 'adk-a', name: 'pay', args: { n: 1 } } },
        { functionCall: { id: 'adk-b', name: 'list', args: {} } },
      ],
    },
  },
  responses: {
    ...base,
    content: { role: 'user', parts: [{ functionResponse: { id: 'adk-a', name: 'pay', response: {} } }] },
  },
  'responses without summary': {
    ...base,
    actions: { skipSummarization: true },
    content: { role: 'user', parts: [{ functionResponse: { id: 'adk-a', name: 'pay', response: {} } }] },
  },
  'long-running call': {
    ...base,
    longRunningToolIds: ['adk-a'],
    content: { role: 'model', parts: [{ functionCall: { id: 'adk-a', name: 'pay', args: {} } }] },
  },
  'credential request': {
    ...base,
    actions: { requestedAuthConfigs: { 'adk-a': { authScheme: {}, credentialKey: 'k' } } },
    content: { role: 'user', parts: [{ functionResponse: { id: 'adk-a', name: 'pay', response: {} } }] },
  },
  'trailing code result': {
    ...base,
    content: { role: 'model', parts: [{ text: 'x' }, { codeExecutionResult: { output: '1' } }] },
  },
  error: { ...base, errorCode: 'SAFETY', errorMessage: '…' },
  'no parts': { ...base, content: { role: 'model' } },
};

describe('reads events as @google/adk does [event.wire]', () => {
  test.each(Object.entries(WIRE))('%s', (_, json) => {
    const event = json as Event;
    const theirs = json as unknown as adk.Event;
    expect(isFinalResponse(event)).toBe(adk.isFinalResponse(theirs));
    expect(getFunctionCalls(event)).toEqual(adk.getFunctionCalls(theirs));
    expect(getFunctionResponses(event)).toEqual(adk.getFunctionResponses(theirs));
    expect(stringifyContent(event)).toBe(adk.stringifyContent(theirs));
  });
});

test('an event of another ADK may lack actions [event.wire]', () => {
  expect(isFinalResponse({ id: '7', invocationId: '', timestamp: 1 } as Event)).toBe(true);
});

test('createEvent fills in what is missing and keeps what is given [event.wire]', () => {
  const given = createEvent({ id: 'x', timestamp: 7, author: 'user', actions: { escalate: true } });
  expect(given).toEqual({
    id: 'x',
    invocationId: '',
    author: 'user',
    timestamp: 7,
    longRunningToolIds: [],
    actions: {
      escalate: true,
      stateDelta: {},
      artifactDelta: {},
      requestedAuthConfigs: {},
      requestedToolConfirmations: {},
    },
  });
  const theirs = adk.createEvent({ id: 'x', timestamp: 7, author: 'user', actions: { escalate: true } });
  expect(JSON.parse(JSON.stringify(given))).toEqual(JSON.parse(JSON.stringify(theirs)));

  const before = Date.now();
  const made = createEvent();
  expect(made.id).not.toBe(createEvent().id);
  expect(made.timestamp).toBeGreaterThanOrEqual(before);
});

test('createEventActions takes the maps that it is given and never shares those that it makes', () => {
  const stateDelta = { a: 1 };
  expect(createEventActions({ stateDelta }).stateDelta).toBe(stateDelta);
  expect(createEventActions().stateDelta).not.toBe(createEventActions().stateDelta);
  expect(createEventActions({ stateDelta: undefined }).stateDelta).toEqual({});
});

test('isEvent knows events after a round trip through JSON', () => {
  expect(isEvent(JSON.parse(JSON.stringify(createEvent())))).toBe(true);
  expect([null, 'x', {}, { id: 'x', timestamp: 1, actions: {} }].some(isEvent)).toBe(false);
});
