import * as adk from '@google/adk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createEvent,
  type Event,
  EventType,
  findEventByFunctionCallId,
  findEventByLastFunctionResponseId,
  findMatchingFunctionCall,
  generateClientFunctionCallId,
  hasThoughts,
  populateClientFunctionCallId,
  pruneThoughts,
  toStructuredEvents,
} from '../../src/index.ts';

const id = fc.constantFrom('a', 'b', 'adk-1', '', undefined);
const call = fc.record({ id, name: fc.constantFrom('pay', 'list'), args: fc.constant({ n: 1 }) });
const response = fc.record({ id, name: fc.constantFrom('pay', 'list'), response: fc.constant({ ok: true }) });
const part = fc.oneof(
  fc.record({ text: fc.constantFrom('', 'so', 'it is'), thought: fc.constantFrom(true, false, undefined) }),
  fc.record({ functionCall: fc.oneof(call, fc.constant({})) }),
  fc.record({ functionResponse: fc.oneof(response, fc.constant({})) }),
  fc.record({ executableCode: fc.constantFrom({ code: '1+1', language: 'PYTHON' }, {}) }),
  fc.record({ codeExecutionResult: fc.constantFrom({ outcome: 'OUTCOME_OK', output: '2' }, {}) }),
  fc.record({ inlineData: fc.constant({ mimeType: 'image/png', data: 'AA==' }), text: fc.constant('seen') }),
);
const given = fc.record(
  {
    author: fc.constantFrom('user', 'root'),
    content: fc.record(
      { role: fc.constant('model'), parts: fc.array(part, { maxLength: 4 }) },
      { requiredKeys: [] },
    ),
    partial: fc.boolean(),
    errorCode: fc.constantFrom('SAFETY', ''),
    errorMessage: fc.constantFrom('refused', ''),
    longRunningToolIds: fc.constantFrom([], ['a']),
    actions: fc.record(
      {
        skipSummarization: fc.boolean(),
        requestedToolConfirmations: fc.constantFrom({}, { a: { hint: 'sure?', confirmed: false } }),
        requestedAuthConfigs: fc.constantFrom({}, { a: { authScheme: {}, credentialKey: 'k' } }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);
const events = fc.array(given, { maxLength: 5 });

/** Of each package its own, of the same description; ids and times are the same. */
function made(params: object, index = 0): { ours: Event; theirs: adk.Event } {
  const own = { ...structuredClone(params), id: `${index}`, timestamp: index + 1 };
  const theirs = { ...structuredClone(params), id: `${index}`, timestamp: index + 1 };
  return { ours: createEvent(own), theirs: adk.createEvent(theirs as adk.CreateEventParams) };
}

const json = (value: unknown) => JSON.parse(JSON.stringify(value ?? null));
/** An error is no JSON. */
const structured = (parts: readonly { type: string; error?: Error }[]) =>
  parts.map(({ error, ...rest }) => ({ ...json(rest), ...(error ? { error: error.message } : {}) }));

describe('random events, in both packages [event.helpers]', () => {
  test('have the same parts', () => {
    fc.assert(
      fc.property(given, (params) => {
        const { ours, theirs } = made(params);
        expect(structured(toStructuredEvents(ours))).toEqual(structured(adk.toStructuredEvents(theirs)));
      }),
    );
  });

  test('have the same thoughts, and are the same without them', () => {
    fc.assert(
      fc.property(given, (params) => {
        const { ours, theirs } = made(params);
        expect(hasThoughts(ours)).toBe(adk.hasThoughts(theirs));
        expect(json(pruneThoughts(ours).content)).toEqual(json(adk.pruneThoughts(theirs).content));
        expect(hasThoughts(pruneThoughts(ours))).toBe(false);
      }),
    );
  });

  test('get ids where their calls have none', () => {
    fc.assert(
      fc.property(given, (params) => {
        const { ours, theirs } = made(params);
        populateClientFunctionCallId(ours);
        adk.populateClientFunctionCallId(theirs);
        const random = (text: string) => text.replaceAll(/"adk-[0-9a-f-]{36}"/g, '"adk-random"');
        expect(random(JSON.stringify(ours.content ?? null))).toBe(
          random(JSON.stringify(theirs.content ?? null)),
        );
      }),
    );
  });

  test('are found by their calls', () => {
    fc.assert(
      fc.property(
        events,
        fc.constantFrom('a', 'b', 'adk-1', 'other'),
        fc.option(fc.nat(6)),
        (list, callId, end) => {
          const both = list.map(made);
          const ours = both.map((each) => each.ours);
          const theirs = both.map((each) => each.theirs);
          const before = end === null ? undefined : Math.min(end, list.length);
          expect(findEventByFunctionCallId(ours, callId, before)?.id).toBe(
            adk.findEventByFunctionCallId(theirs, callId, before)?.id,
          );
          expect(findMatchingFunctionCall(ours)?.id).toBe(adk.findMatchingFunctionCall(theirs)?.id);
          expect(findEventByLastFunctionResponseId(ours)?.id ?? null).toBe(
            adk.findEventByLastFunctionResponseId(theirs)?.id ?? null,
          );
        },
      ),
    );
  });
});

test('the types of parts are those of ADK [event.helpers]', () => {
  expect(EventType).toEqual({ ...adk.EventType });
});

test('ids that are made for calls are random and have the prefix by which they are taken off again', () => {
  const made = new Set(Array.from({ length: 100 }, generateClientFunctionCallId));
  expect(made.size).toBe(100);
  for (const each of made) expect(each).toMatch(/^adk-[0-9a-f-]{36}$/);
});
