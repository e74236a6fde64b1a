import { type ActivityFailure, ApplicationFailure } from '@temporalio/workflow';
import { UNUSABLE } from '../../src/protocol/activity-results.ts';
import { TOOL_FAILED } from '../../src/protocol/names.ts';
import type { PlannedCall } from '../../src/protocol/step.ts';

/**
 * What the model is told of a call whose activity has settled nothing. What the infrastructure says of itself is for operators, and
 * nothing that a model could act on.
 */
export function unsettledText({ cause }: ActivityFailure, { tool }: Pick<PlannedCall, 'tool'>): string {
  if (cause instanceof ApplicationFailure && cause.type === TOOL_FAILED) return cause.message;
  if (cause instanceof ApplicationFailure && cause.type === UNUSABLE.code) {
    return `Error in tool '${tool}': ${cause.message}; it may have run`;
  }
  return `Error in tool '${tool}': no outcome within its total timeout; it may have run`;
}
