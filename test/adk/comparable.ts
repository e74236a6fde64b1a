import type { CompactedEvent, Content, Event } from '../../src/index.ts';
import type { SeenRequest } from './scripted-llm.ts';

/** What a scenario came to, in terms that both packages share. */
export interface Came {
  requests: SeenRequest[];
  /** Of each turn, partial ones left out. */
  events: ComparableEvent[][];
  /** Text of each turn's partial events. */
  partials: PartialTexts[];
  /** Of the user, as they are in the sessions. */
  messages: ComparableEvent[];
  /** Of each session at the end, without `temp:`. */
  states: Record<string, unknown>[];
  /** What user code was told, in order. */
  notes: unknown[];
  /** What came out of `runAsync` of each turn, where something did. */
  thrown: { turn: number; message: string }[];
}

export interface PartialTexts {
  text: string;
  thoughts: string;
}

export interface ComparableEvent {
  author: string | undefined;
  content?: Content;
  errorCode?: string;
  errorMessage?: string;
  actions: Record<string, unknown>;
  longRunningToolIds?: string[];
  [field: string]: unknown;
}

/** Ids become their numbers by first appearance. */
export class Ids {
  readonly #known = new Map<string, string>();

  of(id: string): string {
    const known = this.#known.get(id) ?? `id-${this.#known.size + 1}`;
    this.#known.set(id, known);
    return known;
  }
}

const CALLS: readonly string[] = ['functionCall', 'functionResponse', 'originalFunctionCall'];

/** Calls and responses in it have the numbers of their ids, wherever they stand. */
export function withIds<T>(value: T, ids: Ids): T {
  if (Array.isArray(value)) return value.map((each) => withIds(each, ids)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    if (key === 'interruptId') return [key, ids.of(inner)];
    const isCall = CALLS.includes(key) && inner?.id !== undefined;
    return [key, isCall ? { ...withIds(inner, ids), id: ids.of(inner.id) } : withIds(inner, ids)];
  });
  return Object.fromEntries(entries) as T;
}

export function comparableEvent(event: Event, ids: Ids): ComparableEvent {
  const {
    id: _id,
    timestamp: _time,
    invocationId: _invocation,
    actions,
    longRunningToolIds,
    // A compacted event has these.
    startTime: _start,
    endTime: _end,
    endEventId: _last,
    ...said
  } = event as Event & Partial<CompactedEvent>;
  return {
    author: event.author,
    ...withIds(said, ids),
    actions: comparableActions(actions, ids),
    ...(longRunningToolIds?.length
      ? { longRunningToolIds: longRunningToolIds.map((each) => ids.of(each)) }
      : {}),
  };
}

function comparableActions(actions: Partial<Event['actions']> = {}, ids: Ids): Record<string, unknown> {
  const { requestedToolConfirmations = {}, ...others } = actions;
  const asked = Object.entries(requestedToolConfirmations).map(([id, question]) => [ids.of(id), question]);
  const all = { ...others, requestedToolConfirmations: Object.fromEntries(asked) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => !isEmpty(value)));
}

export function partialTextsOf(events: readonly Pick<Event, 'content' | 'partial'>[]): PartialTexts {
  const parts = events.filter(({ partial }) => partial).flatMap(({ content }) => content?.parts ?? []);
  const joined = (isThought: boolean) =>
    parts
      .filter(({ thought = false }) => thought === isThought)
      .map(({ text = '' }) => text)
      .join('');
  return { text: joined(false), thoughts: joined(true) };
}

function isEmpty(value: unknown): boolean {
  return (
    value === undefined ||
    value === false ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}

/** What agents have said and were asked at the same time, by agent. */
export function byAuthor(came: Came): Came {
  const json = (value: unknown) => JSON.stringify(value);
  return {
    ...came,
    requests: came.requests.toSorted((one, other) => (json(one) < json(other) ? -1 : 1)),
    events: came.events.map((events) =>
      events.toSorted((one, other) => ((one.author ?? '') < (other.author ?? '') ? -1 : 1)),
    ),
  };
}
