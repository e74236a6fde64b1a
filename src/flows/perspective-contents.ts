import { activeEvents, type CompactedEvent, isCompactedEvent } from '../events/compacted-event.ts';
import type { Content } from '../events/content.ts';
import { freezeDeep } from '../schema/copy-plain.ts';
import type { Perspective } from '../tools/invocation-context.ts';
import { Answers } from './answers.ts';
import { CallIds, withoutOwnCallIds } from './call-ids.ts';
import { responsesTo } from './call-responses.ts';
import {
  authorOf,
  hasCalls,
  hasCode,
  isBlank,
  retoldContent,
  stepKey,
  type TranscriptEvent,
  type Visibility,
  visibilityOf,
  visibleEvents,
} from './event-visibility.ts';

/**
 * The visible events of an agent of `includeContents: 'none'`: those since the latest message, or since the latest event of another
 * agent, with the calls that are answered there. Semantics: `getCurrentTurnContents` of `@google/adk` 2.0.0, which begins with
 * those calls; here their turn's own beginning comes first, as no request can begin with a call.
 */
function currentTurnOf(
  events: readonly TranscriptEvent[],
  perspective: Perspective,
): readonly TranscriptEvent[] {
  const answers = new Answers(events, perspective);
  let start = latestPivot(events, events.length, answers, perspective);
  while (start > 0) {
    const asked = earliestAsked(events, start, answers);
    if (asked === undefined || asked >= start) break;
    start = isPivot(events[asked] as TranscriptEvent, answers, perspective)
      ? asked
      : latestPivot(events, asked, answers, perspective);
  }
  return events.slice(start);
}

/** Whether the event begins a turn for an agent. */
function beginsTurn(event: TranscriptEvent, visibility: Visibility): boolean {
  return visibility === 'foreign' || (visibility !== 'hidden' && authorOf(event) === 'user');
}

/** 0 where there is none. */
function latestPivot(
  events: readonly TranscriptEvent[],
  before: number,
  answers: Answers,
  perspective: Perspective,
): number {
  for (let index = before - 1; index > 0; index -= 1) {
    if (isPivot(events[index] as TranscriptEvent, answers, perspective)) return index;
  }
  return 0;
}

function isPivot(event: TranscriptEvent, answers: Answers, perspective: Perspective): boolean {
  if (event.kind === 'responses') {
    const asked = answers.askedBy(event);
    return asked !== undefined && visibilityOf(asked, perspective) === 'foreign';
  }
  const visibility = visibilityOf(event, perspective);
  if (!beginsTurn(event, visibility)) return false;
  return visibility !== 'answers' || answers.answeredBy(event).length > 0 || answers.restOf(event).length > 0;
}

/** The first event with calls that are answered from an event on. */
function earliestAsked(
  events: readonly TranscriptEvent[],
  from: number,
  answers: Answers,
): number | undefined {
  let earliest = Number.POSITIVE_INFINITY;
  for (const event of events.slice(from)) {
    for (const { seq } of answers.answeredBy(event)) earliest = Math.min(earliest, seq);
  }
  const index = events.findIndex(({ seq }) => seq === earliest);
  return index === -1 ? undefined : index;
}

const REFERENCE = 8;

/** Contents as they were at one event; the list may have grown since. */
export interface ContentsAt {
  readonly list: readonly Content[];
  readonly length: number;
}

/**
 * An agent's view of a transcript that grows. An ordinary event costs what it holds itself; one that changes what stands
 * before it (a rewind, a response that comes late) costs the whole transcript.
 */
export class PerspectiveContents {
  readonly #perspective: Perspective;
  readonly #callIds: CallIds;
  #known = 0;
  #bytes = 0;
  /** Grows at its end only; where anything else changes, another list takes its place. */
  #list: Content[] = [];
  /** The model event at the end that merged responses may follow. */
  #waiting: TranscriptEvent | undefined;
  /** Model events of others whose responses are yet to come; undefined where the agent doesn't see them. */
  #others = new Map<string, TranscriptEvent | undefined>();

  constructor(perspective: Perspective, callIds: CallIds) {
    this.#perspective = perspective;
    this.#callIds = callIds;
  }

  /** How many events it has taken. */
  get known(): number {
    return this.#known;
  }

  /** About how much memory it takes beside the events. */
  get bytes(): number {
    return this.#bytes;
  }

