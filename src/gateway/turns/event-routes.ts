import { createRoute, z } from '@hono/zod-openapi';
import { guarded } from '../access/guarded.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { problems } from '../schemas/answers.ts';
import { EVENT_PAGE } from '../schemas/events.ts';
import { flag, streamPlace, wholeNumber } from '../schemas/fields.ts';
import { SESSION, SESSION_PATH, sessionNames } from '../schemas/path-parts.ts';
import { readPage } from '../sessions/read-page.ts';
import { eventStream, type Frame, noStream } from './event-stream.ts';
import { eventFrames, itemFrames } from './stream-frames.ts';

const KEEP_ALIVE = 15_000;
const EVENT_STREAM = 'text/event-stream';

export const partial = flag(
  'Whether a stream also has text that is being written, calls that begin and settle, what streaming tools yield, and how jobs get on.',
  true,
);
export const children = flag(
  'Whether a stream also has what the agents say that calls run, in sessions of their own: marked by `holdfast`.',
  true,
);
export const after = streamPlace(
  'Events after this seq, or behind the event of this id; the header `Last-Event-ID` counts before it.',
).optional();
export const RESUME_HEADER = z.object({
  'last-event-id': streamPlace('The id of the last event that the reader has seen.')
    .or(z.literal(''))
    .optional(),
});

export const STREAM = {
  schema: z.string().openapi({
    description:
      'Server-sent events: `event` with the seq as its id, and behind it, while agents of calls are under way, `;<session>:<seq>` of ' +
      'each; `text`, `text-dropped`, `call`, `tool-chunk`, ' +
      '`tool-chunks-dropped` and `job` without one; of agents of calls with `holdfast: { path, sessionId, seq }`; of a turn `end` with `{ result }`; `error` with `{ code, message }` where the ' +
      'stream fails.',
  }),
};

const EVENTS_QUERY = z.object({
  after,
  limit: wholeNumber('Events of a page.', { min: 1, max: 1_000 }).optional().openapi({ default: 100 }),
  partial,
  children,
});

/** A session's events: a page, or a stream without end. */
export function eventRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client } = setting.options;
  app.openapi(
    createRoute({
      method: 'get',
      path: `${SESSION}/events`,
      tags: ['Events'],
      operationId: 'getEvents',
      summary: 'Read or follow a session’s events',
      description:
        'A page of what is there; with `Accept: text/event-stream` a stream of what is there and what comes, without end. A ' +
        'session that isn’t there yet can be followed.',
      ...guarded(setting, 'read'),
      request: { params: SESSION_PATH, query: EVENTS_QUERY, headers: RESUME_HEADER },
      responses: {
        200: {
          description: 'The events, in order and without gaps.',
          content: { 'application/json': { schema: EVENT_PAGE }, [EVENT_STREAM]: STREAM },
        },
        ...problems(),
      },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const { after: from = 0, limit = 100, partial: live, children: all } = context.req.valid('query');
      if (!wantsStream(context)) {
        const page = await readPage(client, names, { after: seqOf(from), limit });
        if (page === undefined) throw new RequestRefused('HOLDFAST_SESSION_NOT_FOUND');
        return context.json(page, 200);
      }
      const following = { after: placeOf(context.req.valid('header')) ?? from, children: all };
      return streamed(context, setting, (signal) =>
        live
          ? itemFrames(client.stream(names, { ...following, signal }))
          : eventFrames(client.follow(names, { ...following, signal })),
      );
    },
  );
}

export function placeOf(headers: z.output<typeof RESUME_HEADER>): number | string | undefined {
  const place = headers['last-event-id'];
  return place === '' ? undefined : place;
}

/** Pages have the session's own events only. */
function seqOf(place: number | string): number {
  return typeof place === 'number' ? place : Number(place.split(';', 1)[0]);
}

export function streamed(
  context: GatewayContext,
  { options, streams }: RouteSetting,
  frames: (signal: AbortSignal) => AsyncIterable<Frame>,
): Response {
  if (context.req.raw.method === 'HEAD') return noStream();
  const { name, unlimited } = context.get('principal');
  const who = unlimited ? undefined : name;
  streams.demandRoom(who);
  return eventStream({
    frames,
    streams,
    who,
    readmit: context.get('readmit'),
    keepAlive: options.keepAlive ?? KEEP_ALIVE,
    logger: options.logger,
    requestId: context.get('requestId'),
  });
}

function wantsStream(context: GatewayContext): boolean {
  return (context.req.header('accept') ?? '')
    .split(',')
    .some((type) => type.split(';', 1)[0]?.trim().toLowerCase() === EVENT_STREAM);
}
