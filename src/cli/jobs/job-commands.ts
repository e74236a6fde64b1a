import { type UiTarget, workflowUrl } from '../../../worker/temporal/ui-link.ts';
import type { JobRow, JobStatus } from '../../contract/jobs.ts';
import { JOB_STATUSES, MOST_LISTED } from '../../contract/lists.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type RequestNaming, requestFilter } from '../approvals/named-request.ts';
import { untilText } from '../approvals/request-text.ts';
import { argumentLines } from '../approvals/shown-arguments.ts';
import { processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import { assertKnownApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';
import { jobLines, progressWords, statusWords } from './job-text.ts';
import { namedJob } from './named-job.ts';
import { nextJobCommands } from './next-job-commands.ts';

interface ListJobsOptions extends RequestNaming {
  limit: number;
  status: JobStatus | 'all';
}

/** `holdfast jobs list`: the oldest first. */
export async function listJobs(options: InFolder<ListJobsOptions>, output = processOutput()): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { jobs }, apps }) => {
    const { limit, status } = options;
    const list = {
      ...requestFilter(options),
      limit: Math.min(limit + 1, MOST_LISTED),
      status: status === 'all' ? JOB_STATUSES : [status],
    };
    const found = await withProgress(output, 'reading jobs', jobs.list(list));
    const shown = found.slice(0, limit);
    if (options.json) return output.json({ jobs: shown });
    if (shown.length === 0) {
      await assertKnownApp(options.app, apps);
      return output.note(
        status === 'running'
          ? 'no job goes on; --status all lists those that have ended, too'
          : `no jobs${status === 'all' ? '' : ` that are ${statusWords({ status })}`}`,
      );
    }
    for (const line of tableLines(COLUMNS, shown.map(rowOf))) output.line(line);
    if (found.length > shown.length) output.note(`the oldest ${limit}; more with --limit`);
    else output.note('holdfast jobs show JOB tells all of one');
  });
}

const COLUMNS = ['JOB', 'STATUS', 'MODE', 'SINCE', 'UNTIL', 'SESSION', 'TOOL', 'PROGRESS'];

function rowOf(row: JobRow): string[] {
  const { jobId, status, mode, since, until, app, userId, sessionId, tool, progress } = row;
  const isRunning = status === 'running';
  return [
    jobId,
    statusWords(row),
    mode,
    ago(since),
    isRunning ? untilText(until) : '',
    [app, userId, sessionId].map((part) => visibleExcerpt(part, 40)).join('/'),
    visibleExcerpt(tool, 40),
    isRunning && progress !== undefined ? visibleExcerpt(progressWords(progress), 60) : '',
  ];
}

/** `holdfast jobs show`: a job's state, its outcome, and the next commands. */
export async function showJob(
  argument: string,
  options: InFolder<RequestNaming>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { jobs }, ui }) => {
    const row = await withProgress(output, 'reading the job', namedJob(argument, options, jobs));
    if (options.json) return output.json(row);
    const temporal = temporalPages(row, await ui());
    const [head = '', ...lines] = jobLines(row, { temporal, args: argumentsOf(row) });
    output.line(output.paint('bold', head));
    for (const line of lines) output.line(line);
    if (row.status !== 'running') return;
    output.line('  next:');
    for (const command of nextJobCommands(row, options.folder)) output.line(`    ${command}`);
  });
}

/** Sensitive arguments stay in the store. */
function argumentsOf({ args }: JobRow): string[] {
  if (args === undefined) return [];
  return 'value' in args ? argumentLines(args.value, false) : [visibleExcerpt(args.ref.gist, 200)];
}

/** The workflow that waits, where one does, and the session's turns. */
function temporalPages({ app, userId, sessionId, address }: JobRow, ui: UiTarget | undefined): string[] {
  if (ui === undefined) return [];
  const turns = workflowIdOf(app, userId, sessionId);
  const pages =
    address === undefined || address.workflowId === turns
      ? [workflowUrl(ui, turns, address?.runId)]
      : [workflowUrl(ui, address.workflowId, address.runId), workflowUrl(ui, turns)];
  return pages.filter((page) => page !== undefined);
}
