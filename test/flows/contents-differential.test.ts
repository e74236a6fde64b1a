import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { Content, Part } from '../../src/events/content.ts';
import type { Event } from '../../src/events/event.ts';
import { markUntrusted } from '../../src/flows/mark-untrusted.ts';
import { contentsOf as markedContentsOf } from '../../src/flows/perspective-contents.ts';
import { inLateOrder } from '../adk/late-order.ts';
import { inTier } from '../setup/tier.ts';
import { type ConversationShape, conversations } from './random-conversation.ts';

/**
 * The contents of a request against those that `@google/adk` 2.0.0 makes of the same events. Equal, but for
 *
 * | here | why |
 * | --- | --- |
 * | model contents right behind each other are one | Gemini refuses calls right behind a model's content |
 * | calls that nobody has answered are left out; beside answered ones they get an error | providers refuse calls without responses |
 * | responses stand in call order, each with its own media | ids of ours are taken off, so that only the order tells which response is whose |
 * | media of a response that a later one replaces goes with it | it isn't the call's result any more |
 * | calls that are answered late stand where the latest answer came: see {@link inLateOrder} | ADK leaves out what was said since while the answer is the last |
 * | words beside a late response stand where they were said | ADK loses them with the next response |
 * | one message may answer calls of several events | ADK fails the request |
 * | responses that match nothing are left out, and the engine is told | ADK fails this request, then leaves them out |
 * | answers to another agent's call are retold | ADK fails this request, then leaves them out |
 * | merged responses hide nothing | they come late where runs go on at the same time: ADK hides what the others and the user said |
 * | a model's own call of `adk_request_input` is seen, with its answer and the calls beside it | ADK hides all of them from it |
 * | a message with an answer to a request keeps what else it says | ADK leaves out the user's words |
 * | results of code come with their code, like responses with their calls | ADK's `'none'` begins with another agent's result |
 * | answers to requests, and calls of other branches, don't lengthen the turn of `includeContents: 'none'` | the agent sees neither |
 * | `'none'`: calls that are answered late come with the beginning of their turn | no request can begin with a call |
 * | thoughts of other agents are left out | ADK passes them on as if they were the agent's own |
 * | an event whose first part is an empty text is left out only where it has nothing else | ADK leaves out its calls and signatures, too |
 * | contents without a role get that of their author | ADK leaves the event out |
 */
interface AdkContents {
  getContents(events: Event[], agent: string, branch?: string): Content[];
  getCurrentTurnContents(events: Event[], agent: string, branch?: string): Content[];
}

const PROCESSOR = '../../node_modules/@google/adk/dist/esm/agents/processors/content_processor_utils.js';
const adk: AdkContents = await import(new URL(PROCESSOR, import.meta.url).href);

const SHAPE: ConversationShape = {
  branches: false,
  interleaved: true,
  late: false,
  coders: ['alpha', 'beta'],
  wild: false,
};
/** ADK's window of the current turn begins with calls of other branches, too. */
const BRANCHED: ConversationShape = { ...SHAPE, branches: true, interleaved: false };

/** As requests have them. */
const contentsOf = (...given: Parameters<typeof markedContentsOf>) =>
  markUntrusted(markedContentsOf(...given), false);

const eventsOf = (stored: readonly StoredEvent[]) => stored.map(({ event }) => event);

