import { readFileSync } from 'node:fs';
import type { Jobs } from '../../client/jobs/jobs.ts';
import { completeJob as completed, type JobAnswer } from '../../contract/jobs.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { RequestNaming } from '../approvals/named-request.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { connected, connectFolder, type InFolder } from '../connect-folder.ts';
import { jsonField } from '../field-option.ts';
import { cutJson } from '../sessions/shown-values.ts';
import { statusWords } from './job-text.ts';
import { namedJob } from './named-job.ts';

const LONGEST_OUTCOME = 400;
const STANDARD_INPUT = 0;

/** `holdfast jobs complete`. Returns the exit code. */
export async function completeJob(
  argument: string,
  options: InFolder<RequestNaming & { /** JSON, or `-` for standard input. */ result: string }>,
  output = processOutput(),
  piped: () => string = () => readFileSync(STANDARD_INPUT, 'utf8'),
): Promise<number> {
  const [from, json] =
    options.result === '-' ? ['standard input (--result -)', piped()] : ['--result', options.result];
  const result = jsonField(completed, 'result', from, json);
  return await ended(argument, options, output, (jobs, jobId) => jobs.complete(jobId, { result }));
}

/** `holdfast jobs fail`. Returns the exit code. */
export async function failJob(
  argument: string,
  options: InFolder<RequestNaming & { error: string }>,
  output = processOutput(),
): Promise<number> {
  const { error } = options;
  return await ended(argument, options, output, (jobs, jobId) => jobs.fail(jobId, { error }));
}

/** `holdfast jobs cancel`. Returns the exit code. */
export async function cancelJob(
  argument: string,
  options: InFolder<RequestNaming & { reason?: string }>,
  output = processOutput(),
): Promise<number> {
  const given = defined({ reason: options.reason });
  return await ended(argument, options, output, (jobs, jobId) => jobs.cancel(jobId, given));
}

async function ended(
  argument: string,
  options: InFolder<RequestNaming>,
  output: CommandOutput,
  end: (jobs: Jobs, jobId: string) => Promise<JobAnswer>,
): Promise<number> {
  return await connected(connectFolder, options, output, async ({ api: { jobs } }) => {
    const { jobId } = await withProgress(output, 'reading the job', namedJob(argument, options, jobs));
    const answer = await withProgress(output, 'telling the job', end(jobs, jobId));
    if (!options.json) return tellJobAnswer(answer, output);
    output.json(answer);
    return exitCodeOf(answer);
  });
}

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
