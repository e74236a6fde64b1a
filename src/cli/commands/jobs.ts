import { type Command, Option } from 'commander';
import { cancelJob, completeJob, failJob, listJobs } from '../../contract/jobs.ts';
import { JOB_STATUSES } from '../../contract/lists.ts';
import { fieldOption } from '../field-option.ts';
import { addForm } from '../form-command.ts';
import type { ListJobsOptions } from '../jobs/list-jobs.ts';
import type { ShowJobOptions } from '../jobs/show-job.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

const ENDS = {
  found: ['jobId'],
  json: 'one JSON value: { jobId, callKey, status, job, outcome, … }',
} as const;
const CANCEL = {
  ...ENDS,
  operation: cancelJob,
  description: 'end a job that nobody wants any more, and tell its tool',
} as const;
export const COMPLETE = {
  ...ENDS,
  operation: completeJob,
  description: 'end a job with its result, as its service would',
} as const;
const FAIL = {
  ...ENDS,
  operation: failJob,
  description: 'end a job with an error, as its service would',
} as const;

export const jobs: AddToGroup = (group, exit) => {
  naming(group.command('list').description('jobs that go on, the oldest first'))
    .addOption(
      new Option('--status <status>', 'those that stand so')
        .choices([...JOB_STATUSES, 'all'])
        .default('running'),
    )
    .addOption(fieldOption(listJobs, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { jobs }')
    .action(async (options: InFolder<ListJobsOptions>) => {
      const commands = await import('../jobs/list-jobs.ts');
      await commands.listJobs({ ...options, env: process.env });
    });

  job(group.command('show').description('how a job stands, what came of it, and what to type next'))
    .option('--json', 'one JSON value: the job')
    .action(async (argument: string, options: InFolder<ShowJobOptions>) => {
      const { showJob } = await import('../jobs/show-job.ts');
      await showJob(argument, { ...options, env: process.env });
    });

  const ended = async () => (await import('../jobs/end-job.ts')).ended;
  addForm(job(group.command('cancel')), exit, CANCEL, ended);
  addForm(job(group.command('complete')), exit, COMPLETE, ended);
  addForm(job(group.command('fail')), exit, FAIL, ended);
};

function naming(command: Command): Command {
  return command
    .addOption(fieldOption(listJobs, 'app', '--app <name>'))
    .addOption(fieldOption(listJobs, 'userId', '--user <id>'))
    .addOption(fieldOption(listJobs, 'sessionId', '--session <id>'))
    .option(...FOLDER_OPTION);
}

function job(command: Command): Command {
  return naming(command.argument('<job>', "the job's id, or the id or key of its call"));
}
