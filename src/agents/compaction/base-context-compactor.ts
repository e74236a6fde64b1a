import type { CompactedEvent } from '../../events/compacted-event.ts';
import type { Event } from '../../events/event.ts';
import type { InvocationContext } from '../../tools/invocation-context.ts';

/** Why a context is compacted. Names: the enum of `@google/adk` 2.0.0. */
export const ContextCompactionTrigger = {
  Manual: 'Manual',
  Auto: 'Auto',
  AgentControlled: 'AgentControlled',
} as const;
export type ContextCompactionTrigger =
  (typeof ContextCompactionTrigger)[keyof typeof ContextCompactionTrigger];

/**
 * Makes the context of an agent smaller before its model is asked. Semantics: `BaseContextCompactor` of `@google/adk` 2.0.0: it edits
 * `invocationContext.session.events` in place. Compacted events that it adds are stored with the step. Other edits count for this request only,
 * since the session keeps all its events: such a compactor does the same before the next request.
 */
export interface BaseContextCompactor {
  /** @default Auto */
  readonly trigger?: ContextCompactionTrigger;
  shouldCompact(invocationContext: InvocationContext): boolean | Promise<boolean>;
  compact(invocationContext: InvocationContext): void | Promise<void>;
}

/** Makes one event of many. Semantics: `BaseSummarizer` of `@google/adk` 2.0.0. */
export interface BaseSummarizer {
  /** @param abortSignal fires when the summary is no longer wanted */
  summarize(events: Event[], abortSignal?: AbortSignal): Promise<CompactedEvent>;
}
