import { readFileSync } from 'node:fs';
import type { Jobs } from '../../client/jobs/jobs.ts';
import { completeJob as completed, type JobAnswer } from '../../contract/jobs.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { jsonField } from '../field-option.ts';
import { cutJson } from '../sessions/shown-values.ts';
import { statusWords } from './job-text.ts';
import { type JobNaming, namedJob } from './named-job.ts';

interface JobCommandOptions extends JobNaming {
  json?: boolean;
}

export interface CompleteJobOptions extends JobCommandOptions {
  /** JSON, or `-` for standard input. */
  result: string;
}

export interface FailJobOptions extends JobCommandOptions {
  error: string;
}

export interface CancelJobOptions extends JobCommandOptions {
  reason?: string;
}

type Placed<Options> = Options & Pick<ConnectOptions, 'folder' | 'env'>;

const LONGEST_OUTCOME = 400;
const STANDARD_INPUT = 0;

/** `holdfast jobs complete`. Returns the exit code. */
export async function completeJob(
  argument: string,
  options: Placed<CompleteJobOptions>,
  output: CommandOutput = processOutput(),
  piped: () => string = () => readFileSync(STANDARD_INPUT, 'utf8'),
): Promise<number> {
  const isPiped = options.result === '-';
  const result = jsonField(
    completed,
    'result',
    isPiped ? 'standard input (--result -)' : '--result',
    isPiped ? piped() : options.result,
  );
  return await ended(argument, options, output, (jobs, jobId) => jobs.complete(jobId, { result }));
}

/** `holdfast jobs fail`. Returns the exit code. */
export async function failJob(
  argument: string,
  options: Placed<FailJobOptions>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const { error } = options;
  return await ended(argument, options, output, (jobs, jobId) => jobs.fail(jobId, { error }));
}

/** `holdfast jobs cancel`. Returns the exit code. */
export async function cancelJob(
  argument: string,
  options: Placed<CancelJobOptions>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const given = defined({ reason: options.reason });
  return await ended(argument, options, output, (jobs, jobId) => jobs.cancel(jobId, given));
}

async function ended(
  argument: string,
  options: Placed<JobCommandOptions>,
  output: CommandOutput,
  end: (jobs: Jobs, jobId: string) => Promise<JobAnswer>,
): Promise<number> {
  const { folder, env } = options;
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { jobs } = connected.api;
    const { jobId } = await withProgress(output, 'reading the job', namedJob(argument, options, jobs));
    const answer = await withProgress(output, 'telling the job', end(jobs, jobId));
    if (!options.json) return tellJobAnswer(answer, output);
    output.json(answer);
    return exitCodeOf(answer);
  } finally {
    await connected.close();
  }
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
