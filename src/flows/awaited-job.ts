import type { AwaitedJob } from '../protocol/job.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { TIMEOUT_MARGIN } from './plan-calls.ts';

/** One look at a job that nobody polls reads a row, milliseconds. A worker that dies meanwhile costs as much. */
const LOOK_TIMEOUT = 60_000;

/**
 * A job as a workflow waits for it.
 *
 * @param tool undefined where it isn't known here.
 * @param timeLeft until its deadline, milliseconds.
 */
export function awaitedJob(
  tool: Pick<BaseTool, 'job' | 'durable'> | undefined,
  jobId: string,
  timeLeft: number,
): AwaitedJob {
  if (tool?.job.poll === undefined) return { jobId, timeLeft, look: { startToClose: LOOK_TIMEOUT } };
  const { timeout, heartbeatTimeout } = tool.durable;
  return {
    jobId,
    timeLeft,
    look: { startToClose: timeout + TIMEOUT_MARGIN, heartbeat: heartbeatTimeout },
  };
}
