import type { Jobs } from '../../client/jobs/jobs.ts';
import { type JobRow, jobId } from '../../contract/jobs.ts';
import { JOB_STATUSES, MOST_LISTED } from '../../contract/lists.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { nearestName } from '../../schema/known-fields.ts';
import { type RequestNaming, requestFilter } from '../approvals/named-request.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { assertText } from '../sessions/named-session.ts';

/** Options that name the app, user and session of jobs; no default is assumed. */
export type JobNaming = RequestNaming;

/**
 * The job that an argument names: by its own id, or by the key or id of its call, of which it is the only one that goes on.
 *
 * @throws CliError where there is none, or several.
 */
export async function namedJob(
  argument: string,
  naming: JobNaming,
  jobs: Pick<Jobs, 'list' | 'get'>,
): Promise<JobRow> {
  assertText('the job', argument);
  const filter = requestFilter(naming);
  if (argument.startsWith('job-')) {
    const row = jobId.safeParse(argument).success ? await jobs.get(argument) : undefined;
    if (row !== undefined && isOf(row, filter)) return row;
    throw await unknownJob(argument, filter, jobs);
  }
  const running = await jobs.list({ ...filter, limit: MOST_LISTED });
  const fitting = running.filter(({ callKey, callId }) => callKey === argument || callId === argument);
  const [row, ...others] = fitting;
  if (row === undefined) throw await unknownJob(argument, filter, jobs);
  if (others.length === 0) return (await jobs.get(row.jobId)) ?? row;
  throw new UsageError(
    `several jobs of calls with this id go on: name one of ${fitting.map(({ jobId }) => jobId).join(', ')}`,
  );
}

async function unknownJob(
  argument: string,
  filter: ReturnType<typeof requestFilter>,
  jobs: Pick<Jobs, 'list'>,
): Promise<CliError> {
  const listed = await jobs.list({ ...filter, status: JOB_STATUSES, limit: MOST_LISTED });
  const names = argument.startsWith('job-')
    ? listed.map(({ jobId }) => jobId)
    : listed.flatMap(({ callKey, callId }) => [callKey, callId]);
  const near = nearestName(argument, names);
  const whose = Object.keys(filter).length > 0 ? ' of that app, user and session' : '';
  return new CliError(
    `there is no job ${visibleExcerpt(argument, 200)}${whose}${near === undefined ? '' : `; did you mean ${near}?`}: see holdfast jobs ` +
      'list, with --status all for those that have ended',
  );
}

function isOf(row: JobRow, filter: ReturnType<typeof requestFilter>): boolean {
  return Object.entries(filter).every(([name, value]) => row[name as keyof typeof filter] === value);
}
