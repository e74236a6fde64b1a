import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/contract/events.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { contentsOf } from '../../src/flows/perspective-contents.ts';
import { type Transcript, TranscriptLog, transcriptView } from '../../src/flows/transcript.ts';
import { inTier } from '../setup/tier.ts';
import { transcripts, visibleByRule } from './random-transcript.ts';

const ROOT = { agent: 'root', include: 'default' } as const;

function said(seq: number, text = `event ${seq}`, id = `id-${seq}`): StoredEvent {
  return {
    seq,
    kind: 'message',
    runKey: 'r',
    step: 1,
    event: {
      id,
      invocationId: 'e-1',
      timestamp: 0,
      content: { role: 'user', parts: [{ text }] },
      actions: createEventActions(),
    },
  };
}

function by(author: string, seq: number, text: string): StoredEvent {
  const { event, ...place } = said(seq, text);
  return { ...place, kind: 'model', event: { ...event, author } };
}

function expectTranscript(transcript: Transcript, events: readonly StoredEvent[]): void {
  expect(transcript.seq).toBe(events.length);
  expect(transcript.last).toEqual(events.at(-1));
  expect(transcript.events()).toEqual(visibleByRule(events).map(({ event }) => event));
  expect(transcript.contents(ROOT)).toEqual(contentsOf(events, ROOT));
  const message = visibleByRule(events).findLast(({ kind }) => kind === 'message');
  expect(transcript.message).toEqual(message?.event.content);
}

