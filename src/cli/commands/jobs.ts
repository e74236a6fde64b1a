import { type Command, Option } from 'commander';
import { JOB_STATUSES } from '../../contract/lists.ts';
import type { CancelJobOptions, CompleteJobOptions, FailJobOptions } from '../jobs/end-job.ts';
import type { ListJobsOptions } from '../jobs/list-jobs.ts';
import type { ShowJobOptions } from '../jobs/show-job.ts';
import { type AddCommand, FOLDER_OPTION, LIMIT_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

const ANSWER = 'one JSON value: { jobId, callKey, status, job, outcome, … }';
export const jobs: AddCommand = (holdfast, exit) => {
  const group = holdfast.command('jobs').description('list, show and end the jobs of long-running tools');

  naming(group.command('list').description('jobs that go on, the oldest first'))
    .addOption(
      new Option('--status <status>', 'those that stand so')
        .choices([...JOB_STATUSES, 'all'])
        .default('running'),
    )
    .option(...LIMIT_OPTION)
    .option('--json', 'one JSON value: { jobs }')
    .action(async (options: InFolder<ListJobsOptions>) => {
      const { listJobs } = await import('../jobs/list-jobs.ts');
      await listJobs({ ...options, env: process.env });
    });

  job(group.command('show').description('how a job stands, what came of it, and what to type next'))
    .option('--json', 'one JSON value: the job')
    .action(async (argument: string, options: InFolder<ShowJobOptions>) => {
      const { showJob } = await import('../jobs/show-job.ts');
      await showJob(argument, { ...options, env: process.env });
    });

  job(group.command('cancel').description('end a job that nobody wants any more, and tell its tool'))
    .option('--reason <text>', 'why; the model is told')
    .option('--json', ANSWER)
    .action(async (argument: string, options: InFolder<CancelJobOptions>) => {
      const { cancelJob } = await import('../jobs/end-job.ts');
      exit(await cancelJob(argument, { ...options, env: process.env }));
    });

  job(group.command('complete').description('end a job with its result, as its service would'))
    .requiredOption('--result <JSON>', "the tool's result, or - to read it from standard input")
    .option('--json', ANSWER)
    .action(async (argument: string, options: InFolder<CompleteJobOptions>) => {
      const { completeJob } = await import('../jobs/end-job.ts');
      exit(await completeJob(argument, { ...options, env: process.env }));
    });

  job(group.command('fail').description('end a job with an error, as its service would'))
    .requiredOption('--error <text>', 'what went wrong; the model is told')
    .option('--json', ANSWER)
    .action(async (argument: string, options: InFolder<FailJobOptions>) => {
      const { failJob } = await import('../jobs/end-job.ts');
      exit(await failJob(argument, { ...options, env: process.env }));
    });
};

function naming(command: Command): Command {
  return command
    .option('--app <name>', 'of this app (default: of all)')
    .option('--user <id>', 'of this user (default: of all)')
    .option('--session <id>', 'of this session (default: of all)')
    .option(...FOLDER_OPTION);
}

function job(command: Command): Command {
  return naming(command.argument('<job>', "the job's id, or the id or key of its call"));
}
