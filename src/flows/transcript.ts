import type { StoredEvent } from '../contract/events.ts';
import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import { freezeDeep } from '../schema/copy-plain.ts';
import type { Perspective, ToolCallRecord, TranscriptView } from '../tools/invocation-context.ts';
import { CallIds, type TakenCallIds } from './call-ids.ts';
import { type TranscriptEvent, visibleEvents } from './event-visibility.ts';
import { type ContentsAt, contentsOf, PerspectiveContents } from './perspective-contents.ts';
import { TurnToolCalls } from './turn-tool-calls.ts';

/** Agents and branches that take part at a time are few; one more is made anew each time. */
const MOST_PERSPECTIVES = 16;

/** A step's view of its session. Later events don't change it. */
export interface Transcript {
  /** Seq of the last event; 0 without any. */
  readonly seq: number;
  readonly last: StoredEvent | undefined;
  /** The last visible message of the user. */
  readonly message: Content | undefined;
  /**
   * Ids of the responses in {@link Transcript.message} that answer no visible call, `''` for one without an id: no model sees
   * them.
   */
  readonly unmatched: readonly string[];
  readonly callIds: TakenCallIds;
  /** Visible ones in order, frozen. */
  events(): readonly Event[];
  /** All events after `seq`, in order, with their places; hidden ones, too. */
  eventsAfter(seq: number): readonly StoredEvent[];
  /** The contents for a model: a new array of frozen contents. Replace them, don't edit them. */
  contents(perspective: Perspective): Content[];
  /** The invocation's calls that have their outcome, in call order, those of the last step included; frozen. */
  toolCalls(invocationId: string): readonly ToolCallRecord[];
  /** These events with their places; those that the transcript doesn't have come last. */
  revised(events: readonly Event[]): readonly TranscriptEvent[];
  /** The transcript with events that are about to follow; it is derived each time and not kept. */
  followedBy(events: readonly Omit<StoredEvent, 'seq'>[]): Transcript;
}

/** A transcript as the contexts of an invocation show it. */
export function transcriptView(transcript: Transcript, invocationId: string): TranscriptView {
  let contents = (perspective: Perspective) => transcript.contents(perspective);
  return {
    events: () => transcript.events(),
    contents: (perspective) => contents(perspective),
    revise(events) {
      const revised = transcript.revised(events);
      contents = (perspective) => contentsOf(revised, perspective);
    },
    toolCalls: () => transcript.toolCalls(invocationId),
  };
}

/**
 * A session's events as this worker has read them, with the views derived from them. The log grows at its end only, so that all
 * transcripts share it, and a step of a long session costs only its new events. The view of an agent is derived at its first use
 * and grows from then on.
 */
export class TranscriptLog {
  readonly #events: StoredEvent[] = [];
  readonly #callIds = new CallIds();
  /** The one that was asked for last comes last. */
  readonly #perspectives = new Map<string, PerspectiveContents>();
  #toolCalls: TurnToolCalls | undefined;
  #message: StoredEvent | undefined;
  #bytes = 0;
  #onDerived: (() => void) | undefined;

  /** Seq of the last event; seq is gapless from 1. */
  get seq(): number {
    return this.#events.length;
  }

