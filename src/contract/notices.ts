import { z } from 'zod';
import { idName, moment, name, PAGE, time, version, WHOSE, WHOSE_WORK } from './fields.ts';
import { NOTICE_CAUSES } from './lists.ts';
import type { Contract, Exact } from './operation.ts';

const DEAD_NOTICE = z.object({
  noticeId: z.string().meta({ description: 'That of the workflow that has tried.' }),
  ...{ notifier: z.string(), app: z.string(), requestId: z.string(), why: z.enum(NOTICE_CAUSES) },
  error: z.string().meta({ description: 'The last error; no secrets.' }),
  attempts: z.int(),
  taskQueue: z.string().meta({ description: 'Of the workers that have its notifier.' }),
  diedAt: moment(),
});

const SHOWN_NOTICE = DEAD_NOTICE.extend({
  notice: z.string().meta({ description: 'The end of its id, which names it.' }),
});

const { app } = WHOSE;
const notice = name('As the list calls it, or the end of its id.');

export const listNotices = {
  name: 'notices.list',
  summary: 'List the notices that were given up, the oldest first',
  input: z.object({
    ...{ app, limit: PAGE.limit },
    after: name(
      'Those after this place, with which the page before has ended, or after a notice.',
    ).optional(),
  }),
  output: z.object({ notices: z.array(SHOWN_NOTICE), next: z.string().optional() }),
} as const satisfies Contract;

export const resendNotice = {
  name: 'notices.resend',
  summary: 'Have a worker tell a notice again',
  input: z.object({ notice }),
  output: SHOWN_NOTICE,
} as const satisfies Contract;

export const resendNotices = {
  name: 'notices.resendAll',
  summary: 'Have a worker tell each notice again that was given up',
  input: z.object({ app }),
  output: z.object({ notices: z.array(SHOWN_NOTICE) }),
} as const satisfies Contract;

export const dropNotice = {
  name: 'notices.drop',
  summary: 'Forget a notice',
  input: z.object({ notice }),
  output: SHOWN_NOTICE,
} as const satisfies Contract;

/** Requests of one notice, at most: a model's answer has at most 128 calls, each of which may ask several times. */
const MOST_REQUESTS = 1_000;

/** Input of the activity `holdfast.notify`. */
export const NOTICE = z.object({
  v: version(),
  ...WHOSE_WORK,
  session: idName(),
  workflowId: idName('The workflow that waits.'),
  why: z.enum(NOTICE_CAUSES),
  requestIds: z.array(idName()).max(MOST_REQUESTS),
  since: time('When the notice was first due. Defaults to now.').optional(),
});

/** Start arguments of the workflow `deliverNotice`. */
export const NOTICE_START = NOTICE.extend({
  notifier: idName().optional(),
  since: time('When the notice was first due.'),
  failedAt: time('When its notifier has failed first.').optional(),
  retryFor: z.number().min(0).meta({ 'x-expected': 'milliseconds' }),
});

/** A notice of a single notifier, which is about one request: by that it is told, and given up, alone. */
export const DELIVERED_NOTICE = NOTICE_START.extend({
  notifier: idName(),
  requestIds: NOTICE.shape.requestIds.length(1),
});

/** A notice that was given up, as it is shown: without the data of its request. */
export type ShownNotice = Exact<z.output<typeof SHOWN_NOTICE>>;
/** A notice that was given up, with the fields for another attempt. */
export type DeadLetter = Exact<z.output<typeof DEAD_NOTICE>>;
/** Why people are told of a request. */
export type NoticeCause = (typeof NOTICE_CAUSES)[number];
