import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Content, Part } from '../../src/events/content.ts';
import { nameCalls } from '../../src/flows/call-ids.ts';
import { callIdsOf, contentsOf, type TranscriptEvent } from '../../src/flows/contents.ts';
import { checkRequest } from '../../src/testing/gemini-check.ts';
import { ThoughtSignatures } from '../../src/testing/gemini-signatures.ts';

type Step =
  /** Ids as the provider sends them. */
  { calls: (string | undefined)[]; said?: string } | { answer: string } | { error: string; said?: string };

interface Turn {
  message: string;
  steps: Step[];
  /** The turn breaks off before the last step's responses are merged; the next turn answers them, or nothing does. */
  broken: 'healed' | 'never' | undefined;
}

const callId = fc.constantFrom(undefined, '', 'call_0', 'call_1', 'adk-old');
const said = fc.option(fc.string({ minLength: 1 }), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ calls: fc.array(callId, { minLength: 1, maxLength: 4 }), said }),
  },
  { weight: 1, arbitrary: fc.record({ answer: fc.constantFrom('', 'done') }) },
  { weight: 1, arbitrary: fc.record({ error: fc.constant('SAFETY'), said }) },
);
const turns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    message: fc.string({ minLength: 1 }),
    steps: fc.array(step, { maxLength: 4 }),
    broken: fc.constantFrom('healed', 'never', undefined),
  }),
  { minLength: 1, maxLength: 5 },
);

/** The transcript that these turns leave in the store; each response says which call it answers. */
function transcriptOf(given: readonly Turn[]): TranscriptEvent[] {
  const events: TranscriptEvent[] = [];
  let late: TranscriptEvent | undefined;
  for (const [index, { message, steps, broken }] of given.entries()) {
    const runKey = `run-${index}`;
    if (late !== undefined) events.push(late);
    late = undefined;
    events.push({ kind: 'message', runKey, step: 1, event: { content: user([{ text: message }]) } });
    for (const [before, asked] of steps.entries()) {
      const place = { runKey, step: before + 1 };
      const text: Part[] = 'said' in asked && asked.said !== undefined ? [{ text: asked.said }] : [];
      if ('error' in asked) {
        const content = text.length === 0 ? {} : { content: { role: 'model', parts: text } };
        events.push({ kind: text.length === 0 ? 'error' : 'model', ...place, event: content });
        break;
      }
      if ('answer' in asked) {
        const parts = asked.answer === '' ? [] : [{ text: asked.answer }];
        events.push({ kind: 'model', ...place, event: { content: { role: 'model', parts } } });
        break;
      }
      const calls = asked.calls.map((id, position) => ({
        functionCall: { name: `tool_${position}`, args: { at: `${runKey}.${before + 1}.${position}` }, id },
      })) as Part[];
      const { parts } = nameCalls([...text, ...calls], runKey, before + 1, callIdsOf(events));
      events.push({ kind: 'model', ...place, event: { content: { role: 'model', parts } } });
      const responses: TranscriptEvent = {
        kind: 'responses',
        ...place,
        event: {
          content: user(
            parts.flatMap(({ functionCall }) =>
              functionCall
                ? [
                    {
                      functionResponse: {
                        id: functionCall.id,
                        name: functionCall.name,
                        response: functionCall.args,
                      },
                    },
                  ]
                : [],
            ) as Part[],
          ),
        },
      };
      const isLast = before === steps.length - 1;
      if (!isLast || broken === undefined) events.push(responses);
      else if (broken === 'healed') late = responses;
    }
  }
  return events;
}

function user(parts: Part[]): Content {
  return { role: 'user', parts };
}

describe('the contents of a request', () => {
  test('each call that the model sees has exactly one response, its own, right behind it [contents.pairs]', () => {
    fc.assert(
      fc.property(turns, (given) => {
        const contents = contentsOf(transcriptOf(given));
        for (const [index, { parts }] of contents.entries()) {
          const asked = (parts ?? []).flatMap(({ functionCall }) => functionCall?.args?.at ?? []);
          if (asked.length === 0) continue;
          const answered = (contents[index + 1]?.parts ?? []).map(
            ({ functionResponse }) => functionResponse?.response?.at,
          );
          expect(answered).toEqual(asked);
        }
      }),
    );
  });

  test('Gemini takes them: roles, order, ids of calls and responses [contents.pairs]', () => {
    fc.assert(
      fc.property(turns, (given) => {
        const contents = contentsOf([
          ...transcriptOf(given),
          { kind: 'message', runKey: 'now', step: 1, event: { content: user([{ text: 'go on' }]) } },
        ]);
        checkRequest(
          'gemini-2.5-flash',
          JSON.parse(JSON.stringify({ contents })),
          new ThoughtSignatures(undefined),
        );
      }),
    );
  });

  test('every message and every answered step is in them, in order; nothing else is [contents.pairs]', () => {
    fc.assert(
      fc.property(turns, (given) => {
        const events = transcriptOf(given);
        const answered = (runKey: string, at: number) =>
          events.some((event) => event.kind === 'responses' && event.runKey === runKey && event.step === at);
        const expected = events.filter(({ kind, runKey, step: at, event }) => {
          const parts = event.content?.parts ?? [];
          return (
            parts.length > 0 && (kind !== 'model' || !parts.at(-1)?.functionCall || answered(runKey, at))
          );
        });
        expect(contentsOf(events).map(withoutIds)).toEqual(
          expected.map(({ event }) => withoutIds(event.content ?? {})),
        );
      }),
    );
  });

  test('parts go back as they came, with fields that nobody knows [contents.verbatim]', () => {
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: 'c2ln' },
      { text: 'hello', newField: { deep: [1] } },
      { inlineData: { mimeType: 'image/png', data: 'AA==' } },
    ] as Part[];
    const events: TranscriptEvent[] = [
      { kind: 'message', runKey: 'r', step: 1, event: { content: user([{ text: 'hi' }]) } },
      { kind: 'model', runKey: 'r', step: 1, event: { content: { role: 'model', parts } } },
    ];
    expect(contentsOf(events)[1]).toEqual({ role: 'model', parts });
  });

  test('an empty transcript, and events without parts, are no contents [contents.pairs]', () => {
    expect(contentsOf([])).toEqual([]);
    expect(
      contentsOf([
        { kind: 'error', runKey: 'r', step: 1, event: {} },
        { kind: 'model', runKey: 'r', step: 1, event: { content: { role: 'model' } } },
        { kind: 'model', runKey: 'r', step: 2, event: { content: { role: 'model', parts: [] } } },
      ]),
    ).toEqual([]);
  });
});

test('the ids of calls are those of every call event, answered or not [call.ids]', () => {
  fc.assert(
    fc.property(turns, (given) => {
      const events = transcriptOf(given);
      const ids = events.flatMap(({ event }) =>
        (event.content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
      );
      expect([...callIdsOf(events)]).toEqual(ids);
    }),
  );
});

function withoutIds({ role, parts }: Content) {
  return {
    role,
    parts: (parts ?? []).map((part) =>
      JSON.parse(JSON.stringify(part, (key, value) => (key === 'id' ? undefined : value))),
    ),
  };
}
