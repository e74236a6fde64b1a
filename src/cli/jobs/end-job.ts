import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { JobAnswer } from '../../contract/jobs.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { CommandOutput } from '../command-output.ts';
import { cutJson } from '../sessions/shown-values.ts';
import { statusWords } from './job-text.ts';
import { type JobNaming, namedJob } from './named-job.ts';

const LONGEST_OUTCOME = 400;

/** How `jobs complete`, `fail` and `cancel` find their job, and what they print. */
export const ended = {
  reading: 'reading the job',
  find: async (argument: string, options: JobNaming, { jobs }: HoldfastApi) => {
    const { jobId } = await namedJob(argument, options, jobs);
    return { jobId };
  },
  doing: 'telling the job',
  print: tellJobAnswer,
  exitCode: exitCodeOf,
};

/** Prints the receipt of an order about a job. Returns the exit code: 1 if the job has ended otherwise, or goes on. */
export function tellJobAnswer(answer: JobAnswer, output: Pick<CommandOutput, 'line' | 'note'>): number {
  const { jobId, status, job, reason, outcome } = answer;
  const words = statusWords({ status: job });
  if (status === 'ended') output.line(`${jobId} ${words}`);
  else if (status === 'duplicate')
    output.line(`${jobId} ${words}: the same was said before; nothing has changed`);
  else if (status === 'refused') {
    output.line(`${jobId} is as it was${reason === undefined ? '' : `: ${visibleExcerpt(reason, 500)}`}`);
  } else {
    output.line(`${jobId} ${words}: it had ended before, and that counts`);
    if (outcome !== undefined)
      output.note(`its outcome: ${visibleExcerpt(cutJson(outcome.response, LONGEST_OUTCOME), 500)}`);
  }
  return exitCodeOf(answer);
}

function exitCodeOf({ status }: JobAnswer): number {
  return status === 'known' || status === 'refused' ? 1 : 0;
}
