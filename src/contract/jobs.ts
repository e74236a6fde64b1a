import { z } from 'zod';
import {
  duration,
  idName,
  jsonObject,
  moment,
  PAGE,
  timeLeft,
  version,
  WHOSE,
  WHOSE_ON_THE_WIRE,
  WHOSE_WORK,
} from './fields.ts';
import { DEFAULT_JOB_STATUS, JOB_ENDERS, JOB_MODES, JOB_STATUSES } from './lists.ts';
import type { Exact, InputOf, Noun, Operation, OperationsOf } from './operation.ts';

/** JSON bytes of a job's result, at most. */
export const MOST_RESULT_BYTES = 10 * 1024 * 1024;
/** Characters of a job's error, at most. */
export const LONGEST_ERROR = 2_000;
/** Characters of a job's progress text, or of the reason for its cancellation, at most. */
export const LONGEST_NOTE = 500;

const status = z.enum(JOB_STATUSES);

export const jobId = z
  .string()
  .regex(/^job-[A-Za-z0-9_-]{22}$/u)
  .meta({
    description: 'The job, `job-…`. URI-encoded.',
    'x-expected': 'job-… as context.job.id has it, or as jobs.list shows it',
  });

/** Of planned calls; a large or sensitive value stays in the ledger. */
const CARRIED_ARGS = z.union([
  z.object({ value: z.record(z.string(), z.unknown()) }),
  z.object({
    ref: z.object({ key: z.string(), digest: z.string(), bytes: z.int(), gist: z.string() }),
  }),
]);

const fraction = z.number().min(0).max(1).meta({ description: 'How far it has got, from 0 to 1.' });
const note = (description: string) => z.string().max(LONGEST_NOTE).meta({ description });

/** Without the bounds for callers: stored values are not refused. */
export const PROGRESS = z
  .looseObject({
    value: z.number().optional().meta({ description: 'From 0 to 1.' }),
    message: z.string().optional().meta({ description: 'For people.' }),
    at: moment(),
  })
  .meta({ id: 'JobProgress' });

const OUTCOME = z
  .looseObject({
    response: jsonObject('Content for the model.'),
    failed: z.boolean().meta({ description: 'The response is an error.' }),
  })
  .meta({ id: 'JobOutcome' });

const COUNT = z.int().min(0);

const JOB = z
  .looseObject({
    ...{ jobId: z.string(), app: z.string(), userId: z.string(), sessionId: z.string() },
    session: z.string().meta({ description: 'The store’s id of the session.' }),
    invocationId: z.string().meta({ description: 'The turn whose call it is.' }),
    runKey: z.string().meta({ description: 'The run of the agent whose call it is.' }),
    ...{ callKey: z.string(), callId: z.string(), tool: z.string(), agent: z.string() },
    args: CARRIED_ARGS.optional().meta({
      description:
        'Arguments of its call, of a job that is read by its id: `value`, or `ref` where they are sensitive or large.',
    }),
    address: z
      .looseObject({ workflowId: z.string(), runId: z.string(), activityId: z.string() })
      .optional()
      .meta({
        description: 'The activity in Temporal that waits for it; absent until its call has begun it.',
      }),
    status,
    mode: z.enum(JOB_MODES).meta({
      description:
        '`started`: its tool runs. `parked`: its call waits for it. `detached`: it goes on without its turn.',
    }),
    since: moment(),
    until: moment('Its deadline.'),
    heardAt: moment('Its last sign of life.').optional(),
    progress: PROGRESS.optional(),
    intermediate: jsonObject(
      'The first result of its tool, or the newest update. Lists leave out one over 4 KiB.',
    ).optional(),
    outcome: OUTCOME.optional().meta({ description: 'Lists leave out one over 4 KiB.' }),
    endedAt: moment().optional(),
    endedBy: z.enum(JOB_ENDERS).optional().meta({
      description: 'The party that has ended it. `turn`: its call was cut off, alone or with its turn.',
    }),
    endedByPerson: z.string().optional().meta({ description: 'Which operator, where that is known.' }),
    reason: z.string().optional().meta({ description: 'Why it was ended.' }),
    deliveredSeq: z
      .int()
      .optional()
      .meta({ description: 'Of a detached job: `seq` of the event that told its session of the outcome.' }),
    polls: z
      .looseObject({
        notYet: COUNT.meta({ description: 'Polls that found no outcome.' }),
        failed: COUNT.meta({ description: 'Polls that failed.' }),
        failedInARow: COUNT.meta({ description: 'Of them the last ones without another poll between.' }),
        lastError: z.string().optional(),
        lastAt: moment().optional(),
      })
      .meta({ description: 'How often its tool was asked for an outcome.' }),
  })
  .meta({ id: 'Job', description: 'A job of a long-running call, by now.' });

