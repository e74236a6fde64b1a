import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { visibleEvents } from '../../src/flows/event-visibility.ts';
import { visibleByRule } from './random-transcript.ts';

interface Marked {
  seq: number;
  hidesAfter?: number;
}

function events(hidesAfter: Readonly<Record<number, number>>, length: number): Marked[] {
  return Array.from({ length }, (_, index) => {
    const seq = index + 1;
    const after = hidesAfter[seq];
    return after === undefined ? { seq } : { seq, hidesAfter: after };
  });
}

const seqs = (visible: readonly Marked[]) => visible.map(({ seq }) => seq);

const marked: fc.Arbitrary<Marked[]> = fc
  .array(fc.option(fc.nat(), { nil: undefined, freq: 3 }), { maxLength: 30 })
  .map((places) =>
    places.map((place, index) =>
      place === undefined ? { seq: index + 1 } : { seq: index + 1, hidesAfter: place % (index + 1) },
    ),
  );

describe('the events that agents see', () => {
  test('are all of them where nothing was rewound [session.rewind]', () => {
    expect(visibleEvents([])).toEqual([]);
    expect(seqs(visibleEvents(events({}, 3)))).toEqual([1, 2, 3]);
  });

  test('a rewind hides what came from an invocation on, and itself; later events are seen [session.rewind]', () => {
    expect(seqs(visibleEvents(events({ 5: 2 }, 7)))).toEqual([1, 2, 6, 7]);
    expect(seqs(visibleEvents(events({ 5: 0 }, 5)))).toEqual([]);
    expect(seqs(visibleEvents(events({ 5: 4 }, 6)))).toEqual([1, 2, 3, 4, 6]);
  });

  test('several rewinds: apart, one over another, one within what another hides [session.rewind]', () => {
    expect(seqs(visibleEvents(events({ 3: 1, 7: 5 }, 8)))).toEqual([1, 4, 5, 8]);
    expect(seqs(visibleEvents(events({ 4: 2, 6: 1 }, 7)))).toEqual([1, 7]);
    expect(seqs(visibleEvents(events({ 5: 2, 6: 2 }, 7)))).toEqual([1, 2, 7]);
  });

  test('going back to before a rewind takes the rewind back [session.rewind]', () => {
    expect(seqs(visibleEvents(events({ 5: 1, 7: 3 }, 8)))).toEqual([1, 2, 3, 8]);
  });

  test('behind a rewind they are what they were at the place that it goes back to [session.rewind]', () => {
    fc.assert(
      fc.property(marked, (given) => {
        expect(visibleEvents(given)).toEqual(visibleByRule(given));
      }),
    );
  });

  test('of a fork are those of its parent up to where it was cut [session.fork]', () => {
    fc.assert(
      fc.property(marked, fc.nat(), (given, cut) => {
        const fork = given.slice(0, cut % (given.length + 1));
        expect(visibleEvents(fork)).toEqual(visibleByRule(fork));
      }),
    );
  });

  test('of the last part of a transcript are those of the whole that are in it [session.rewind]', () => {
    fc.assert(
      fc.property(marked, fc.nat(), (given, cut) => {
        const from = cut % (given.length + 1);
        expect(visibleEvents(given.slice(from))).toEqual(
          visibleByRule(given).filter(({ seq }) => seq > from),
        );
      }),
    );
  });
});
