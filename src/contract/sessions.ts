import { z } from 'zod';
import { STORED_EVENT } from './events.ts';
import {
  APP,
  idName,
  jsonObject,
  moment,
  name,
  newName,
  PAGE,
  SESSION,
  SESSION_PATH,
  time,
  USER,
  USER_PATH,
  version,
  WHOSE_ON_THE_WIRE,
  WHOSE_WORK,
} from './fields.ts';
import { TURN } from './messages.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';

/** How long the gateway waits for the end of a cancelled turn, milliseconds, at most. */
export const LONGEST_END = 90_000;

export const USAGE = z
  .looseObject({
    modelCalls: z.int().meta({
      description:
        'Model calls with an answer, and those of unknown outcome; calls that a provider refused are not counted.',
    }),
    promptTokens: z.int(),
    outputTokens: z.int(),
    totalTokens: z.int(),
    cost: z.number().optional().meta({
      description: 'In the unit of the app’s price table; absent where no call had a price.',
    }),
    unknownCalls: z.int().optional().meta({
      description:
        'Model calls whose worker was lost before it could tell the outcome: with any, tokens and cost are "at least". Absent if there are none.',
    }),
  })
  .meta({ id: 'Usage' });

const SUMMARY = {
  app: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  session: z
    .string()
    .meta({ description: 'The store’s id of the session; another one where it was made again.' }),
  seq: z
    .int()
    .meta({ description: 'Last seq of its events, those of the session that it was forked from included.' }),
  lastAgent: z.string().optional().meta({ description: 'The agent that acted last.' }),
  createdAt: moment(),
  updatedAt: moment(),
  usage: USAGE,
  forkedFrom: z
    .object({ sessionId: z.string(), seq: z.int() })
    .optional()
    .meta({ description: 'Where it was forked from: the last `seq` that it has from there.' }),
};

const READ_SESSION = z
  .looseObject({
    ...SUMMARY,
    state: jsonObject('State of session, app and user; keys carry the prefixes `app:` and `user:`.'),
    events: z.array(STORED_EVENT).meta({
      description: 'In order of seq; those that a rewind hides, and the rewinds’ own, included.',
    }),
  })
  .meta({ id: 'Session' });

const SESSION_LIST = z
  .object({
    sessions: z.array(z.looseObject(SUMMARY).meta({ id: 'SessionSummary' })),
    next: z.string().optional().meta({ description: 'Goes on `after` it; absent on the last page.' }),
    totalItems: z
      .int()
      .optional()
      .meta({ description: 'The sessions of all pages, if `withTotal` asks for it.' }),
  })
  .meta({ id: 'SessionList' });

const DELETED = z
  .object({
    sessions: z
      .array(z.object({ app: z.string(), userId: z.string(), sessionId: z.string() }))
      .meta({ description: 'Deleted sessions, forks included; empty when there was no session.' }),
    runs: z.int().meta({ description: 'Runs whose histories Temporal was asked to delete.' }),
  })
  .meta({ id: 'DeletedSessions' });

/** A place in a list of sessions: microseconds since the epoch, and the id of the session before it. */
export const SESSION_PLACE = /^\d{1,16}\/[\w-]{1,64}$/;

const LISTED = {
  limit: PAGE.limit,
  after: z.string().regex(SESSION_PLACE).optional().meta({
    description: 'The page begins after this place, which is the `next` of the page before.',
    'x-expected': 'the `next` of another page',
  }),
  offset: z.int().min(0).optional().meta({
    description: 'Sessions to leave out, each of which is read: `after` goes on where there are many.',
    default: 0,
  }),
  order: z.enum(['asc', 'desc']).optional().meta({
    description: 'By the time when they were made, a turn began or ended, or an event or a rewind came.',
    default: 'desc',
  }),
  withTotal: z
    .boolean()
    .optional()
    .meta({ description: 'Counts those of all pages, each of which is read.', default: false }),
};

