import type { Content } from '../events/content.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import type { EventKind } from '../store/store.ts';
import { CallIds, responsesTo, withoutOwnCallIds } from './call-ids.ts';
import { visibleEvents } from './visible-events.ts';

/** An event as the contents need it. */
export interface TranscriptEvent {
  seq: number;
  kind: EventKind;
  runKey: string;
  step: number;
  hidesAfter?: number;
  event: { content?: Content };
}

/**
 * What the model sees of a transcript: the content of each visible event in order, calls with their responses right
 * behind them. Calls and responses belong together by run, step and position, never by wire id; of several responses of
 * one step the last visible one counts. A model event whose calls have no responses is left out: its step is still open,
 * or was never merged. What models said right after each other is one content. Unchanged contents are those of the events
 * themselves.
 */
export function contentsOf(events: readonly TranscriptEvent[]): Content[] {
  const contents = new GrowingContents();
  contents.extend(events, 0);
  return contents.list.slice();
}

/**
 * The contents of a transcript that grows. An ordinary event costs what it holds itself; one that changes what stands
 * before it (a rewind, responses that come late) costs the whole transcript.
 */
export class GrowingContents {
  readonly callIds = new CallIds();
  #list: Content[] = [];
  #message: Content | undefined;
  /** The model event at the end whose calls have no responses yet. */
  #unanswered: TranscriptEvent | undefined;

  /** Grows at its end only; where anything else changes, another list takes its place. */
  get list(): readonly Content[] {
    return this.#list;
  }

  /** The last visible message of the user. */
  get message(): Content | undefined {
    return this.#message;
  }

  /** @param from how many of `events`, the whole transcript, are known already. */
  extend(events: readonly TranscriptEvent[], from: number): void {
    const added = events.slice(from);
    for (const { seq, event } of added) this.callIds.note(seq, event.content);
    for (const event of added) {
      if (this.#append(event)) continue;
      this.#rebuild(events);
      return;
    }
  }

  /** False where the event changes what stands before it. */
  #append(event: TranscriptEvent): boolean {
    if (event.hidesAfter !== undefined) return false;
    if (event.kind !== 'responses') {
      this.#place(event);
      return true;
    }
    if (this.#unanswered === undefined || keyOf(this.#unanswered) !== keyOf(event)) return false;
    this.#answer(this.#unanswered, event);
    return true;
  }

  #rebuild(events: readonly TranscriptEvent[]): void {
    this.#list = [];
    this.#message = undefined;
    this.#unanswered = undefined;
    const visible = visibleEvents(events);
    const responses = new Map(
      visible.filter(({ kind }) => kind === 'responses').map((event) => [keyOf(event), event]),
    );
    for (const event of visible) {
      if (event.kind === 'responses') continue;
      this.#place(event);
      if (this.#unanswered !== event) continue;
      const answer = responses.get(keyOf(event));
      if (answer !== undefined) this.#answer(event, answer);
    }
  }

  #place(event: TranscriptEvent): void {
    const { content } = event.event;
    if (event.kind === 'message') this.#message = content;
    if (!content?.parts?.length) return;
    if (event.kind === 'model' && content.parts.some(({ functionCall }) => functionCall !== undefined)) {
      this.#unanswered = event;
      return;
    }
    this.#unanswered = undefined;
    this.#add(content);
  }

  #answer(asked: TranscriptEvent, answer: TranscriptEvent): void {
    const calls = withoutOwnCallIds(asked.event.content ?? {}, (id) =>
      this.callIds.isTakenBefore(asked.seq, id),
    );
    const responses = responsesTo(calls, answer.event.content ?? {});
    if (responses === undefined) return;
    this.#unanswered = undefined;
    this.#add(calls);
    this.#list.push(responses);
  }

  /** Runs that go on at the same time may speak one after another. Gemini refuses calls right behind a model's content. */
  #add(content: Content): void {
    const before = this.#list.at(-1);
    if (content.role !== 'model' || before?.role !== 'model') {
      this.#list.push(content);
      return;
    }
    const joined = { ...content, parts: [...(before.parts ?? []), ...(content.parts ?? [])] };
    this.#list = [...this.#list.slice(0, -1), joined];
  }
}

function keyOf({ runKey, step }: TranscriptEvent): string {
  return stepKeyOf(runKey, step);
}
