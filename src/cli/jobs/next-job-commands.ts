import type { JobRow } from '../../contract/jobs.ts';
import { shellWord } from '../../protocol/shell-word.ts';

const DEFAULT_FOLDER = '.holdfast';

/** Commands about a job that goes on, to be copied; their capitals are for the person to fill in. */
export function nextJobCommands({ jobId }: Pick<JobRow, 'jobId'>, folder = DEFAULT_FOLDER): string[] {
  return ['cancel', 'complete --result JSON', 'fail --error TEXT'].map((words) => {
    const [verb, ...options] = words.split(' ');
    return jobCommand([verb, shellWord(jobId), ...options].join(' '), folder);
  });
}

/** Command that shows all of a job. */
export function showJobCommand({ jobId }: Pick<JobRow, 'jobId'>, folder = DEFAULT_FOLDER): string {
  return jobCommand(`show ${shellWord(jobId)}`, folder);
}

function jobCommand(words: string, folder: string): string {
  const place = folder === DEFAULT_FOLDER ? '' : ` --folder ${shellWord(folder)}`;
  return `npx holdfast jobs ${words}${place}`;
}
