import {
  activeEvents,
  type CompactedEvent,
  isCompactedEvent,
  isScratchpadEvent,
} from '../../events/compacted-event.ts';
import { createEvent, type Event, getFunctionCalls } from '../../events/event.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import * as option from '../../schema/option-kinds.ts';
import { OptionReader } from '../../schema/options.ts';
import {
  CONSOLIDATE,
  CONSOLIDATE_CONTEXT,
  CONSOLIDATE_DETAIL,
} from '../../tools/built-in/consolidate-context-tool.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import {
  type BaseContextCompactor,
  type BaseSummarizer,
  ContextCompactionTrigger,
} from './base-context-compactor.ts';
import { eventsOf, promptTokens, retainStart, tokensOf } from './retained-events.ts';

export interface TokenBasedContextCompactorOptions {
  /** Tokens of a request above which the context is compacted. */
  tokenThreshold: number;
  /** Events that are kept as they are, at least. */
  eventRetentionSize: number;
  summarizer: BaseSummarizer;
}

const itself = (event: Event) => event;

/**
 * Has the oldest events summarised where the latest request had more tokens than the threshold. Semantics: the class of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError
 * @example
 * new LlmAgent({
 *   name: 'desk',
 *   model: 'gemini-2.5-flash',
 *   contextCompactors: [
 *     new TokenBasedContextCompactor({
 *       tokenThreshold: 80_000,
 *       eventRetentionSize: 20,
 *       summarizer: new LlmSummarizer({ llm: new Gemini({ model: 'gemini-2.5-flash-lite' }) }),
 *     }),
 *   ],
 * });
 */
export class TokenBasedContextCompactor implements BaseContextCompactor {
  readonly #options: Checked;

  constructor(options: TokenBasedContextCompactorOptions) {
    this.#options = checked('TokenBasedContextCompactor', options);
  }

