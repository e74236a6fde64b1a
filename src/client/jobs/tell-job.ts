import type { JobRow } from '../../contract/jobs.ts';
import { completeWait, signalProgress } from '../../jobs/complete-wait.ts';
import { getLogger } from '../../logger.ts';
import { messageOf } from '../../protocol/message-of.ts';
import type { JobOfMessage } from '../../store/jobs/job-store.ts';
import type { Store } from '../../store/store.ts';
import type { ClientContext } from '../client-context.ts';
import { deliverDetached } from './deliver-detached.ts';

/** Milliseconds that a caller waits for Temporal: the store has the outcome by then. */
const PATIENCE = 1_500;

/** Tells the workflow that waits for a job of its end. Where that can't be done, the workflow finds out by itself. */
export async function tellOfEnd(context: ClientContext, store: Store, job: JobRow): Promise<void> {
  // Its session was told.
  if (job.deliveredSeq !== undefined) return;
  await notifyWithDeadline(context, `that job ${job.jobId} has ended`, async () => {
    const isTold = await completeWait(context.temporal, job);
    if (!isTold && job.mode === 'detached') await deliverDetached(context, store, job);
  });
}

/** Tells the workflows of jobs that their sessions have given up: each tells its tool, and ends. */
export async function tellGivenUp(context: ClientContext, jobs: readonly JobOfMessage[]): Promise<void> {
  await Promise.all(
    jobs.map((job) =>
      notifyWithDeadline(context, `that job ${job.jobId} has ended`, async () => {
        await completeWait(context.temporal, job);
      }),
    ),
  );
}

/** Tells the workflow that waits for a job how far it has got. */
export async function tellProgress(context: ClientContext, job: JobRow): Promise<void> {
  await notifyWithDeadline(context, `how far job ${job.jobId} has got`, () =>
    signalProgress(context.temporal, job),
  );
}

async function notifyWithDeadline(
  { temporal }: ClientContext,
  what: string,
  tell: () => Promise<void>,
): Promise<void> {
  try {
    await temporal.withDeadline(Date.now() + PATIENCE, tell);
  } catch (error) {
    const reason = messageOf(error);
    getLogger().warn(
      `the workflow that waits was not told ${what}, and learns of it by its next look: ${reason}`,
    );
  }
}
