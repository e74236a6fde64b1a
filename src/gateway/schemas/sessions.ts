import { z } from '@hono/zod-openapi';
import { STORED_EVENT } from '../../contract/events.ts';
import type { ListedSessions, Session } from '../../store/sessions/session-store.ts';
import { expected } from '../request-problems.ts';
import { bodyOf, flag, name, record, text, time, wholeNumber } from './fields.ts';
import { USAGE } from './turns.ts';

const SUMMARY_FIELDS = {
  app: z.string(),
  userId: z.string(),
  sessionId: z.string(),
  session: z
    .string()
    .openapi({ description: 'The store’s id of the session; another one where it was made again.' }),
  seq: z.int().openapi({ description: 'Last seq of its events.' }),
  lastAgent: z.string().optional().openapi({ description: 'The agent that acted last.' }),
  createdAt: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
  updatedAt: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
  usage: USAGE,
  forkedFrom: z.object({ sessionId: z.string(), seq: z.int() }).optional(),
};

export const SESSION_BODY = z
  .looseObject({
    ...SUMMARY_FIELDS,
    state: z.record(z.string(), z.unknown()).openapi({
      type: 'object',
      additionalProperties: {},
      description: 'State of session, app and user; keys carry the prefixes `app:` and `user:`.',
    }),
    events: z.array(STORED_EVENT),
  })
  .openapi('Session') as unknown as z.ZodType<Session>;

export const SESSION_LIST = z
  .object({
    sessions: z.array(z.looseObject(SUMMARY_FIELDS).openapi('SessionSummary')),
    totalItems: z.int().openapi({ description: 'Of all pages.' }),
  })
  .openapi('SessionList') as unknown as z.ZodType<ListedSessions>;

export const DELETED = z
  .object({
    sessions: z
      .array(z.object({ app: z.string(), userId: z.string(), sessionId: z.string() }))
      .openapi({ description: 'What was deleted, forks included; empty where there was nothing.' }),
    runs: z.int().openapi({ description: 'Runs whose histories Temporal was asked to delete.' }),
  })
  .openapi('DeletedSessions');

export const CREATE_SESSION = bodyOf({
  sessionId: name('Defaults to a random one.').optional(),
  state: record('First state; prefixes `app:` and `user:` write the shared one.').optional(),
}).openapi('CreateSession');

export const FORK_SESSION = bodyOf({
  at: z
    .int({ error: expected('a whole number') })
    .min(0, { error: expected('a whole number from 0 on') })
    .optional()
    .openapi({
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Last seq that the fork has. Defaults to the last one.',
    }),
  to: name('Id of the fork. Defaults to a random one.').optional(),
}).openapi('ForkSession');

export const REWIND_SESSION = bodyOf({
  beforeInvocationId: text('What came from this turn on is hidden, and the state is what it was before.'),
}).openapi('RewindSession');

export const RETRY_TURN = bodyOf({
  callKey: text('Key of the call that runs anew, with all that came after its step.'),
}).openapi('RetryTurn');

export const LIST_QUERY = z.object({
  limit: wholeNumber('Sessions of a page.', { min: 1, max: 1_000 }).optional().openapi({ default: 100 }),
  offset: wholeNumber('Sessions before the page.').optional().openapi({ default: 0 }),
  order: z
    .enum(['asc', 'desc'], { error: expected("'asc' or 'desc'") })
    .optional()
    .openapi({ default: 'desc', description: 'By last update.' }),
});

export const GET_SESSION_QUERY = z.object({
  numRecentEvents: wholeNumber('The last so many events; 0 for none. Defaults to all.').optional(),
  after: wholeNumber('Events after this seq.').optional(),
  afterTimestamp: time('Events at or after this time.').optional(),
});

export const DELETE_QUERY = z.object({
  cancelRunning: flag('Cancels a turn that runs, and waits for its end.', false),
  withForks: flag('Deletes the sessions that were forked from it, too.', false),
  timeout: wholeNumber('How long the end of a cancelled turn is waited for, milliseconds.', { max: 90_000 })
    .optional()
    .openapi({ default: 30_000 }),
  idleSince: time('Deletes nothing that was written to at this time or later.').optional(),
});
