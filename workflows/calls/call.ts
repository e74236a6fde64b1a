import { type ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { UNUSABLE } from '../../src/protocol/activity-results.ts';
import type { CallPlace } from '../../src/protocol/call-input.ts';
import type { JobEnded } from '../../src/protocol/job.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { Carried } from '../../src/protocol/sizes.ts';
import type { InlineResult, PlannedCall, ToolCallResult } from '../../src/protocol/step.ts';
import type { Turn } from '../turn/turn.ts';
import type { InvocationState } from '../turn/turn-state.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';

/** The part of a step that its calls need. */
export interface StepOfCall {
  turn: Turn;
  state: InvocationState;
  context: CallContext;
  limit: ConcurrencyLimit;
  /** Calls that the activity of the step has run, by key. */
  ran: ReadonlyMap<string, InlineResult>;
  /** Whether all that the call belongs to is cut off, and not this call alone. */
  isCutOff(): boolean;
}

/** The outcome of a call: recorded in the store, or an error that is to be recorded. */
export type RanCall =
  | {
      skipSummarization: boolean;
      transferToAgent?: string;
      escalate?: true;
      response?: Carried<Record<string, unknown>>;
    }
  | { error: string };

/** The part of a call's outcome that the turn acts on. */
export function ranOf(result: ToolCallResult | JobEnded): RanCall {
  if (!('response' in result)) return { skipSummarization: false };
  const { response, skipSummarization = false, transferToAgent, escalate } = result;
  return {
    response,
    skipSummarization,
    transferToAgent,
    escalate,
  };
}

/**
 * The model's text for a call whose activity has recorded no outcome. Texts of the infrastructure are for operators; a model
 * couldn't act on them.
 */
export function unsettledText({ cause }: ActivityFailure, { tool }: Pick<PlannedCall, 'tool'>): string {
  if (cause instanceof ApplicationFailure && cause.type === TOOL_FAILED) return cause.message;
  if (cause instanceof ApplicationFailure && cause.type === UNUSABLE.code) {
    return `Error in tool '${tool}': ${cause.message}; it may have run`;
  }
  return noOutcomeText({ tool });
}

export function noOutcomeText({ tool }: Pick<PlannedCall, 'tool'>): string {
  return `Error in tool '${tool}': no outcome within its total timeout; it may have run`;
}

/** Shared by the calls of a step. */
export interface CallContext extends CallPlace {
  invocationId: string;
}
