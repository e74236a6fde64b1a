import { z } from '@hono/zod-openapi';
import { isLongerThan, LONGEST_ERROR, LONGEST_JOB_MESSAGE } from '../../client/jobs/check-job.ts';
import type { JobAnswer, OwnJob } from '../../client/jobs/jobs.ts';
import type { JobStatus } from '../../protocol/job.ts';
import type { JobRow } from '../../store/jobs/job-store.ts';
import { expected } from '../request-problems.ts';
import { bodyOf, text, wholeNumber } from './fields.ts';

const STATUSES = ['running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;

const moment = z.number().openapi({ description: 'Milliseconds since the epoch.' });
const status = z.enum(STATUSES);

/** Without the bounds that every caller keeps to: what is told is not refused. */
export const PROGRESS = z
  .looseObject({
    value: z.number().optional().openapi({ description: 'From 0 to 1.' }),
    message: z.string().optional(),
    at: moment,
  })
  .openapi('JobProgress');

const OUTCOME = z
  .looseObject({
    response: z.record(z.string(), z.unknown()).openapi({ description: 'What the model is told.' }),
    failed: z.boolean().openapi({ description: 'The response is an error.' }),
  })
  .openapi('JobOutcome');

export const JOB = z
  .looseObject({
    ...{ jobId: z.string(), app: z.string(), userId: z.string(), sessionId: z.string() },
    invocationId: z.string().openapi({ description: 'The turn whose call it is.' }),
    ...{ callKey: z.string(), callId: z.string(), tool: z.string(), agent: z.string() },
    status,
    mode: z.enum(['started', 'parked', 'detached']).openapi({
      description:
        '`started`: its tool runs. `parked`: its call waits for it. `detached`: it goes on without its turn.',
    }),
    since: moment,
    until: z.number().openapi({ description: 'Its deadline.' }),
    heardAt: moment.optional(),
    progress: PROGRESS.optional(),
    intermediate: z.record(z.string(), z.unknown()).optional(),
    outcome: OUTCOME.optional(),
    endedAt: moment.optional(),
    endedBy: z.string().optional(),
    endedByPerson: z.string().optional().openapi({ description: 'Which operator, where that is known.' }),
    reason: z.string().optional(),
  })
  .openapi('Job', { description: 'A job of a long-running call, by now.' }) as unknown as z.ZodType<JobRow>;

const OWN_JOB = z
  .object({ jobId: z.string(), status, progress: PROGRESS.optional(), outcome: OUTCOME.optional() })
  .openapi('OwnJob', {
    description: 'What the service that does a job may know of it.',
  }) as unknown as z.ZodType<OwnJob>;

export const SHOWN_JOB = z.union([JOB, OWN_JOB]);

export const JOB_LIST = z.object({ jobs: z.array(JOB) }).openapi('JobList');

const STATUS_LIST = new RegExp(`^(${STATUSES.join('|')})(,(${STATUSES.join('|')}))*$`);

export const LIST_JOBS_QUERY = z.object({
  app: text('Of this app only.').optional(),
  user: text('Of this user’s sessions only.').optional(),
  session: text('Of this session only.').optional(),
  status: z
    .string({ error: expected('statuses') })
    .regex(STATUS_LIST, { error: expected(`some of ${STATUSES.join(', ')}, separated by commas`) })
    .transform((list) => list.split(',') as JobStatus[])
    .optional()
    .openapi({
      type: 'string',
      pattern: STATUS_LIST.source,
      default: 'running',
      description: `Some of ${STATUSES.join(', ')}, separated by commas.`,
    }),
  limit: wholeNumber('Jobs of a page.', { min: 1, max: 1_000 }).optional().openapi({ default: 100 }),
  order: z
    .enum(['oldest', 'newest'], { error: expected('oldest or newest') })
    .optional()
    .openapi({ default: 'oldest', description: 'Which come first.' }),
  afterTime: wholeNumber('`since` of the last job of the page before.').optional(),
  afterJob: text('`jobId` of the last job of the page before.').optional(),
});

/** JSON Schema counts characters as people do. */
function boundedText(description: string, most: number) {
  return text(description)
    .refine((value) => !isLongerThan(value, most), { error: expected(`at most ${most} characters`) })
    .openapi({ maxLength: most, description });
}

export const COMPLETE_JOB = bodyOf({
  result: z
    .unknown()
    .openapi({ description: 'Any JSON. What is no object counts as `{ result }`.' })
    .refine((value) => value !== undefined, { error: expected('JSON') }),
}).openapi('CompleteJob', { required: ['result'] });

export const FAIL_JOB = bodyOf({
  error: boundedText('Told to the model.', LONGEST_ERROR),
}).openapi('FailJob');

const fraction = expected('a number from 0 to 1');

export const PROGRESS_JOB = bodyOf({
  value: z
    .number({ error: fraction })
    .min(0, { error: fraction })
    .max(1, { error: fraction })
    .optional()
    .openapi({ description: 'How far it has got.' }),
  message: boundedText('For people.', LONGEST_JOB_MESSAGE).optional(),
}).openapi('ProgressJob');

export const CANCEL_JOB = bodyOf({
  reason: boundedText('Recorded, and told to the model.', LONGEST_JOB_MESSAGE).optional(),
}).openapi('CancelJob');

export const JOB_ANSWER = z
  .looseObject({
    v: z.int(),
    jobId: z.string(),
    callKey: z.string(),
    status: z.enum(['ended', 'updated', 'duplicate', 'known', 'kept', 'forwarded', 'refused']).openapi({
      description:
        '`ended`, `updated`: by this. `duplicate`: the same was said before. `known`: it had ended otherwise, and `outcome` is what counts.',
    }),
    job: status.openapi({ description: 'How the job stands by now.' }),
    reason: z.string().optional(),
    outcome: OUTCOME.optional(),
  })
  .openapi('JobAnswer') as unknown as z.ZodType<JobAnswer>;