const LISTS = {
  name: 'sessions.list',
  tag: 'Sessions',
  method: 'get',
  output: SESSION_LIST,
  answer: 'A page of them.',
} as const;

const STEERS = { tag: 'Steering', method: 'post', wire: WHOSE_ON_THE_WIRE } as const;

export const createSession = {
  name: 'sessions.create',
  id: 'createSession',
  tag: 'Sessions',
  summary: 'Make a session',
  description: 'A message to a session that isn’t there makes it, too.',
  method: 'post',
  path: `${USER_PATH}/sessions`,
  may: { permission: 'run', of: 'path' },
  // As many as the gateway takes.
  mostBytes: Number.POSITIVE_INFINITY,
  input: z.object({
    ...USER,
    sessionId: newName('Defaults to a random one.').optional(),
    state: jsonObject('First state; prefixes `app:` and `user:` write the shared one.').optional(),
  }),
  wire: { userId: 'user' },
  output: READ_SESSION,
  answer: 'The session.',
  status: 201,
  errors: ['HOLDFAST_SESSION_EXISTS'],
} as const satisfies Operation;

export const getSession = {
  name: 'sessions.get',
  id: 'getSession',
  tag: 'Sessions',
  summary: 'Read a session',
  method: 'get',
  path: SESSION_PATH,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...SESSION,
    numRecentEvents: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'Number of latest events; 0 for no events. Defaults to all.' }),
    after: z.int().min(0).optional().meta({ description: 'Events after this seq.' }),
    afterTimestamp: time('Events at or after this time.').optional(),
  }),
  wire: WHOSE_ON_THE_WIRE,
  absent: 'HOLDFAST_SESSION_NOT_FOUND',
  output: READ_SESSION,
  answer: 'The session, with its state and events.',
} as const satisfies Operation;

export const listUserSessions = {
  ...LISTS,
  id: 'listUserSessions',
  summary: 'List a user’s sessions',
  path: `${USER_PATH}/sessions`,
  may: { permission: 'read', of: 'path' },
  input: z.object({ ...USER, ...LISTED }),
  wire: WHOSE_ON_THE_WIRE,
} as const satisfies Operation;

export const listAppSessions = {
  ...LISTS,
  id: 'listAppSessions',
  summary: 'List an app’s sessions, of all users',
  path: '/v1/apps/{app}/sessions',
  may: { permission: 'read', of: 'path' },
  input: z.object({ ...APP, ...LISTED }),
} as const satisfies Operation;

/** Of one user, or of all. */
export function listOfSessions({ userId }: ListSessions) {
  return userId === undefined ? listAppSessions : listUserSessions;
}

/** How long the end of a cancelled turn is waited for, where nobody gives another time, milliseconds. */
export const CANCEL_TIMEOUT = 30_000;

export const deleteSession = {
  name: 'sessions.delete',
  id: 'deleteSession',
  tag: 'Sessions',
  summary: 'Delete a session',
  description:
    'Its content in the store and the histories of its runs. Refused while a turn runs. Deleting again is no error.',
  method: 'delete',
  path: SESSION_PATH,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    cancelRunning: z
      .boolean()
      .optional()
      .meta({ description: 'Cancels a turn that runs, and waits for its end.', default: false }),
    withForks: z
      .boolean()
      .optional()
      .meta({ description: 'Deletes the sessions that were forked from it, too.', default: false }),
    idleSince: time('Deletes nothing that was written to at this time or later.').optional(),
    timeout: z.int().min(0).max(LONGEST_END).optional().meta({
      description: 'Milliseconds to wait for the end of a cancelled turn, at most.',
      default: CANCEL_TIMEOUT,
    }),
  }),
  wire: WHOSE_ON_THE_WIRE,
  output: DELETED,
  answer: 'The deleted sessions and histories.',
  errors: ['HOLDFAST_TURN_RUNNING', 'HOLDFAST_SESSION_HAS_FORKS'],
} as const satisfies Operation;

