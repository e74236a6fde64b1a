import { workflowUrl } from '../../../worker/temporal/ui-link.ts';
import type { JobRow } from '../../contract/jobs.ts';
import { workflowIdOf } from '../../protocol/identity.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { argumentLines } from '../approvals/shown-arguments.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectedSessions, type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { jobLines } from './job-text.ts';
import { type JobNaming, namedJob } from './named-job.ts';
import { nextJobCommands } from './next-job-commands.ts';

export interface ShowJobOptions extends JobNaming {
  json?: boolean;
}

/** `holdfast jobs show`: a job's state, its outcome, and the next commands. */
export async function showJob(
  argument: string,
  options: ShowJobOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const row = await withProgress(output, 'reading the job', namedJob(argument, options, connected.jobs));
    if (options.json) return output.json(row);
    const temporal = await temporalPages(row, connected);
    const [head = '', ...lines] = jobLines(row, { temporal, args: argumentsOf(row) });
    output.line(output.paint('bold', head));
    for (const line of lines) output.line(line);
    if (row.status !== 'running') return;
    output.line('  next:');
    for (const command of nextJobCommands(row, folder)) output.line(`    ${command}`);
  } finally {
    await connected.close();
  }
}

/** Those that are sensitive stay in the store. */
function argumentsOf({ args }: JobRow): string[] {
  if (args === undefined) return [];
  return 'value' in args ? argumentLines(args.value, false) : [visibleExcerpt(args.ref.gist, 200)];
}

/** The workflow that waits, where one does, and the session's turns. */
async function temporalPages(
  { app, userId, sessionId, address }: JobRow,
  { ui }: Pick<ConnectedSessions, 'ui'>,
): Promise<string[]> {
  const target = await ui();
  if (target === undefined) return [];
  const turns = workflowIdOf(app, userId, sessionId);
  const pages =
    address === undefined || address.workflowId === turns
      ? [workflowUrl(target, turns, address?.runId)]
      : [workflowUrl(target, address.workflowId, address.runId), workflowUrl(target, turns)];
  return pages.filter((page) => page !== undefined);
}
