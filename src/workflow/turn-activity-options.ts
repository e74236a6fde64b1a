import type { ActivityOptions } from '@temporalio/workflow';
import { fairnessKeyOf } from '../protocol/identity.ts';

/** Whose turn it is, and where Holdfast's workers poll. */
export interface PlaceOfTurn {
  app: string;
  userId: string;
  taskQueue: string;
}

/** As those of a turn's own activities: nothing but their workflow ends them. */
export function turnActivityOptions(
  { app, userId, taskQueue }: PlaceOfTurn,
  summary: string,
): ActivityOptions {
  return {
    taskQueue,
    summary: summary.slice(0, 60).toWellFormed(),
    priority: { fairnessKey: fairnessKeyOf(app, userId) },
    startToCloseTimeout: 60_000,
    heartbeatTimeout: 10_000,
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: 1_000, maximumInterval: 30_000, backoffCoefficient: 2 },
  };
}
