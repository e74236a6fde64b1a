import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { Content, Part } from '../../src/events/content.ts';
import { CallIds } from '../../src/flows/call-ids.ts';
import type { TranscriptEvent } from '../../src/flows/event-visibility.ts';
import { contentsOf as contentsFor, PerspectiveContents } from '../../src/flows/perspective-contents.ts';
import { checkRequest } from '../../src/testing/gemini-check.ts';
import { ThoughtSignatures } from '../../src/testing/gemini-signatures.ts';
import { inTier } from '../setup/tier.ts';
import { transcripts, visibleByRule } from './random-transcript.ts';

/** A transcript, and a fork of it. */
const forked = fc
  .tuple(transcripts(), fc.nat())
  .map(([events, cut]) => events.slice(0, 1 + (cut % events.length)));

const ROOT = { agent: 'root', include: 'default' } as const;

const user = (...parts: Part[]): Content => ({ role: 'user', parts });
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const call = (at: string, id?: string): Part => ({
  functionCall: { name: 'pay', args: { at }, ...(id === undefined ? {} : { id }) },
});
const response = (at: string, id?: string): Part => ({
  functionResponse: { name: 'pay', response: { at }, ...(id === undefined ? {} : { id }) },
});

/** Of a transcript whose events are all of the agent and its user. */
const contentsOf = (events: readonly TranscriptEvent[]) => contentsFor(events, ROOT);

/** Numbers events from 1. */
function transcript(...events: Omit<TranscriptEvent, 'seq'>[]): TranscriptEvent[] {
  return events.map((event, index) => ({ seq: index + 1, ...event }));
}

const message = (text: string) => ({
  kind: 'message' as const,
  runKey: 'r',
  step: 1,
  event: { content: user({ text }) },
});
const event = (kind: TranscriptEvent['kind'], runKey: string, step: number, content?: Content) => ({
  kind,
  runKey,
  step,
  event: content === undefined ? {} : { content },
});

const callsOf = ({ parts }: Content) => (parts ?? []).flatMap(({ functionCall }) => functionCall ?? []);
const responsesOf = ({ parts }: Content) =>
  (parts ?? []).flatMap(({ functionResponse }) => functionResponse ?? []);

