import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Content } from '../../src/events/content.ts';
import { CallIds } from '../../src/flows/call-ids.ts';
import { contentsOf, PerspectiveContents } from '../../src/flows/perspective-contents.ts';
import { checkRequest } from '../../src/testing/gemini-check.ts';
import { ThoughtSignatures } from '../../src/testing/gemini-signatures.ts';
import type { Perspective } from '../../src/tools/invocation-context.ts';
import { inTier } from '../setup/tier.ts';
import { conversations } from './random-conversation.ts';
import { visibleByRule } from './random-transcript.ts';

const wild = fc
  .tuple(fc.boolean(), fc.boolean())
  .chain(([branches, interleaved]) =>
    conversations({ branches, interleaved, late: true, coders: ['alpha', 'beta'], wild: true }, 24),
  );

const PERSPECTIVES: readonly Perspective[] = [
  { agent: 'alpha', include: 'default' },
  { agent: 'alpha', include: 'none' },
  { agent: 'alpha', branch: 'root.a', include: 'default' },
  { agent: 'alpha', branch: 'root.a', include: 'none' },
  { agent: 'beta', include: 'default' },
  { agent: 'beta', branch: 'root.b', include: 'none' },
];

const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const idsOf = ({ parts = [] }: Content) => parts.flatMap(({ functionCall }) => functionCall?.id ?? []);

describe('what an agent sees, whatever happened', () => {
  test('grows to what it is when it is made anew, at every event, and stays what it was [store.cache] [contents.late] [contents.others] [contents.include]', () => {
    fc.assert(
      fc.property(
        wild,
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 5 }),
        (events, sizes) => {
          for (const perspective of PERSPECTIVES) {
            const callIds = new CallIds();
            for (const { seq, event } of events) callIds.note(seq, event.content);
            const growing = new PerspectiveContents(perspective, callIds);
            const seen: { list: readonly Content[]; length: number; seq: number }[] = [];
            for (let seq = 0, turn = 0; seq < events.length; turn += 1) {
              seq = Math.min(seq + (sizes[turn % sizes.length] ?? 1), events.length);
              growing.extend(events, seq);
              seen.push({ ...growing.now, seq });
            }
            for (const { list, length, seq } of seen) {
              expect(list.slice(0, length)).toEqual(contentsOf(events.slice(0, seq), perspective));
            }
          }
        },
      ),
      { numRuns: inTier(10, 100) },
    );
  });

  test('is taken by Gemini: turns begin with a user, calls have their responses, no id is there twice [contents.unmatched] [contents.pairs] [call.ids]', () => {
    fc.assert(
      fc.property(wild, (events) => {
        for (const perspective of PERSPECTIVES) {
          const contents = contentsOf(events, perspective);
          const body = JSON.parse(JSON.stringify({ contents: [...contents, user('go on')] }));
          checkRequest('gemini-2.5-flash', body, new ThoughtSignatures(undefined));
          const ids = contents.flatMap(idsOf);
          expect(new Set(ids).size).toBe(ids.length);
          expect(ids.filter((id) => id.startsWith('adk-'))).toEqual([]);
        }
      }),
      { numRuns: inTier(20, 200) },
    );
  });

  test('never ends with what the model said behind a message: calls stand where their late answer came [contents.late]', () => {
    fc.assert(
      fc.property(wild, (events) => {
        for (const { seq, kind, event } of events) {
          const answered = (event.content?.parts ?? []).flatMap(
            ({ functionResponse }) => functionResponse?.id || [],
          );
          const before = events.slice(0, seq);
          const seen = contentsOf(visibleByRule(before), { agent: 'alpha', include: 'default' });
          const isOwn = seen.flatMap(idsOf).some((id) => answered.includes(id));
          if (kind === 'message' && isOwn) expect(seen.at(-1)?.role).toBe('user');
        }
      }),
      { numRuns: inTier(10, 100) },
    );
  });

  test('holds every word of the user, also where a late answer is the last that was said [contents.late] [contents.reserved]', () => {
    fc.assert(
      fc.property(wild, (events) => {
        const words = visibleByRule(events).flatMap(({ kind, event }) =>
          kind === 'message' ? (event.content?.parts ?? []).flatMap(({ text }) => text || []) : [],
        );
        const contents = contentsOf(events, { agent: 'alpha', include: 'default' });
        const kept = contents.flatMap(({ role, parts = [] }) =>
          role === 'user' ? parts.flatMap(({ text }) => text || []) : [],
        );
        for (const word of new Set(words)) {
          const count = (list: readonly string[]) => list.filter((each) => each === word).length;
          expect(count(kept)).toBeGreaterThanOrEqual(count(words));
        }
      }),
      { numRuns: inTier(10, 100) },
    );
  });
});
