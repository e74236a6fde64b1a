import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retainStart } from '../../src/agents/compaction/retained-events.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { createCompactedEvent } from '../../src/events/compacted-event.ts';
import { createEvent, type Event, getFunctionCalls, getFunctionResponses } from '../../src/events/event.ts';
import { TranscriptLog } from '../../src/flows/transcript.ts';

const said = (id: string, author: string, text: string) =>
  createEvent({
    id,
    author,
    invocationId: 'e-1',
    timestamp: 5,
    content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] },
  });
const summary = (id: string, compactedContent: string, endEventId?: string) =>
  createCompactedEvent({
    id,
    author: 'system',
    invocationId: 'e-1',
    timestamp: 5,
    startTime: 5,
    endTime: 5,
    compactedContent,
    ...(endEventId === undefined ? {} : { endEventId }),
  });
const stored = (events: readonly (Event | { rewindTo: number })[]): StoredEvent[] =>
  events.map((event, index) => ({
    seq: index + 1,
    kind:
      'rewindTo' in event
        ? 'rewind'
        : event.author === 'user'
          ? 'message'
          : event.author === 'desk'
            ? 'model'
            : 'callback',
    runKey: 'e-1',
    step: 1,
    ...('rewindTo' in event
      ? { hidesAfter: event.rewindTo, event: createEvent({ id: `r${index}`, invocationId: 'e-1' }) }
      : { event }),
  }));
const textsOf = (events: Parameters<typeof stored>[0]) => {
  const log = new TranscriptLog();
  log.append(stored(events));
  return log
    .at(log.seq)
    .contents({ agent: 'desk', include: 'default' })
    .map(({ parts }) => parts?.map(({ text }) => text).join());
};

describe('contents after a compaction', () => {
  const talk = [
    said('1', 'user', 'a'),
    said('2', 'desk', 'b'),
    said('3', 'user', 'c'),
    said('4', 'desk', 'd'),
  ];

  test('are the summary and what came after its last event, also where all have one time [compaction.contents]', () => {
    expect(textsOf([...talk, summary('5', 'so far', '2')])).toEqual([
      '[Previous Context Summary]:\nso far',
      'c',
      'd',
    ]);
    expect(textsOf([...talk, summary('5', 'so far', '2'), said('6', 'user', 'e')])).toEqual([
      '[Previous Context Summary]:\nso far',
      'c',
      'd',
      'e',
    ]);
  });

  test('are those of the latest summary [compaction.contents]', () => {
    const more = [summary('5', 'one', '2'), said('6', 'user', 'e'), summary('7', 'two', '4')];
    expect(textsOf([...talk, ...more])).toEqual(['[Previous Context Summary]:\ntwo', 'e']);
  });

  test('are whole again after a rewind to before it [compaction.contents]', () => {
    const events = [...talk, summary('5', 'so far', '2'), { rewindTo: 3 }, said('7', 'user', 'e')];
    expect(textsOf(events)).toEqual(['a', 'b', 'c', 'e']);
  });

  test('go by the time where a summariser of one’s own names no event [compaction.contents]', () => {
    const later = { ...said('6', 'user', 'e'), timestamp: 9 };
    expect(textsOf([...talk, summary('5', 'so far'), later])).toEqual([
      '[Previous Context Summary]:\nso far',
      'e',
    ]);
  });
});

/** Without calls of an id that waits, and without responses to none. */
function sensible(events: readonly Event[]): Event[] {
  const waiting = new Set<string>();
  return events.filter((event) => {
    const [call] = getFunctionCalls(event);
    const [response] = getFunctionResponses(event);
    if (call !== undefined) return !waiting.has(call.id ?? '') && waiting.add(call.id ?? '');
    if (response === undefined) return true;
    const isKnown = waiting.has(response.id ?? '');
    if (response.willContinue !== true) waiting.delete(response.id ?? '');
    return isKnown;
  });
}

test('events are kept from where no call is parted from its response [compaction.pairs]', () => {
  const calling = (id: string) =>
    createEvent({
      author: 'desk',
      content: { role: 'model', parts: [{ functionCall: { id, name: 'f', args: {} } }] },
    });
  const answering = (id: string, willContinue: boolean) =>
    createEvent({
      author: 'desk',
      content: {
        role: 'user',
        parts: [
          { functionResponse: { id, name: 'f', response: {}, ...(willContinue ? { willContinue } : {}) } },
        ],
      },
    });
  const ids = fc.constantFrom('a', 'b', 'c');
  const event = fc.oneof(
    fc.constant(said('x', 'user', 'hi')),
    ids.map(calling),
    fc.tuple(ids, fc.boolean()).map(([id, more]) => answering(id, more)),
  );
  fc.assert(
    fc.property(fc.array(event, { maxLength: 20 }), fc.integer({ min: 0, max: 20 }), (given, size) => {
      const events = sensible(given);
      const start = retainStart(events, size);
      expect(start).toBeLessThanOrEqual(Math.max(0, events.length - size));
      const left = events.slice(0, start);
      // An id may be used again: a response belongs to the call before it.
      const open = new Map<string, boolean>();
      for (const each of left) {
        for (const { id = '', willContinue } of getFunctionResponses(each))
          if (open.has(id)) open.set(id, willContinue === true);
        for (const { id = '' } of getFunctionCalls(each)) open.set(id, true);
      }
      for (const [id, isOpen] of open) {
        expect(isOpen, `a call ${id} waits, and is left out`).toBe(false);
        const next = events
          .slice(start)
          .findIndex((each) =>
            [...getFunctionCalls(each), ...getFunctionResponses(each)].some((part) => part.id === id),
          );
        const first = events[start + next];
        if (next >= 0 && first !== undefined)
          expect(getFunctionCalls(first).some((part) => part.id === id)).toBe(true);
      }
    }),
    { numRuns: 2_000 },
  );
});
