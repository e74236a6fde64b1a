import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Part } from '../../src/events/content.ts';
import { CallIds, nameCalls, withoutOwnCallIds } from '../../src/flows/call-ids.ts';
import { responsesTo } from '../../src/flows/call-responses.ts';

const RUN = 'e-AAAAAAAAAAAAAAAAAAAAAA';

const id = fc.oneof(
  fc.constantFrom(undefined, '', 'call_0', 'call_1', 'adk-', 'adk-x', `adk-${RUN}.1.0`, `adk-${RUN}.1.1`),
  fc.string({ maxLength: 6 }),
);
const call: fc.Arbitrary<Part> = fc
  .tuple(
    id,
    fc.constantFrom('pay', 'list'),
    fc.dictionary(fc.string(), fc.jsonValue()),
    fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  )
  .map(([callId, name, args, thoughtSignature]) => ({
    functionCall: { name, args, ...(callId === undefined ? {} : { id: callId }) },
    ...(thoughtSignature === undefined ? {} : { thoughtSignature }),
  }));
const other: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ text: fc.string(), thought: fc.constant(true) }),
  fc.record({ functionResponse: fc.record({ id: fc.constant('call_0'), name: fc.constant('pay') }) }),
);
const parts = fc.array(fc.oneof({ arbitrary: call, weight: 3 }, other), { maxLength: 8 });

const idOf = ({ functionCall }: Part) => functionCall?.id;

describe('ids of function calls', () => {
  test('are unique over responses, whatever the provider sends, and stay where they are new [call.ids]', () => {
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 5 }), (responses) => {
        const taken = new Set<string>();
        for (const [step, given] of responses.entries()) {
          const { parts: named, callIds } = nameCalls(given, RUN, step + 1, taken);
          expect(named.flatMap((part) => (part.functionCall ? [idOf(part)] : []))).toEqual(callIds);
          for (const [index, own] of given
            .filter((part) => part.functionCall)
            .map(idOf)
            .entries()) {
            const isFirst = own && !own.startsWith('adk-') && !taken.has(own);
            expect(callIds[index]).toBe(isFirst ? own : `adk-${RUN}.${step + 1}.${index}`);
            expect(taken).not.toContain(callIds[index]);
            taken.add(callIds[index] ?? '');
          }
        }
      }),
    );
  });

  test('are all that changes: order, other parts, names, arguments and signatures stay [call.ids]', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const before = structuredClone(given);
        const { parts: named } = nameCalls(given, RUN, 1, new Set());
        expect(given).toEqual(before);
        expect(named.map(withoutAnyId)).toEqual(given.map(withoutAnyId));
        for (const [index, part] of given.entries()) {
          if (part.functionCall === undefined) expect(named[index]).toBe(part);
        }
      }),
    );
  });

  test('that were made up are taken off again, from calls and from responses; others stay [call.ids]', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const { parts: named } = nameCalls(given, RUN, 1, new Set());
        const answers = named.flatMap(({ functionCall }) =>
          functionCall ? [{ functionResponse: { ...functionCall, response: {} } }] : [],
        );
        const seen = withoutOwnCallIds({ role: 'model', parts: named });
        expect(seen.role).toBe('model');
        expect(JSON.stringify(seen.parts?.map(idOf))).not.toContain(RUN);
        expect((seen.parts ?? []).map(withoutAnyId)).toEqual(given.map(withoutAnyId));
        const kept = (seen.parts ?? []).flatMap((part) => (part.functionCall ? [idOf(part)] : []));
        const answered = responsesTo(seen, { role: 'user', parts: answers })?.parts ?? [];
        expect(answered.map(({ functionResponse }) => functionResponse?.id)).toEqual(kept);
      }),
    );
  });

  test('that are repeated are taken off, within a response and where an earlier call has them [call.ids]', () => {
    fc.assert(
      fc.property(parts, (given) => {
        const seen = withoutOwnCallIds({ role: 'model', parts: given }, (own) => own === 'call_0');
        const ids = (seen.parts ?? []).flatMap((part) => (part.functionCall ? [idOf(part)] : []));
        const kept = ids.filter((own) => own !== undefined);
        expect(new Set(kept).size).toBe(kept.length);
        expect(kept).not.toContain('call_0');
        expect((seen.parts ?? []).map(withoutAnyId)).toEqual(given.map(withoutAnyId));
      }),
    );
  });

  test('of responses are those of their calls, place by place [call.ids]', () => {
    const calls = {
      role: 'model',
      parts: [{ text: 'I pay' }, callWith('a'), callWith(undefined), callWith('b')],
    };
    const answered = responsesTo(calls, {
      role: 'user',
      parts: [responseWith('a'), responseWith('adk-x'), { text: 'so far' }, responseWith(undefined)],
    });
    expect(answered?.parts?.map(({ functionResponse }) => functionResponse?.id)).toEqual([
      'a',
      undefined,
      undefined,
      'b',
    ]);
    expect(responsesTo(calls, { role: 'user', parts: [responseWith('a')] })).toBeUndefined();
  });

  test('content that says nothing made up is passed on as it is [contents.verbatim]', () => {
    const calls = { role: 'model', parts: [callWith('a'), { text: 'x' }] };
    const responses = { role: 'user', parts: [responseWith('a')] };
    expect(withoutOwnCallIds(calls)).toBe(calls);
    expect(responsesTo(calls, responses)).toBe(responses);
  });

  test('are taken from the event on that used them first [call.ids]', () => {
    const ids = new CallIds();
    ids.note(2, { parts: [callWith('a'), callWith(undefined), callWith('')] });
    ids.note(3, undefined);
    ids.note(4, { parts: [callWith('a'), callWith('b')] });
    expect([2, 3, 5].map((seq) => ids.isTakenBefore(seq, 'a'))).toEqual([false, true, true]);
    expect([4, 5].map((seq) => ids.isTakenBefore(seq, 'b'))).toEqual([false, true]);
    expect(ids.isTakenBefore(9, 'c')).toBe(false);
    expect(ids.isTakenBefore(9, '')).toBe(false);
  });
});

function callWith(own: string | undefined): Part {
  return { functionCall: { name: 'pay', args: {}, ...(own === undefined ? {} : { id: own }) } };
}

function responseWith(own: string | undefined): Part {
  return { functionResponse: { name: 'pay', response: {}, ...(own === undefined ? {} : { id: own }) } };
}

function withoutAnyId(part: Part): Part {
  if (part.functionCall === undefined) return part;
  const { id: _id, ...functionCall } = part.functionCall;
  return { ...part, functionCall };
}