describe("contents against ADK's", () => {
  test('of one agent, of several, with responses that come between others [contents.others] [contents.pairs]', () => {
    fc.assert(
      fc.property(conversations(SHAPE), (events) => {
        for (const prefix of prefixesOf(events)) {
          expectEqual(prefix, { agent: 'alpha', include: 'default' });
          expectEqual(prefix, { agent: 'beta', include: 'default' });
        }
      }),
      { numRuns: inTier(15, 150) },
    );
  });

  test('with late responses: the latest counts, and nothing is hidden [contents.late]', () => {
    fc.assert(
      fc.property(conversations({ ...SHAPE, late: true }), (events) => {
        for (const prefix of prefixesOf(events)) expectEqual(prefix, { agent: 'alpha', include: 'default' });
      }),
      { numRuns: inTier(20, 200) },
    );
  });

  test('of an agent in a branch [contents.branch]', () => {
    for (const viewer of ['root.a', 'root.ab']) {
      fc.assert(
        fc.property(conversations({ ...BRANCHED, late: true, viewer }), (events) => {
          for (const prefix of prefixesOf(events)) {
            expectEqual(prefix, { agent: 'alpha', branch: viewer, include: 'default' });
          }
        }),
        { numRuns: inTier(10, 100) },
      );
    }
  });

  test('of the current turn [contents.include]', () => {
    const viewer = 'root.a';
    fc.assert(
      fc.property(conversations({ ...BRANCHED, viewer, coders: [] }), (events) => {
        for (const prefix of prefixesOf(events)) {
          expectEqual(prefix, { agent: 'alpha', branch: viewer, include: 'none' });
          expectEqual(prefix, { agent: 'beta', include: 'none' });
        }
      }),
      { numRuns: inTier(15, 150) },
    );
  });

  test('of the current turn with late responses: they begin no later than in ADK [contents.include] [contents.late]', () => {
    fc.assert(
      fc.property(conversations({ ...BRANCHED, late: true, coders: [] }), (events) => {
        for (const prefix of prefixesOf(events)) {
          const ours = flat(contentsOf(prefix, { agent: 'alpha', include: 'none' }));
          const theirs = flat(adk.getCurrentTurnContents(inLateOrder(eventsOf(prefix)), 'alpha'));
          expect(ours.slice(ours.length - theirs.length)).toEqual(theirs);
          expect(ours[0]?.role).toBe('user');
        }
      }),
      { numRuns: inTier(20, 200) },
    );
  });
});

function expectEqual(
  events: readonly StoredEvent[],
  perspective: { agent: string; branch?: string; include: 'default' | 'none' },
): void {
  const { agent, branch, include } = perspective;
  const make = include === 'default' ? adk.getContents : adk.getCurrentTurnContents;
  expect(normalised(contentsOf(events, perspective))).toEqual(
    normalised(make(inLateOrder(eventsOf(events)), agent, branch)),
  );
}

/** Those of which ADK can make contents: the last that was said is no merged response that comes late. */
function prefixesOf(events: readonly StoredEvent[]): StoredEvent[][] {
  return events.flatMap((_event, index) => {
    const prefix = events.slice(0, index + 1);
    const [before, last] = spoken(prefix).slice(-2);
    const isLate = last?.kind === 'responses' && (before?.runKey !== last.runKey || before.kind !== 'model');
    return isLate ? [] : [prefix];
  });
}

function spoken(events: readonly StoredEvent[]): StoredEvent[] {
  const isOfRequest = ({ functionCall, functionResponse }: Part) =>
    (functionCall ?? functionResponse)?.name?.startsWith('adk_request') ?? false;
  return events.filter(
    ({ event: { content } }) => content !== undefined && !content.parts?.some(isOfRequest),
  );
}

/** Without ids, calls without responses and what others thought; model contents joined, responses before other parts. */
function normalised(contents: readonly Content[]): Content[] {
  const joined: Content[] = [];
  for (const [index, { role, parts = [] }] of contents.entries()) {
    const hasCalls = parts.some(({ functionCall }) => functionCall);
    const next = contents[index + 1]?.parts ?? [];
    if (hasCalls && !next.some(({ functionResponse }) => functionResponse)) continue;
    const before = joined.at(-1);
    const ordered = partsOf(parts).filter(({ thought }) => role === 'model' || !thought);
    if (role === 'model' && before?.role === 'model') before.parts?.push(...ordered);
    else joined.push({ ...(role === undefined ? {} : { role }), parts: ordered });
  }
  return joined;
}

function partsOf(parts: readonly Part[]): Part[] {
  const plain = JSON.parse(JSON.stringify(parts, (key, value) => (key === 'id' ? undefined : value)));
  const isWords = ({ text }: Part) => text !== undefined;
  const hasResponses = parts.some(({ functionResponse }) => functionResponse);
  if (!hasResponses) return plain;
  const byName = (one: Part, other: Part) =>
    (one.functionResponse?.name ?? '') < (other.functionResponse?.name ?? '') ? -1 : 1;
  const hasMedia = parts.some(({ inlineData }) => inlineData);
  const answers = plain.filter((part: Part) => !isWords(part));
  return [...(hasMedia ? answers : answers.sort(byName)), ...plain.filter(isWords)];
}

function flat(contents: readonly Content[]): { role: string | undefined; part: Part }[] {
  return normalised(contents).flatMap(({ role, parts }) => (parts ?? []).map((part) => ({ role, part })));
}
