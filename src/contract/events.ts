import { z } from 'zod';
import type { Event } from '../events/event.ts';
import { jsonObject, moment, PAGE, SESSION, SESSION_PATH, WHOSE_ON_THE_WIRE } from './fields.ts';
import { SENT_MESSAGE, TURN_PATH } from './messages.ts';
import type { Exact, Operation } from './operation.ts';

/** How far a stream was read, `12;writer-x:4`: the seq, and of each agent that is under way its run key and seq. */
export const STREAM_PLACE = /^\d{1,15}(;[\w-]{1,200}:\d{1,15})*$/;

const KINDS = ['message', 'model', 'responses', 'error', 'rewind', 'callback', 'request'] as const;

export const CONTENT = z
  .looseObject({
    role: z.string().optional().meta({ description: '`user` or `model`.' }),
    parts: z
      .array(z.looseObject({ text: z.string().optional() }))
      .optional()
      .meta({ description: 'Parts as the Gemini API has them: text, functionCall, functionResponse, …' }),
  })
  .meta({ id: 'Content', description: 'A message in the form of the Gemini API.' });

const EVENT = z
  .looseObject({
    id: z.string(),
    invocationId: z.string().meta({ description: 'The turn that the event belongs to.' }),
    author: z.string().optional().meta({ description: '`user`, or the agent’s name.' }),
    timestamp: moment(),
    content: CONTENT.optional(),
    actions: z.looseObject({
      stateDelta: jsonObject('State that it writes.').optional(),
      transferToAgent: z.string().optional(),
    }),
    errorCode: z.string().optional(),
    errorMessage: z.string().optional(),
  })
  .meta({ id: 'Event', description: 'An event in the wire form of the Agent Development Kit.' });

export const STORED_EVENT = z
  .looseObject({
    seq: z.int().meta({ description: 'From 1, gapless within a session.' }),
    kind: z.enum(KINDS),
    runKey: z.string().meta({ description: 'The run of the agent that it is of.' }),
    step: z.int().meta({ description: 'The step of that run.' }),
    hidesAfter: z.int().optional().meta({
      description: 'Of a rewind: agents don’t see events with a greater seq, up to this one.',
    }),
    event: EVENT as unknown as z.ZodType<Event>,
  })
  .meta({ id: 'StoredEvent', description: 'An event with its place in the session.' });

const EVENT_PAGE = z
  .object({
    events: z.array(STORED_EVENT),
    last: z.int().meta({ description: 'The seq to go on `after`.' }),
    more: z.boolean().meta({ description: 'There are events after `last` already.' }),
  })
  .meta({ id: 'EventPage' });

function flag(description: string) {
  return z.boolean().optional().meta({ description, default: true });
}

function place(description: string, pattern: RegExp) {
  return z.string().regex(pattern).optional().meta({
    description,
    'x-expected': 'a whole number from 0 on, or the id of an event of a stream',
  });
}

/** Options of a reader that follows events. */
const FOLLOWED = {
  after: place(
    'Events after this seq, or after the event of this id; the header `Last-Event-ID` counts before it.',
    STREAM_PLACE,
  ),
  partial: flag(
    'Whether a stream also has partial text, the begin and end of calls, items of streaming tools, and progress of jobs.',
  ),
  children: flag(
    'Whether a stream also has the events of agents that calls run, in sessions of their own: marked by `holdfast`.',
  ),
  lastEventId: place(
    'The id of the last event that the reader has seen.',
    new RegExp(`^$|${STREAM_PLACE.source}`),
  ),
};

const STREAMED = {
  tag: 'Events',
  method: 'get',
  wire: { ...WHOSE_ON_THE_WIRE, lastEventId: 'last-event-id' },
  headers: ['lastEventId'],
  stream:
    'Server-sent events: `event` with the seq as its id, and after it, while agents of calls are under way, `;<session>:<seq>` of ' +
    'each; `text`, `text-dropped`, `call`, `tool-chunk`, ' +
    '`tool-chunks-dropped` and `job` without one; of agents of calls with `holdfast: { path, sessionId, seq }`; of a turn `end` with `{ result }`; `error` with `{ code, message }` where the ' +
    'stream fails.',
} as const;

export const getEvents = {
  ...STREAMED,
  name: 'follow',
  id: 'getEvents',
  summary: 'Read or follow a session’s events',
  description:
    'A page of stored events; with `Accept: text/event-stream` an endless stream of stored and new events. A ' +
    'session that isn’t there yet can be followed.',
  path: `${SESSION_PATH}/events`,
  may: { permission: 'read', of: 'path' },
  input: z.object({ ...SESSION, limit: PAGE.limit, ...FOLLOWED }),
  output: EVENT_PAGE,
  answer: 'The events, in order and without gaps.',
} as const satisfies Operation;

export const followTurn = {
  ...STREAMED,
  tag: 'Turns',
  name: 'turn.events',
  id: 'followTurn',
  summary: 'Follow a turn to its end',
  path: `${TURN_PATH}/events`,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...SENT_MESSAGE,
    ...FOLLOWED,
  }),
  output: z.never(),
  answer: 'Its events from the first one on, or after the one that the reader has seen last, and then `end`.',
} as const satisfies Operation;

/**
 * The part of an event in the transcript. `responses` answers the calls of the same run and step. `rewind` hides the events
 * between `hidesAfter` and itself. `callback` is said by user code for its agent: a callback's answer or state, what a
 * plugin or a processor adds. `request` asks people, by calls with reserved names.
 */
export type EventKind = (typeof KINDS)[number];
/** An event with its place in the session. */
export type StoredEvent = Exact<z.output<typeof STORED_EVENT>>;
export type EventPage = Exact<z.output<typeof EVENT_PAGE>>;
