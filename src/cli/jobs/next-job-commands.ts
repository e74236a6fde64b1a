import { commandIn } from '../../approvals/next-commands.ts';
import type { JobRow } from '../../contract/jobs.ts';
import { shellWord } from '../../protocol/shell-word.ts';

/** Commands about a job that goes on, to be copied; their capitals are for the person to fill in. */
export function nextJobCommands({ jobId }: Pick<JobRow, 'jobId'>, folder?: string): string[] {
  const job = shellWord(jobId);
  return [`cancel ${job}`, `complete ${job} --result JSON`, `fail ${job} --error TEXT`].map((words) =>
    commandIn(folder, `jobs ${words}`),
  );
}

/** Command that shows all of a job. */
export function showJobCommand({ jobId }: Pick<JobRow, 'jobId'>, folder?: string): string {
  return commandIn(folder, `jobs show ${shellWord(jobId)}`);
}