const OWN_JOB = z
  .object({ jobId: z.string(), status, progress: PROGRESS.optional(), outcome: OUTCOME.optional() })
  .meta({ id: 'OwnJob', description: 'The view of a job for the service that does it.' });

const ANSWERED = {
  v: z.int(),
  ...{ jobId: z.string(), callKey: z.string() },
  job: status.meta({ description: 'How the job stands by now.' }),
  reason: z.string().optional().meta({ description: 'Why it is `known` or `refused`.' }),
};

/** `refused` is for updates only, which the gateway answers with 409. */
const JOB_ANSWER = z
  .looseObject({
    ...ANSWERED,
    status: z.enum(['ended', 'updated', 'duplicate', 'known', 'refused']).meta({
      description:
        '`ended`, `updated`: by this call. `duplicate`: an earlier call had the same effect. `known`: the job had ended otherwise, and `outcome` counts.',
    }),
    outcome: OUTCOME.optional(),
  })
  .meta({ id: 'JobAnswer' });

/** The outcome of a message's response to a call that waits for its job. */
export const JOB_RECEIPT = z.looseObject({
  ...ANSWERED,
  jobId: z.string().meta({ description: 'Empty where it was forwarded.' }),
  status: z.enum(['ended', 'updated', 'duplicate', 'known', 'kept', 'forwarded', 'refused']).meta({
    description:
      '`ended`, `updated`: by this. `duplicate`: the same was said before. `known`: it had ended otherwise. `kept`: its call has not begun it, and is told once it has. `forwarded`: it was sent on to the agent whose call it is. `refused`: see `reason`.',
  }),
  workflowId: z.string().optional().meta({ description: 'Workflow of the agent that it was forwarded to.' }),
});

/** Reporters of a job's end: an operator, or the service that does it, by the job's own token. */
const BY_TOKEN = {
  token: z.string().optional().meta({
    description: '`context.job.token`. Without one the caller speaks as an operator.',
    'x-expected': 'context.job.token',
  }),
};
const BY_PERSON = {
  person: z
    .string()
    .optional()
    .meta({ description: 'Name of the operator, for `endedByPerson` of the job.' }),
};

const ENDS = {
  tag: 'Jobs',
  method: 'post',
  output: JOB_ANSWER,
  answer: 'The outcome that counts.',
  errors: ['HOLDFAST_JOB_NOT_FOUND', 'HOLDFAST_JOB_TOKEN_REFUSED', 'HOLDFAST_INVALID_JOB'],
  invalid: 'HOLDFAST_INVALID_JOB',
  // The first outcome counts.
  repeats: true,
} as const;