describe('the contents of a request', () => {
  test('each call that the model sees has exactly one response, its own, right behind it [contents.pairs]', () => {
    fc.assert(
      fc.property(forked, (events) => {
        const contents = contentsOf(events);
        for (const [index, content] of contents.entries()) {
          const next = contents[index + 1];
          const asked = callsOf(content).map(({ id, args }) => [id, args?.at]);
          const behind = asked.length === 0 || next === undefined ? [] : responsesOf(next);
          expect(behind.map(({ id, response }) => [id, response?.at])).toEqual(asked);
          if (responsesOf(content).length > 0) expect(callsOf(contents[index - 1] ?? {})).not.toEqual([]);
        }
      }),
      { numRuns: inTier(50, 500) },
    );
  });

  test('Gemini takes them: roles, order, ids of calls and responses [contents.pairs]', () => {
    fc.assert(
      fc.property(forked, (events) => {
        const contents = [...contentsOf(events), user({ text: 'go on' })];
        const body = JSON.parse(JSON.stringify({ contents }));
        checkRequest('gemini-2.5-flash', body, new ThoughtSignatures(undefined));
      }),
      { numRuns: inTier(50, 500) },
    );
  });

  test('no call has an id that another call of the request has, nor one that was made up [call.ids]', () => {
    fc.assert(
      fc.property(forked, (events) => {
        const ids = contentsOf(events).flatMap((content) => callsOf(content).flatMap(({ id }) => id ?? []));
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.filter((id) => id.startsWith('adk-'))).toEqual([]);
      }),
    );
  });

  test('whatever is visible is in them, in order, parts as they came, but for steps without responses [contents.pairs] [contents.verbatim] [session.rewind] [session.fork]', () => {
    fc.assert(
      fc.property(forked, (events) => {
        const seen = contentsOf(events).flatMap(({ parts }) => (parts ?? []).map(withoutId));
        expect(seen).toEqual(expectedParts(events).map(withoutId));
      }),
      { numRuns: inTier(50, 500) },
    );
  });

  test('responses that come behind those of another run stand behind their own calls [contents.pairs]', () => {
    const contents = contentsOf(
      transcript(
        message('hi'),
        event('model', 'a', 1, model(call('a.1.0', 'call_0'))),
        event('model', 'b', 1, model(call('b.1.0', 'call_0'))),
        event('responses', 'b', 1, user(response('b.1.0', 'call_0'))),
        event('responses', 'a', 1, user(response('a.1.0', 'call_0'))),
      ),
    );
    expect(contents).toEqual([
      user({ text: 'hi' }),
      model(call('a.1.0', 'call_0')),
      user(response('a.1.0', 'call_0')),
      model(call('b.1.0')),
      user(response('b.1.0')),
    ]);
  });

  test('calls behind what other runs said are one content with it [contents.pairs]', () => {
    const contents = contentsOf(
      transcript(
        message('hi'),
        event('model', 'a', 1, model({ text: 'done' })),
        event('model', 'c', 1, model({ text: 'me too' })),
        event('model', 'b', 1, model({ text: 'I pay', thoughtSignature: 'c2ln' }, call('b.1.0'))),
        event('responses', 'b', 1, user(response('b.1.0'))),
      ),
    );
    expect(contents).toEqual([
      user({ text: 'hi' }),
      model({ text: 'done' }, { text: 'me too' }, { text: 'I pay', thoughtSignature: 'c2ln' }, call('b.1.0')),
      user(response('b.1.0')),
    ]);
  });

  test("a retry's responses take the place of those that it hides [session.retry]", () => {
    const contents = contentsOf(
      transcript(
        message('hi'),
        event('model', 'a', 1, model(call('a.1.0'))),
        event('responses', 'a', 1, user(response('first'))),
        event('model', 'a', 2, model({ text: 'that failed' })),
        { ...event('rewind', 'a', 1), hidesAfter: 2 },
        event('responses', 'a', 1, user(response('second'))),
      ),
    );
    expect(contents).toEqual([user({ text: 'hi' }), model(call('a.1.0')), user(response('second'))]);
  });

  test('of two responses of one step that are both visible the later counts [contents.pairs]', () => {
    const contents = contentsOf(
      transcript(
        message('hi'),
        event('model', 'a', 1, model(call('a.1.0'))),
        event('responses', 'a', 1, user(response('first'))),
        message('and?'),
        event('responses', 'a', 1, user(response('second'))),
      ),
    );
    expect(contents).toEqual([
      user({ text: 'hi' }),
      model(call('a.1.0')),
      user(response('second')),
      user({ text: 'and?' }),
    ]);
  });

  test('a step with fewer or more responses than calls is left out [contents.pairs]', () => {
    for (const responses of [
      [],
      [response('a.1.0')],
      ['a.1.0', 'a.1.1', 'a.1.2'].map((at) => response(at)),
    ]) {
      const contents = contentsOf(
        transcript(
          message('hi'),
          event('model', 'a', 1, model(call('a.1.0'), call('a.1.1'))),
          event('responses', 'a', 1, user(...responses)),
        ),
      );
      expect(contents).toEqual([user({ text: 'hi' })]);
    }
  });

  test('responses whose calls are not there are left out [contents.pairs]', () => {
    expect(
      contentsOf(transcript(message('hi'), event('responses', 'a', 1, user(response('a.1.0', 'call_0'))))),
    ).toEqual([user({ text: 'hi' })]);
  });

  test('parts go back as they came, with fields that nobody knows [contents.verbatim]', () => {
    const parts = [
      { text: 'hm', thought: true, thoughtSignature: 'c2ln' },
      { text: 'hello', newField: { deep: [1] } },
      { inlineData: { mimeType: 'image/png', data: 'AA==' } },
    ] as Part[];
    const events = transcript(message('hi'), event('model', 'r', 1, model(...parts)));
    expect(contentsOf(events)[1]).toEqual({ role: 'model', parts });
  });

  test('an empty transcript, and events without parts, are no contents [contents.pairs]', () => {
    expect(contentsOf([])).toEqual([]);
    expect(
      contentsOf(
        transcript(
          event('error', 'r', 1),
          event('model', 'r', 1, { role: 'model' }),
          event('model', 'r', 2, model()),
          { ...event('rewind', 'r', 1), hidesAfter: 3 },
        ),
      ),
    ).toEqual([]);
  });

  test('that grow are those made at once, and lists handed out before stay what they were [store.cache]', () => {
    fc.assert(
      fc.property(
        transcripts(60),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        (events, sizes) => {
          const callIds = new CallIds();
          const growing = new PerspectiveContents(ROOT, callIds);
          const grown: TranscriptEvent[] = [];
          const seen: { list: readonly Content[]; length: number; events: TranscriptEvent[] }[] = [];
          for (let at = 0, turn = 0; at < events.length; turn += 1) {
            const size = sizes[turn % sizes.length] ?? 1;
            const added = events.slice(at, at + size);
            for (const { seq, event } of added) callIds.note(seq, event.content);
            grown.push(...added);
            growing.extend(grown, grown.length);
            at += size;
            seen.push({ ...growing.now, events: grown.slice() });
          }
          for (const { list, length, events: before } of seen) {
            expect(list.slice(0, length)).toEqual(contentsOf(before));
          }
        },
      ),
      { numRuns: inTier(30, 300) },
    );
  });

  test('leave the events as they were [contents.verbatim]', () => {
    fc.assert(
      fc.property(transcripts(), (events) => {
        const before = structuredClone(events);
        contentsOf(events);
        expect(events).toEqual(before);
      }),
    );
  });
});

/** Of a simple model: the parts of what is visible; those of a step's last responses stand behind its calls. */
function expectedParts(events: readonly StoredEvent[]): Part[] {
  const visible = visibleByRule(events);
  return visible.flatMap(({ kind, runKey, step, event: { content } }) => {
    const parts = content?.parts ?? [];
    if (kind === 'responses') return [];
    if (kind !== 'model' || !parts.some(({ functionCall }) => functionCall)) return parts;
    const answer = visible.findLast(
      (other) => other.kind === 'responses' && other.runKey === runKey && other.step === step,
    );
    return answer === undefined ? [] : [...parts, ...(answer.event.content?.parts ?? [])];
  });
}

function withoutId(part: Part): unknown {
  return JSON.parse(JSON.stringify(part, (key, value) => (key === 'id' ? undefined : value)));
}

test('parts without anything in them, which no provider takes, are left out [contents.emptyPart]', () => {
  const events = transcript(
    message('go'),
    event('model', 'r', 1, model({}, { text: 'hi' }, { thought: true })),
    event('callback', 'r', 2, model({})),
    message('and'),
  );
  expect(contentsOf(events)).toEqual([user({ text: 'go' }), model({ text: 'hi' }), user({ text: 'and' })]);
  const others = {
    ...event('model', 'r', 1),
    event: { author: 'other', content: model({}, { text: 'hi' }) },
  };
  expect(contentsFor(transcript(others), ROOT)).toEqual([
    user({ text: 'For context:' }, { text: '[other] said: hi' }),
  ]);
});