  shouldCompact(invocationContext: InvocationContext): boolean {
    const active = activeEvents(eventsOf(invocationContext), itself);
    if (toCompact(active, this.#options).length === 0) return false;
    return (promptTokens(active, invocationContext) ?? 0) > this.#options.tokenThreshold;
  }

  async compact(invocationContext: InvocationContext): Promise<void> {
    const events = eventsOf(invocationContext);
    const active = activeEvents(events, itself);
    const old = toCompact(active, this.#options);
    if (old.length === 0) return;
    events.push(
      await summary(
        this.#options.summarizer,
        [...active.filter(isCompactedEvent), ...old],
        invocationContext,
      ),
    );
  }
}

export type AnchoredContextCompactorOptions = TokenBasedContextCompactorOptions;

/**
 * Carries one summary on: each compaction adds the events after it. Semantics: the class of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError
 */
export class AnchoredContextCompactor implements BaseContextCompactor {
  readonly #options: Checked;

  constructor(options: AnchoredContextCompactorOptions) {
    this.#options = checked('AnchoredContextCompactor', options);
  }

  shouldCompact(invocationContext: InvocationContext): boolean {
    const active = sinceScratchpad(eventsOf(invocationContext));
    if (toCompact(active, this.#options).length === 0) return false;
    return active.reduce((sum, event) => sum + tokensOf(event), 0) > this.#options.tokenThreshold;
  }

  async compact(invocationContext: InvocationContext): Promise<void> {
    const events = eventsOf(invocationContext);
    const active = sinceScratchpad(events);
    const old = toCompact(active, this.#options);
    if (old.length === 0) return;
    const made = await summary(
      this.#options.summarizer,
      [...active.filter(isScratchpadEvent), ...old],
      invocationContext,
    );
    events.push({ ...made, isScratchpad: true, author: 'system' } as CompactedEvent);
  }
}

/** Compacted events of other compactors are events like any other. */
function sinceScratchpad(events: readonly Event[]): readonly Event[] {
  return activeEvents(
    events.filter((event) => !isCompactedEvent(event) || isScratchpadEvent(event)),
    itself,
  );
}

export interface TruncatingContextCompactorOptions {
  /** Events that are kept at the end. */
  threshold: number;
  /** Events that are kept at the beginning. @default 0 */
  preserveLeadingEvents?: number;
}

/**
 * Leaves the oldest events out. Semantics: the class of `@google/adk` 2.0.0, except that no call is parted from its response.
 *
 * @throws DefinitionError
 */
export class TruncatingContextCompactor implements BaseContextCompactor {
  readonly #threshold: number;
  readonly #leading: number;

  constructor(options: TruncatingContextCompactorOptions) {
    const read = new OptionReader('TruncatingContextCompactor', Object(options));
    this.#threshold = option.required(option.count())(read, 'threshold');
    this.#leading = Math.floor(option.number(0, 0)(read, 'preserveLeadingEvents'));
  }

  shouldCompact(invocationContext: InvocationContext): boolean {
    return eventsOf(invocationContext).length > this.#threshold + this.#leading;
  }

  compact(invocationContext: InvocationContext): void {
    const events = eventsOf(invocationContext);
    const end = retainStart(events, this.#threshold);
    const start = wholeStart(events, this.#leading);
    if (end > start) events.splice(start, end - start);
  }
}

/** The first events end where no call of them is answered later. */
function wholeStart(events: readonly Event[], count: number): number {
  for (let start = Math.min(count, events.length); start > 0; start -= 1) {
    if (getFunctionCalls(events[start - 1] as Event).length === 0) return start;
  }
  return 0;
}

export interface TrajectoryThoughtPruningCompactorOptions {
  /** Events at the end that keep their thoughts. */
  eventRetentionSize: number;
}

/**
 * Leaves thoughts out of older events; signatures of calls stay. Semantics: the class of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError
 */
export class TrajectoryThoughtPruningCompactor implements BaseContextCompactor {
  readonly #retained: number;

  constructor(options: TrajectoryThoughtPruningCompactorOptions) {
    const read = new OptionReader('TrajectoryThoughtPruningCompactor', Object(options));
    this.#retained = Math.floor(option.required(option.number(0))(read, 'eventRetentionSize'));
  }

  shouldCompact(invocationContext: InvocationContext): boolean {
    const events = eventsOf(invocationContext);
    return events.slice(0, Math.max(0, events.length - this.#retained)).some(hasThoughts);
  }

  compact(invocationContext: InvocationContext): void {
    const events = eventsOf(invocationContext);
    for (let index = 0; index < events.length - this.#retained; index += 1) {
      const event = events[index] as Event;
      if (hasThoughts(event)) events[index] = withoutThoughts(event);
    }
  }
}

function hasThoughts({ content }: Event): boolean {
  return content?.parts?.some(({ thought }) => thought === true) ?? false;
}

function withoutThoughts(event: Event): Event {
  const parts = event.content?.parts?.filter(({ thought }) => thought !== true) ?? [];
  return { ...event, content: { ...event.content, parts } };
}

export interface AgentControlledContextCompactorOptions {
  summarizer: BaseSummarizer;
}

/**
 * Has the events before the model's call of `consolidate_context` summarised: give the agent {@link ConsolidateContextTool}. Semantics: the
 * class of `@google/adk` 2.0.0, which logs a summary that fails and goes on.
 *
 * @throws DefinitionError
 */
export class AgentControlledContextCompactor implements BaseContextCompactor {
  readonly trigger = ContextCompactionTrigger.AgentControlled;
  readonly #summarizer: BaseSummarizer;

  constructor(options: AgentControlledContextCompactorOptions) {
    this.#summarizer = checkedSummarizer('AgentControlledContextCompactor', options);
  }

  shouldCompact({ session }: InvocationContext): boolean {
    return session.state[CONSOLIDATE] === true;
  }

  async compact(invocationContext: InvocationContext): Promise<void> {
    const events = eventsOf(invocationContext);
    const active = activeEvents(events, itself);
    const asked = active.findLastIndex((event) =>
      getFunctionCalls(event).some(({ name }) => name === CONSOLIDATE_CONTEXT),
    );
    const raw = active.filter((event) => !isCompactedEvent(event));
    const kept = active.length - Math.max(asked, 0);
    const old = asked <= 0 ? [] : raw.slice(0, retainStart(raw, kept));
    const done = { [CONSOLIDATE]: null, [CONSOLIDATE_DETAIL]: null };
    if (old.length === 0) {
      Object.assign(InvocationContext.initOf(invocationContext).eventActions?.stateDelta ?? {}, done);
      return;
    }
    const detail = invocationContext.session.state[CONSOLIDATE_DETAIL];
    const told = [...active.filter(isCompactedEvent), ...old];
    const made = await summary(
      this.#summarizer,
      told,
      invocationContext,
      typeof detail === 'string' ? detail : '',
    );
    events.push({
      ...made,
      actions: { ...made.actions, stateDelta: { ...made.actions.stateDelta, ...done } },
    } as Event);
  }
}

type Checked = Readonly<TokenBasedContextCompactorOptions>;

/** The events that are not kept, without compacted ones. */
function toCompact(active: readonly Event[], { eventRetentionSize }: Checked): readonly Event[] {
  const raw = active.filter((event) => !isCompactedEvent(event));
  return raw.slice(0, retainStart(raw, eventRetentionSize));
}

/** @param detail what the summary is to be about */
async function summary(
  summarizer: BaseSummarizer,
  events: readonly Event[],
  { abortSignal }: InvocationContext,
  detail = '',
): Promise<CompactedEvent> {
  const last = events.at(-1);
  const told =
    detail === ''
      ? [...events]
      : [
          ...events,
          createEvent({ author: 'system', timestamp: last?.timestamp ?? 0, content: instruction(detail) }),
        ];
  const made = await summarizer.summarize(told, abortSignal);
  if (!isCompactedEvent(made) || typeof made.compactedContent !== 'string') {
    throw new TypeError('summarizer.summarize must return a compacted event');
  }
  return { ...made, ...(last === undefined ? {} : { endEventId: last.id, endTime: last.timestamp }) };
}

/** Text of `@google/adk` 2.0.0. */
function instruction(detail: string) {
  const text = `CRITICAL INSTRUCTION FOR SUMMARY: Please summarize the history. Focus especially on: ${detail}`;
  return { role: 'user', parts: [{ text }] };
}

function checked(owner: string, options: TokenBasedContextCompactorOptions): Checked {
  const read = new OptionReader(owner, Object(options));
  for (const field of ['tokenThreshold', 'eventRetentionSize'])
    if (!read.given(field)) read.fail(field, 'required');
  return Object.freeze({
    tokenThreshold: option.number(0, 0)(read, 'tokenThreshold'),
    eventRetentionSize: Math.floor(option.number(0, 0)(read, 'eventRetentionSize')),
    summarizer: checkedSummarizer(owner, options),
  });
}

function checkedSummarizer(owner: string, options: { summarizer?: BaseSummarizer }): BaseSummarizer {
  const { summarizer } = options;
  if (typeof summarizer?.summarize === 'function') return summarizer;
  const problem = 'expected a summarizer, such as new LlmSummarizer({ llm })';
  throw new DefinitionError({ owner, field: 'summarizer', problem });
}