export const listJobs = {
  name: 'jobs.list',
  id: 'listJobs',
  tag: 'Jobs',
  summary: 'List jobs',
  description:
    'The oldest first unless `order` says otherwise; those that go on unless `status` says otherwise.',
  method: 'get',
  path: '/v1/jobs',
  may: { permission: 'read', of: 'query' },
  input: z.object({
    ...WHOSE,
    status: z
      .array(status)
      .optional()
      .meta({
        description: `Some of ${JOB_STATUSES.join(', ')}, separated by commas.`,
        default: DEFAULT_JOB_STATUS,
        'x-expected': `a list of ${JOB_STATUSES.join(', ')}`,
      }),
    ...PAGE,
    after: z
      .object({
        since: z.int().min(0).meta({ description: '`since` of the last job of the page before.' }),
        jobId: idName('`jobId` of the last job of the page before.'),
      })
      .optional(),
  }),
  wire: { ...WHOSE_ON_THE_WIRE, 'after.since': 'afterTime', 'after.jobId': 'afterJob' },
  output: z.object({ jobs: z.array(JOB) }).meta({ id: 'JobList' }),
  answer: 'A page of them.',
} as const satisfies Operation;

export const getJob = {
  name: 'jobs.get',
  id: 'getJob',
  tag: 'Jobs',
  summary: 'Show a job',
  description: 'With the job’s own token: its status, progress and outcome.',
  method: 'get',
  path: '/v1/jobs/{jobId}',
  may: { permission: 'read', of: 'job', own: true },
  input: z.object({ jobId }),
  caller: z.object(BY_TOKEN),
  output: z.union([JOB, OWN_JOB]),
  answer: 'The job, by now.',
  invalid: 'HOLDFAST_INVALID_JOB',
  absent: 'HOLDFAST_JOB_NOT_FOUND',
} as const satisfies Operation;

export const completeJob = {
  ...ENDS,
  name: 'jobs.complete',
  id: 'completeJob',
  summary: 'End a job with its result',
  description: 'The first outcome counts. A later or repeated call gets that outcome, with 200.',
  path: '/v1/jobs/{jobId}/complete',
  may: { permission: 'operate', of: 'job', own: true },
  mostBytes: MOST_RESULT_BYTES,
  input: z.object({
    jobId,
    result: z.unknown().meta({
      description: 'Any JSON. A value that is no object counts as `{ result }`.',
      'x-expected': 'JSON; null is a value, too',
      'x-max-bytes': MOST_RESULT_BYTES,
      'x-instead': 'keep it elsewhere, and send where it is',
      'x-flat': true,
      'x-json': true,
    }),
  }),
  caller: z.object({ ...BY_TOKEN, ...BY_PERSON }),
} as const satisfies Operation;

export const failJob = {
  ...ENDS,
  name: 'jobs.fail',
  id: 'failJob',
  summary: 'End a job with an error',
  description: 'As `complete`.',
  path: '/v1/jobs/{jobId}/fail',
  may: { permission: 'operate', of: 'job', own: true },
  mostBytes: MOST_RESULT_BYTES,
  input: z.object({
    jobId,
    error: z.string().max(LONGEST_ERROR).regex(/\S/u).meta({
      description: 'Reason of the failure, for the model.',
      'x-expected': 'text that tells the model what went wrong',
    }),
  }),
  caller: z.object({ ...BY_TOKEN, ...BY_PERSON }),
} as const satisfies Operation;

export const progressJob = {
  ...ENDS,
  name: 'jobs.progress',
  id: 'progressJob',
  summary: 'Tell how far a job has got',
  description: 'Or, with neither, that it goes on. After its end this is a 409 with the outcome.',
  path: '/v1/jobs/{jobId}/progress',
  may: { permission: 'operate', of: 'job', own: true },
  mostBytes: MOST_RESULT_BYTES,
  input: z.object({ jobId, value: fraction.optional(), message: note('For people.').optional() }),
  caller: z.object(BY_TOKEN),
  answer: 'It was noted.',
  errors: [...ENDS.errors, 'HOLDFAST_JOB_ENDED'],
  refused: { error: 'HOLDFAST_JOB_ENDED', field: 'job' },
} as const satisfies Operation;

