import type { Jobs } from '../../client/jobs/jobs.ts';
import { type JobRow, jobId } from '../../contract/jobs.ts';
import { JOB_STATUSES, MOST_LISTED } from '../../contract/lists.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { nearestName } from '../../schema/known-fields.ts';
import {
  fitsFilter,
  type RequestFilter,
  type RequestNaming,
  requestFilter,
} from '../approvals/named-request.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { assertText } from '../sessions/named-session.ts';

/**
 * The job that an argument names: by its own id, or by the key or id of its call, of which it is the only one that goes on.
 *
 * @throws CliError where there is none, or several.
 */
export async function namedJob(
  argument: string,
  naming: RequestNaming,
  jobs: Pick<Jobs, 'list' | 'get'>,
): Promise<JobRow> {
  assertText('the job', argument);
  const filter = requestFilter(naming);
  if (argument.startsWith('job-')) {
    const row = jobId.safeParse(argument).success ? await jobs.get(argument) : undefined;
    if (row !== undefined && fitsFilter(row, filter)) return row;
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
  filter: RequestFilter,
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