  get now(): ContentsAt {
    return { list: this.#list, length: this.#list.length };
  }

  /** Takes those of `events`, the whole transcript, that are new, up to seq `to`. */
  extend(events: readonly TranscriptEvent[], to: number): void {
    while (this.#known < to) {
      const event = events[this.#known] as TranscriptEvent;
      this.#known += 1;
      if (this.#append(event)) continue;
      this.#known = to;
      this.#rebuild(visibleEvents(events.slice(0, to)));
    }
  }

  /** False where the event changes what stands before it. */
  #append(event: TranscriptEvent): boolean {
    if (event.hidesAfter !== undefined || isCompactedEvent(event.event)) return false;
    if (event.kind === 'responses') return this.#appendResponses(event);
    const visibility = visibilityOf(event, this.#perspective);
    if (visibility === 'answers') return false;
    if (this.#perspective.include === 'none' && beginsTurn(event, visibility)) this.#clear();
    this.#place(event, visibility);
    return true;
  }

  #appendResponses(event: TranscriptEvent): boolean {
    if (this.#waiting !== undefined && stepKey(this.#waiting) === stepKey(event)) {
      this.#answer(this.#waiting, event.event.content);
      return true;
    }
    const asked = this.#others.get(stepKey(event));
    const isKnown = this.#others.delete(stepKey(event));
    if (asked === undefined) return isKnown;
    if (this.#perspective.include === 'none') return false;
    this.#retell(event, asked);
    return true;
  }

  #rebuild(all: readonly TranscriptEvent[]): void {
    this.#clear();
    this.#others.clear();
    const visible = activeEvents(all, ({ event }) => event);
    const events = this.#perspective.include === 'none' ? currentTurnOf(visible, this.#perspective) : visible;
    const answers = new Answers(events, this.#perspective);
    for (const event of events) {
      if (isCompactedEvent(event.event)) {
        this.#add(summaryOf(event.event));
        continue;
      }
      if (event.kind === 'responses') {
        this.#replaceResponses(event, answers.askedBy(event));
        continue;
      }
      const visibility = visibilityOf(event, this.#perspective);
      if (visibility === 'answers') {
        this.#placeAnswers(event, answers);
        continue;
      }
      if (answers.latestFor(event) !== undefined) continue;
      this.#place(event, visibility);
      if (this.#waiting !== event) continue;
      this.#answer(event, answers.mergedFor(event), answers);
    }
  }

  /** Responses of the agent's own calls stand after them already. */
  #replaceResponses(event: TranscriptEvent, asked: TranscriptEvent | undefined): void {
    if (asked === undefined) return;
    const visibility = visibilityOf(asked, this.#perspective);
    if (visibility === 'foreign') this.#retell(event, asked);
    this.#others.delete(stepKey(event));
  }

  /**
   * Calls stand where their latest answer came, so that each has its response after it, the request ends with its subject, and no
   * later message is left out.
   */
  #placeAnswers(event: TranscriptEvent, answers: Answers): void {
    // Merged responses that follow stand before what this event says.
    this.#waiting = undefined;
    const asked = answers.askedLastBy(event);
    for (const each of asked) this.#answer(each, answers.mergedFor(each), answers);
    const said = answers.restOf(event);
    if (said.length === 0) return;
    if (asked.length === 0) {
      this.#add({ ...withRole(event), parts: [...said] });
      return;
    }
    const responses = this.#list.pop();
    this.#push({ ...responses, parts: [...(responses?.parts ?? []), ...said] });
  }

  #place(event: TranscriptEvent, visibility: Visibility): void {
    if (event.kind === 'model' && visibility !== 'own' && (hasCalls(event) || hasCode(event))) {
      this.#others.set(stepKey(event), visibility === 'foreign' ? event : undefined);
    }
    if (visibility === 'foreign') this.#retell(event, event);
    if (visibility !== 'own') return;
    if (hasCalls(event)) {
      this.#waiting = event;
      return;
    }
    this.#waiting = undefined;
    this.#add(withRole(event));
    if (event.kind === 'model' && hasCode(event)) this.#waiting = event;
  }

  /** @param by whose author says it: responses are their calls' agent's. */
  #retell(event: TranscriptEvent, by: TranscriptEvent): void {
    const content = retoldContent(authorOf(by) ?? '', event.event.content ?? {});
    if (content === undefined) return;
    this.#waiting = undefined;
    this.#add(content);
  }

  #answer(asked: TranscriptEvent, merged: Content | undefined, answers?: Answers): void {
    const calls = withoutOwnCallIds(withRole(asked), (id) => this.#callIds.isTakenBefore(asked.seq, id));
    const responses = responsesTo(calls, merged, answers?.lateFor(asked));
    if (responses === undefined) return;
    this.#waiting = undefined;
    if (hasCalls(asked)) this.#add(calls);
    this.#push(responses);
  }

  #clear(): void {
    this.#list = [];
    this.#bytes = 0;
    this.#waiting = undefined;
  }

  /** Runs that go on at the same time may speak one after another. Gemini refuses calls right after a model's content. */
  #add(content: Content): void {
    const before = this.#list.at(-1);
    if (content.role !== 'model' || before?.role !== 'model') {
      this.#push(content);
      return;
    }
    this.#list = this.#list.slice(0, -1);
    this.#push({ ...content, parts: [...(before.parts ?? []), ...(content.parts ?? [])] });
  }

  #push(content: Content): void {
    this.#bytes += REFERENCE + freezeDeep(content);
    this.#list.push(content);
  }
}

/** Text of `@google/adk` 2.0.0. */
function summaryOf({ compactedContent }: CompactedEvent): Content {
  return { role: 'user', parts: [{ text: `[Previous Context Summary]:\n${compactedContent}` }] };
}

/** Contents of user code may lack it, and may have parts that no provider takes. */
function withRole(event: TranscriptEvent): Content {
  const given = event.event.content ?? {};
  const content = given.parts?.some(isBlank)
    ? { ...given, parts: given.parts.filter((part) => !isBlank(part)) }
    : given;
  if (content.role !== undefined) return content;
  return { role: authorOf(event) === 'user' ? 'user' : 'model', ...content };
}

/**
 * An agent's view of a transcript: the content of each visible event in order, calls with their responses right after them. Merged
 * responses belong to their calls by run, step and position, never by wire id; of several of one step the last visible one counts.
 * Responses that come later, with a message, belong to them by wire id, and take the place of earlier ones: the calls of their
 * event stand where the latest of them came. An event whose calls have no responses is left out: its step is still open, or was
 * never merged. Texts of models right after each other are one content. Texts of other agents are retold. Unchanged contents are
 * those of the events themselves.
 */
export function contentsOf(events: readonly TranscriptEvent[], perspective: Perspective): Content[] {
  const callIds = new CallIds();
  for (const { seq, event } of events) callIds.note(seq, event.content);
  const contents = new PerspectiveContents(perspective, callIds);
  contents.extend(events, events.length);
  const { list, length } = contents.now;
  return list.slice(0, length);
}
