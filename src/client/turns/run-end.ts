import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';
import type { TurnResult } from '../../protocol/turn.ts';
import type { ClientContext } from '../client-context.ts';

/** How a chain of runs has ended; a failed turn is a result. */
export type RunEnd = { result: TurnResult } | { error: unknown };

/** Waits for the end of a run and those that continue it. Never rejects. */
export async function runEnd(
  { temporal }: ClientContext,
  { workflowId, runId }: { workflowId: string; runId: string },
  signal: AbortSignal,
): Promise<RunEnd> {
  try {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    const result: TurnResult = await temporal.withAbortSignal(signal, () => handle.result());
    return { result };
  } catch (error) {
    const result = failedTurn(error);
    return result === undefined ? { error } : { result };
  }
}

/** An operator, or a client, has ended the run before its time. */
export function wasStopped(error: unknown): boolean {
  const terminated = error instanceof WorkflowFailedError && error.cause instanceof TerminatedFailure;
  return terminated || wasCancelled(error);
}

export function wasCancelled(error: unknown): boolean {
  return error instanceof WorkflowFailedError && error.cause instanceof CancelledFailure;
}

/** The start arguments were refused: the same ones would be refused again. */
export function wasRefused(error: unknown): boolean {
  return (
    error instanceof WorkflowFailedError &&
    error.cause instanceof ApplicationFailure &&
    error.cause.type === 'InvalidStart'
  );
}

function failedTurn(error: unknown): TurnResult | undefined {
  if (!(error instanceof WorkflowFailedError) || !(error.cause instanceof ApplicationFailure))
    return undefined;
  if (error.cause.type !== 'TurnFailed') return undefined;
  const result: unknown = error.cause.details?.[0];
  return isTurnResult(result) ? result : undefined;
}

function isTurnResult(value: unknown): value is TurnResult {
  return typeof value === 'object' && value !== null && 'invocationId' in value && 'status' in value;
}
