import { ActivityFailure, ApplicationFailure, scheduleActivity } from '@temporalio/workflow';

/** What became of an activity that somebody has scheduled who has nothing but the namespace. */
export type Foreign = { result: unknown } | { refused: string; message: string };

/** Of a worker that isn't Holdfast's: schedules any activity, with any input, on any task queue. */
export async function foreign(type: string, input: object, taskQueue = 'holdfast'): Promise<Foreign> {
  try {
    const options = {
      taskQueue,
      scheduleToCloseTimeout: '60s',
      startToCloseTimeout: '30s',
      heartbeatTimeout: '30s',
      retry: { maximumAttempts: 1 },
    } as const;
    return { result: await scheduleActivity(type, [input], options) };
  } catch (error) {
    if (!(error instanceof ActivityFailure) || !(error.cause instanceof ApplicationFailure)) throw error;
    return { refused: String(error.cause.type), message: error.cause.message };
  }
}