export const cancelJob = {
  ...ENDS,
  name: 'jobs.cancel',
  id: 'cancelJob',
  summary: 'Cancel a job',
  description: 'Its tool is told by a worker. Not with the job’s own token.',
  path: '/v1/jobs/{jobId}/cancel',
  may: { permission: 'operate', of: 'job' },
  input: z.object({ jobId, reason: note('Recorded, and told to the model.').optional() }),
  caller: z.object(BY_PERSON),
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const JOBS = {
  list: listJobs,
  get: getJob,
  complete: completeJob,
  fail: failJob,
  progress: progressJob,
  cancel: cancelJob,
} as const satisfies Noun;
export type JobOperation = OperationsOf<typeof JOBS>;

/** Payload of the signal `holdfast.progress`: the input of `jobs.progress`, for the workflow that waits. */
export const JOB_PROGRESSED = z.object({
  v: version(),
  jobId: idName('The job.'),
  progress: z.object({
    value: fraction.optional(),
    message: note('For people.').optional(),
    at: moment(),
  }),
});

/** Payload of the update `expireJob`, which test environments have: nothing means the only job. */
export const JOB_NAME = z.object({
  jobId: idName('The job.').optional(),
  callKey: idName('Key of its call.').optional(),
  callId: idName('The wire’s id of its call.').optional(),
});

/** Start arguments of the workflow `toolJob`, as far as they are looked at. */
export const TOOL_JOB_START = z
  .looseObject({
    v: version(),
    ...{ ...WHOSE_WORK, session: idName(), turnWorkflowId: idName() },
    ...{ agent: idName(), runKey: idName(), invocationId: idName(), callKey: idName(), tool: idName() },
    callId: z.string(),
    args: z.looseObject({}).meta({ 'x-expected': '{ value } or { ref }' }),
    job: z.looseObject({
      jobId: idName(),
      timeLeft: timeLeft(),
      look: z.looseObject({ startToClose: duration(), heartbeat: duration().optional() }),
    }),
    schedule: z.looseObject({ startToClose: duration(), scheduleToClose: duration(), heartbeat: duration() }),
    priority: z.int().min(1).max(5).optional(),
  })
  .meta({ 'x-flat': true });

export type JobStatus = (typeof JOB_STATUSES)[number];
export type JobMode = (typeof JOB_MODES)[number];
export type JobEnder = (typeof JOB_ENDERS)[number];
/** A job by now. */
export type JobRow = Exact<z.output<typeof JOB>>;
export type JobOutcome = Exact<z.output<typeof OUTCOME>>;
/** The receipt of a message about a job. */
export type JobReceipt = Exact<z.output<typeof JOB_RECEIPT>>;
/** How far a job has got, as it says itself. */
export type JobProgress = JobProgressed['progress'];
/** Names a job of a turn; no name at all fits the only one. */
export type JobName = Exact<z.output<typeof JOB_NAME>>;
export type JobProgressed = Exact<z.output<typeof JOB_PROGRESSED>>;
/** The receipt of an order about a job, and the job by now: a late caller learns the outcome that counts. */
export type JobAnswer = Exact<z.output<typeof JOB_ANSWER>>;
/** A job as the service sees that does it. */
export type OwnJob = Exact<z.output<typeof OWN_JOB>>;
export type ListJobs = Partial<InputOf<typeof listJobs>>;
export type JobSpeaker = Exact<z.output<typeof getJob.caller>>;
export type JobOperator = Exact<z.output<typeof cancelJob.caller>>;
export type CompleteJob = Omit<InputOf<typeof completeJob>, 'jobId'> & JobSpeaker & JobOperator;
export type FailJob = Omit<InputOf<typeof failJob>, 'jobId'> & JobSpeaker & JobOperator;
export type ProgressJob = Omit<InputOf<typeof progressJob>, 'jobId'> & JobSpeaker;
export type CancelJob = Omit<InputOf<typeof cancelJob>, 'jobId'> & JobOperator;