describe('a transcript', () => {
  test('is what it was when it was handed out, whatever is read later [store.cache]', () => {
    fc.assert(
      fc.property(
        transcripts(60),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
        fc.nat(),
        (events, sizes, earlier) => {
          const log = new TranscriptLog();
          const handedOut: Transcript[] = [];
          for (let at = 0, turn = 0; at < events.length; turn += 1) {
            const end = Math.min(at + (sizes[turn % sizes.length] ?? 1), events.length);
            // Another attempt may have read the last ones before.
            const overlap = Math.max(0, at - (turn % 3));
            expect(log.append(structuredClone(events.slice(overlap, end)))).toBe(true);
            handedOut.push(log.at(end), log.at(earlier % (end + 1)));
            at = end;
          }
          for (const transcript of handedOut) expectTranscript(transcript, events.slice(0, transcript.seq));
        },
      ),
      { numRuns: inTier(20, 200) },
    );
  });

  test('knows the call ids that it holds, hidden ones too, and no later ones [call.ids]', () => {
    fc.assert(
      fc.property(transcripts(60), fc.nat(), (events, cut) => {
        const log = new TranscriptLog();
        log.append(events.slice(0, cut % (events.length + 1)));
        const transcript = log.at(log.seq);
        log.append(events);
        const idsOf = (some: readonly StoredEvent[]) =>
          some.flatMap(({ event }) =>
            (event.content?.parts ?? []).flatMap((part) => part.functionCall?.id ?? []),
          );
        const taken = new Set(idsOf(events.slice(0, transcript.seq)));
        for (const id of [...idsOf(events), 'other']) {
          if (id !== '') expect(transcript.callIds.has(id)).toBe(taken.has(id));
        }
      }),
    );
  });

  test('grows at the cost of what is new: nothing of what it holds is looked at again [store.cache]', () => {
    const log = new TranscriptLog();
    let looks = 0;
    const watched = Array.from({ length: 1_000 }, (_, index) => {
      const event = said(index + 1);
      const { content } = event.event;
      const get = () => {
        looks += 1;
        return content;
      };
      Object.defineProperty(event.event, 'content', { enumerable: true, get });
      return event;
    });
    expect(log.append(watched)).toBe(true);
    expect(log.at(1_000).contents(ROOT)).toHaveLength(1_000);
    looks = 0;
    for (let seq = 1_001; seq <= 1_100; seq += 1) {
      expect(log.append([said(seq)])).toBe(true);
      expect(log.at(seq).contents(ROOT)).toHaveLength(seq);
    }
    expect(looks).toBe(0);
  });

  test('is not changed by who is given it: its arrays are their own, what is in them is frozen [store.cache]', () => {
    const log = new TranscriptLog();
    log.append([said(1), said(2)]);
    const transcript = log.at(2);
    const contents = transcript.contents(ROOT);
    contents.push({ role: 'user', parts: [{ text: 'more' }] });
    contents[0] = { role: 'user', parts: [{ text: 'other' }] };
    expect(() => Object.assign(transcript.events(), { 0: undefined })).toThrow(TypeError);
    const second = contents[1];
    expect(() => second?.parts?.push({ text: 'more' })).toThrow(TypeError);
    expect(() => Object.assign(second?.parts?.[0] ?? {}, { text: 'other' })).toThrow(TypeError);
    expect(() => Object.assign(second ?? {}, { role: 'model' })).toThrow(TypeError);
    expectTranscript(transcript, [said(1), said(2)]);
  });

  test('what is made for the model is frozen as well [store.cache]', () => {
    fc.assert(
      fc.property(transcripts(), (events) => {
        const log = new TranscriptLog();
        log.append(events);
        for (const content of log.at(log.seq).contents(ROOT)) {
          const inside: unknown[] = [content, content.parts, ...(content.parts ?? [])];
          for (const part of content.parts ?? []) inside.push(part.functionCall, part.functionResponse);
          expect(inside.every(Object.isFrozen)).toBe(true);
        }
      }),
    );
  });

  test('takes no events that leave a gap, and none of another history [store.restored]', () => {
    const log = new TranscriptLog();
    expect(log.append([said(2)])).toBe(false);
    expect(log.append([said(1), said(2)])).toBe(true);
    expect(log.append([said(4)])).toBe(false);
    expect(log.append([said(3), said(5)])).toBe(false);
    expect(log.append([said(2, 'restored and gone on', 'other'), said(3)])).toBe(false);
    expect(log.append([])).toBe(true);
    expect(log.append([said(2), said(3)])).toBe(true);
    expectTranscript(log.at(3), [said(1), said(2), said(3)]);
  });

  test('estimates its memory by its texts and objects [store.cache]', () => {
    const log = new TranscriptLog();
    log.append([said(1, 'x'.repeat(10_000))]);
    const large = log.bytes;
    expect(large).toBeGreaterThan(10_000);
    expect(large).toBeLessThan(12_000);
    log.append([said(1, 'x'.repeat(10_000))]);
    expect(log.bytes).toBe(large);
    log.append([said(2, '漢'.repeat(1_000))]);
    expect(log.bytes - large).toBeGreaterThan(3_000);
    expect(log.bytes - large).toBeLessThan(5_000);
  });

  test('counts what it derives for an agent, once for each that looks, and less again for those that look no more [store.cache]', () => {
    const log = new TranscriptLog();
    const words = 'y'.repeat(1_000);
    log.append(Array.from({ length: 10 }, (_, index) => by('other', index + 1, words)));
    const events = log.bytes;
    let told = 0;
    log.onDerived(() => {
      told += 1;
    });
    const look = (agent: string) => log.at(10).contents({ agent, include: 'default' });
    expect(look('other')).toHaveLength(10);
    expect(log.bytes - events).toBeLessThan(1_000);
    look('root');
    const withOne = log.bytes;
    expect(withOne - events).toBeGreaterThan(10_000);
    expect(withOne - events).toBeLessThan(14_000);
    look('root');
    expect(log.bytes).toBe(withOne);
    for (let agent = 0; agent < 100; agent += 1) look(`agent ${agent}`);
    expect(log.bytes).toBeLessThan(events + 17 * 14_000);
    expect(told).toBe(103);
    log.append([by('other', 11, words)]);
    const grown = log.bytes;
    log.at(11).contents({ agent: 'agent 99', include: 'default' });
    expect(log.bytes - grown).toBeGreaterThan(1_000);
    expect(log.bytes - grown).toBeLessThan(1_400);
  });

  test('shows contexts its visible events, and what an agent sees of them [contents.others] [session.rewind]', () => {
    const log = new TranscriptLog();
    const rewind: StoredEvent = { ...by('user', 3, ''), kind: 'rewind', hidesAfter: 1 };
    log.append([said(1), by('other', 2, 'hidden'), rewind, by('other', 4, 'seen')]);
    const view = transcriptView(log.at(4), 'e-1');
    expect(view.events().map(({ id }) => id)).toEqual(['id-1', 'id-4']);
    expect(view.events().every(Object.isFrozen)).toBe(true);
    expect(view.events()).toBe(view.events());
    expect(view.contents(ROOT)).toEqual([
      { role: 'user', parts: [{ text: 'event 1' }] },
      { role: 'user', parts: [{ text: 'For context:' }, { text: '[other] said: seen' }] },
    ]);
    expect(view.toolCalls()).toEqual([]);
  });

  test('tells which responses of the last message answer nothing that is visible [contents.unmatched]', () => {
    const answer = (seq: number, ...ids: (string | undefined)[]): StoredEvent => {
      const event = said(seq);
      const parts = ids.map((id) => ({
        functionResponse: { name: 'pay', response: {}, ...(id === undefined ? {} : { id }) },
      }));
      return { ...event, event: { ...event.event, content: { role: 'user', parts } } };
    };
    const asks = (seq: number, id: string): StoredEvent => {
      const event = by('root', seq, '');
      const parts = [{ functionCall: { name: 'pay', id } }];
      return { ...event, event: { ...event.event, content: { role: 'model', parts } } };
    };
    const log = new TranscriptLog();
    log.append([
      said(1),
      asks(2, 'call-1'),
      answer(3, 'call-1', 'unheard', undefined),
      asks(4, 'call-2'),
      answer(5, 'call-1', 'call-2'),
      { ...by('user', 6, ''), kind: 'rewind', hidesAfter: 3 },
      answer(7, 'call-2'),
    ]);
    const unmatched = Array.from({ length: 8 }, (_, seq) => log.at(seq).unmatched);
    const first = ['unheard', ''];
    expect(unmatched).toEqual([[], [], [], first, first, [], first, ['call-2']]);
  });
});
