import { type Command, Option } from 'commander';
import { cancelJob, completeJob, failJob, listJobs } from '../../contract/jobs.ts';
import { JOB_STATUSES } from '../../contract/lists.ts';
import { fieldOption } from '../field-option.ts';
import type { AddCommand } from './command.ts';
import { narrowed } from './naming.ts';

const ANSWER = 'one JSON value: { jobId, callKey, status, job, outcome, … }';

export const jobs: AddCommand = (group, act) => {
  narrowed(group.command('list').description('jobs that go on, the oldest first'))
    .addOption(
      new Option('--status <status>', 'those that stand so')
        .choices([...JOB_STATUSES, 'all'])
        .default('running'),
    )
    .addOption(fieldOption(listJobs, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { jobs }')
    .action(act(async () => (await import('../jobs/job-commands.ts')).listJobs));

  job(group.command('show').description('how a job stands, what came of it, and what to type next'))
    .option('--json', 'one JSON value: the job')
    .action(act(async () => (await import('../jobs/job-commands.ts')).showJob));

  job(group.command('cancel').description('end a job that nobody wants any more, and tell its tool'))
    .addOption(fieldOption(cancelJob, 'reason', '--reason <text>'))
    .option('--json', ANSWER)
    .action(act(async () => (await import('../jobs/end-job.ts')).cancelJob));

  job(group.command('complete').description('end a job with its result, as its service would'))
    .addOption(
      fieldOption(completeJob, 'result', '--result <JSON>', {
        help: '- reads it from standard input',
      }).makeOptionMandatory(),
    )
    .option('--json', ANSWER)
    .action(act(async () => (await import('../jobs/end-job.ts')).completeJob));

  job(group.command('fail').description('end a job with an error, as its service would'))
    .addOption(fieldOption(failJob, 'error', '--error <text>').makeOptionMandatory())
    .option('--json', ANSWER)
    .action(act(async () => (await import('../jobs/end-job.ts')).failJob));
};

function job(command: Command): Command {
  return narrowed(command.argument('<job>', "the job's id, or the id or key of its call"));
}