  /** About how much memory it takes. */
  get bytes(): number {
    let bytes = this.#bytes + (this.#toolCalls?.bytes ?? 0);
    for (const contents of this.#perspectives.values()) bytes += contents.bytes;
    return bytes;
  }

  /** Calls `listener`, and nobody else, when `bytes` may have changed between two calls of `append`. */
  onDerived(listener: () => void): void {
    this.#onDerived = listener;
  }

  /**
   * Adds those of `events` that are new, and freezes them. False, and nothing is added, where they don't follow what is
   * here: there is a gap, or an event of another history stands at a seq that is taken.
   */
  append(events: readonly StoredEvent[]): boolean {
    if (!this.#continuesWith(events)) return false;
    const before = this.seq;
    let isRewound = false;
    for (const event of events) {
      if (event.seq <= before) continue;
      this.#events.push(event);
      this.#bytes += freezeDeep(event);
      this.#callIds.note(event.seq, event.event.content);
      if (event.kind === 'message') this.#message = event;
      isRewound ||= event.hidesAfter !== undefined;
    }
    if (isRewound) this.#message = lastMessageOf(this.#events);
    return true;
  }

  #continuesWith(events: readonly StoredEvent[]): boolean {
    const first = events[0]?.seq ?? 0;
    if (first > this.seq + 1) return false;
    return events.every(({ seq, event }, index) => {
      const known = this.#events[seq - 1];
      return seq === first + index && (known === undefined || known.event.id === event.id);
    });
  }

  /** The transcript at `seq`. Only replaced attempts ask for earlier ones than the last, and those are made again. */
  at(seq: number): Transcript {
    const events = this.#events;
    const message = seq === this.seq ? this.#message : lastMessageOf(events.slice(0, seq));
    const seen = new Map<string, ContentsAt>();
    const called = new Map<string, readonly ToolCallRecord[]>();
    let visible: readonly Event[] | undefined;
    let unmatched: readonly string[] | undefined;
    const contentsAt = (perspective: Perspective): ContentsAt => {
      const key = keyOf(perspective);
      const contents = seen.get(key) ?? this.#contentsAt(seq, key, perspective);
      seen.set(key, contents);
      return contents;
    };
    return {
      seq,
      last: events[seq - 1],
      message: message?.event.content,
      callIds: { has: (id) => this.#callIds.isTakenBefore(seq + 1, id) },
      get unmatched() {
        unmatched ??= unmatchedResponses(events.slice(0, seq), message);
        return unmatched;
      },
      events() {
        visible ??= Object.freeze(visibleEvents(events.slice(0, seq)).map(({ event }) => event));
        return visible;
      },
      eventsAfter: (last) => events.slice(last, seq),
      contents(perspective) {
        const { list, length } = contentsAt(perspective);
        return list.slice(0, length);
      },
      toolCalls: (invocationId) => {
        const calls = called.get(invocationId) ?? this.#toolCallsAt(seq, invocationId);
        called.set(invocationId, calls);
        return calls;
      },
      revised(given) {
        const stored = new Map(events.slice(0, seq).map((each) => [each.event.id, each]));
        let last = seq;
        return given.map((event) => {
          const known = stored.get(event.id);
          if (known !== undefined) return known.event === event ? known : { ...known, event };
          last += 1;
          return { seq: last, kind: 'callback', runKey: '', step: 0, event };
        });
      },
      followedBy(following) {
        const log = new TranscriptLog();
        log.append([
          ...events.slice(0, seq),
          ...following.map((event, index) => structuredClone({ ...event, seq: seq + 1 + index })),
        ]);
        return log.at(log.seq);
      },
    };
  }

  #contentsAt(seq: number, key: string, perspective: Perspective): ContentsAt {
    const known = this.#perspectives.get(key);
    const isUsable = known !== undefined && known.known <= seq;
    const contents = isUsable ? known : new PerspectiveContents({ ...perspective }, this.#callIds);
    contents.extend(this.#events, seq);
    this.#keep(key, known ?? contents);
    return contents.now;
  }

  #keep(key: string, contents: PerspectiveContents): void {
    this.#perspectives.delete(key);
    this.#perspectives.set(key, contents);
    const [oldest] = this.#perspectives.keys();
    if (oldest !== undefined && this.#perspectives.size > MOST_PERSPECTIVES)
      this.#perspectives.delete(oldest);
    this.#onDerived?.();
  }

  #toolCallsAt(seq: number, invocationId: string): readonly ToolCallRecord[] {
    const known = this.#toolCalls;
    const isUsable = known?.invocationId === invocationId && known.known <= seq;
    const calls = isUsable ? known : new TurnToolCalls(invocationId);
    if (known === undefined || known.known <= seq) this.#toolCalls = calls;
    calls.extend(this.#events, seq);
    this.#onDerived?.();
    return calls.now;
  }
}

function keyOf({ agent, branch, include }: Perspective): string {
  return JSON.stringify([agent, branch ?? '', include]);
}

function lastMessageOf(events: readonly StoredEvent[]): StoredEvent | undefined {
  return visibleEvents(events).findLast(({ kind }) => kind === 'message');
}

/** Ids of a message's responses that answer no call before it; `''` for a response without an id. */
export function unmatchedResponses(
  events: readonly StoredEvent[],
  message: StoredEvent | undefined,
): readonly string[] {
  const parts = message?.event.content?.parts ?? [];
  // A client may write anything there: a value that is no text answers nothing.
  const answered = parts.flatMap(({ functionResponse }) =>
    functionResponse === undefined
      ? []
      : [typeof functionResponse?.id === 'string' ? functionResponse.id : ''],
  );
  if (message === undefined || answered.length === 0) return Object.freeze([]);
  const called = new Set<string>();
  for (const { seq, event } of visibleEvents(events)) {
    if (seq >= message.seq) break;
    for (const { functionCall } of event.content?.parts ?? [])
      if (functionCall?.id) called.add(functionCall.id);
  }
  return Object.freeze(answered.filter((id) => !called.has(id)));
}
