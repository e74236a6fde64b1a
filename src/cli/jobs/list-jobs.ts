import type { JobRow, JobStatus } from '../../contract/jobs.ts';
import { JOB_STATUSES, MOST_LISTED } from '../../contract/lists.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { requestFilter } from '../approvals/named-request.ts';
import { untilText } from '../approvals/request-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { assertKnownApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';
import { progressWords, statusWords } from './job-text.ts';
import type { JobNaming } from './named-job.ts';

export interface ListJobsOptions extends JobNaming {
  limit: number;
  status: JobStatus | 'all';
  json?: boolean;
}

/** `holdfast jobs list`: the oldest first. */
export async function listJobs(
  options: ListJobsOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, limit, status } = options;
  const filter = requestFilter(options);
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const list = {
      ...filter,
      limit: Math.min(limit + 1, MOST_LISTED),
      status: status === 'all' ? JOB_STATUSES : [status],
    };
    const found = await withProgress(output, 'reading jobs', connected.jobs.list(list));
    const shown = found.slice(0, limit);
    if (options.json) return output.json({ jobs: shown });
    if (shown.length === 0) {
      await assertKnownApp(options.app, connected.apps);
      return output.note(
        status === 'running'
          ? 'no job goes on; --status all lists those that have ended, too'
          : `no jobs${status === 'all' ? '' : ` that are ${statusWords({ status })}`}`,
      );
    }
    for (const line of tableLines(COLUMNS, shown.map(rowOf))) output.line(line);
    if (found.length > shown.length) output.note(`the oldest ${limit}; more with --limit`);
    else output.note('holdfast jobs show JOB tells all of one');
  } finally {
    await connected.close();
  }
}

const COLUMNS = [
  { title: 'JOB' },
  { title: 'STATUS' },
  { title: 'MODE' },
  { title: 'SINCE' },
  { title: 'UNTIL' },
  { title: 'SESSION' },
  { title: 'TOOL' },
  { title: 'PROGRESS' },
];

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
