import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Printer } from '../run/printer.ts';

/** Jobs that a turn waits for since before it was followed: nobody tells of those again. */
export async function printParkedJobs(
  { jobs }: Pick<HoldfastApi, 'jobs'>,
  { app, userId, sessionId }: SessionNames,
  printer: Pick<Printer, 'job'>,
): Promise<void> {
  for (const row of await jobs.list({ app, userId, sessionId })) {
    const { runKey, callKey, tool, jobId, status, mode, progress } = row;
    if (mode !== 'parked') continue;
    const item = { type: 'job', runKey, callKey, tool, jobId, status, mode } as const;
    printer.job(progress === undefined ? item : { ...item, progress });
  }
}

/** Prints the jobs that go on after a turn's end, and the receiver of their outcome. */
export async function tellJobsGoingOn(
  { jobs }: Pick<HoldfastApi, 'jobs'>,
  { app, userId, sessionId }: SessionNames,
  printer: Pick<Printer, 'note'>,
  answers: string,
): Promise<void> {
  const running = await jobs.list({ app, userId, sessionId });
  const [job, ...others] = running;
  if (job === undefined) return;
  const which = others.length === 0 ? `the job ${job.jobId} goes on` : `${running.length} jobs go on`;
  printer.note(`${which} (holdfast jobs list); the model is told of what comes of it by ${answers}`);
}