export const forkSession = {
  ...STEERS,
  name: 'sessions.fork',
  id: 'forkSession',
  summary: 'Fork a session',
  description: 'A session that begins with the events of another, up to a seq. Works while a turn runs.',
  path: `${SESSION_PATH}/fork`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    at: z
      .int()
      .min(0)
      .optional()
      .meta({ description: 'Last seq that the fork has. Defaults to the last one.' }),
    to: newName('Id of the fork. Defaults to a random one.').optional(),
  }),
  output: READ_SESSION,
  answer: 'The fork.',
  status: 201,
  errors: ['HOLDFAST_SESSION_EXISTS'],
} as const satisfies Operation;

export const rewindSession = {
  ...STEERS,
  name: 'sessions.rewind',
  id: 'rewindSession',
  summary: 'Rewind a session',
  description:
    'Hides a turn and all later events, and restores the state before it. Refused while a turn runs.',
  path: `${SESSION_PATH}/rewind`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    beforeInvocationId: name(
      'The first hidden turn. All later events are hidden too, and the state before it is restored.',
    ),
  }),
  output: STORED_EVENT,
  answer: 'The marker event.',
  errors: ['HOLDFAST_TURN_RUNNING'],
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const SESSIONS = {
  create: createSession,
  list: [listUserSessions, listAppSessions],
  get: getSession,
  delete: deleteSession,
  fork: forkSession,
  rewind: rewindSession,
} as const satisfies Noun;

export const retryTurn = {
  ...STEERS,
  name: 'sessions.retry',
  id: 'retryTurn',
  summary: 'Run a turn anew from a call on',
  description: 'Settled siblings of the call keep their outcomes. Refused while a turn runs.',
  path: `${SESSION_PATH}/retry`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    callKey: name('Key of the call that runs anew, with all that came after its step.'),
  }),
  output: TURN,
  answer: 'The turn.',
  status: 202,
  errors: ['HOLDFAST_TURN_RUNNING'],
} as const satisfies Operation;

export const APPENDED_EVENT = z.object({
  ...SESSION,
  key: name('Appending again under this key changes nothing, and gives the first event.'),
});

export const EXPIRED_SESSIONS = z.object({
  ...APP,
  olderThan: time('Since when nothing was written to them.').meta({
    'x-expected': 'a Date or milliseconds since the epoch',
  }),
});

/** Start arguments of the workflow `retainSessions`. */
export const RETENTION_START = z.object({
  v: version(),
  app: WHOSE_WORK.app,
  after: z.object({ session: idName(), createdAt: moment() }).optional(),
});

export const REMEMBER_START = z.object({ v: version(), ...WHOSE_WORK });

export type RememberSession = Exact<z.output<typeof REMEMBER_START>>;
export type RetainSessions = Exact<z.output<typeof RETENTION_START>>;
/** Model calls, tokens and cost of a step, a turn or a session. */
export type TurnUsage = Exact<z.output<typeof USAGE>>;
export type Session = Exact<z.output<typeof READ_SESSION>>;
export type ListedSessions = Exact<z.output<typeof SESSION_LIST>>;
/** A session without its state and events. */
export type SessionSummary = ListedSessions['sessions'][number];
export type CreateSession = InputOf<typeof createSession>;
export type GetSession = InputOf<typeof getSession>;
export type ListSessions = InputOf<typeof listAppSessions> &
  Partial<Pick<InputOf<typeof listUserSessions>, 'userId'>>;
/** Options of `sessions.delete`. */
export type DeleteSessionOptions = InputOf<typeof deleteSession>;
export type DeletedSessions = Exact<z.output<typeof DELETED>>;
export type ForkSession = InputOf<typeof forkSession>;
export type RewindSession = InputOf<typeof rewindSession>;
export type RetriedCall = InputOf<typeof retryTurn>;
