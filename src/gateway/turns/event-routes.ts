import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { FollowOptions } from '../../client/stream/follow-events.ts';
import type { FollowedEvent, StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import { type EventPage, followTurn, getEvents, type StoredEvent } from '../../contract/events.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import { eventStream, type Frame, noStream } from './event-stream.ts';

const KEEP_ALIVE = 15_000;
const EVENT_STREAM = 'text/event-stream';

/** A session's events: a page, or a stream without end; and a turn's, to its end. */
export function eventRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client } = setting.options;
  serve(app, setting, getEvents, async ({ limit = 100, partial = true, ...followed }, context) => {
    const { after, lastEventId, children = true, ...names } = followed;
    if (!wantsStream(context)) {
      // Pages have the session's own events only.
      const [seq] = (after ?? '0').split(';', 1);
      const page = await readPage(client, names, { after: Number(seq), limit });
      if (page === undefined) throw new RequestRefused('HOLDFAST_SESSION_NOT_FOUND');
      return page;
    }
    const following = { after: placeOf({ after, lastEventId }), children };
    return streamed(context, setting, (signal) =>
      partial
        ? itemFrames(client.stream(names, { ...following, signal }))
        : eventFrames(client.follow(names, { ...following, signal })),
    );
  });
  serve(app, setting, followTurn, async ({ partial = true, children = true, ...followed }, context) => {
    const { after, lastEventId, ...sent } = followed;
    const turn = await client.turn(sent);
    if (turn === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_NO_SUCH_TURN');
    return streamed(context, setting, (signal) =>
      turnFrames(turn, { partial, children, after: placeOf({ after, lastEventId }), signal }),
    );
  });
}

/** How far the reader has come. A browser that comes back says so by the header, and its address has what it began after. */
function placeOf({ after, lastEventId }: { [place in 'after' | 'lastEventId']: string | undefined }) {
  const place = lastEventId || after || '0';
  return /^\d+$/.test(place) ? Number(place) : place;
}

function streamed(
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

/** How long a session may take that is deleted, and made again, while it is read, milliseconds. */
const TIMEOUT = 5_000;

/** Some of the events that a session has now; undefined where there is no such session. */
async function readPage(
  client: HoldfastApi,
  names: SessionNames,
  { after, limit }: { after: number; limit: number },
): Promise<EventPage | undefined> {
  const session = await client.sessions.get({ ...names, numRecentEvents: 0 });
  if (session === undefined) return undefined;
  const count = Math.min(limit, Math.max(0, session.seq - after));
  const events: StoredEvent[] = [];
  if (count > 0) {
    const following = { after, children: false, signal: AbortSignal.timeout(TIMEOUT) };
    for await (const stored of client.follow(names, following)) {
      events.push(stored);
      if (events.length === count) break;
    }
  }
  const last = events.at(-1)?.seq ?? after;
  return { events, last, more: last < session.seq };
}

const LIVE_EVENTS = {
  text: 'text',
  'text dropped': 'text-dropped',
  'call started': 'call',
  'call finished': 'call',
  'tool chunk': 'tool-chunk',
  'tool chunks dropped': 'tool-chunks-dropped',
  job: 'job',
} as const;

export async function* itemFrames(items: AsyncIterable<StreamItem>): AsyncGenerator<Frame, void, undefined> {
  for await (const item of items) {
    if (item.type !== 'event') {
      yield { event: LIVE_EVENTS[item.type], data: item };
      continue;
    }
    const { type: _type, ...followed } = item;
    yield eventFrame(followed);
  }
}

export async function* eventFrames(
  events: AsyncIterable<FollowedEvent>,
): AsyncGenerator<Frame, void, undefined> {
  for await (const followed of events) yield eventFrame(followed);
}

/** A turn's frames, and its end. */
export async function* turnFrames(
  turn: TurnHandle,
  { partial, ...following }: { partial: boolean } & FollowOptions & { signal: AbortSignal },
): AsyncGenerator<Frame, void, undefined> {
  const { signal } = following;
  if (partial) yield* itemFrames(turn.stream(following));
  else yield* eventFrames(turn.events(following));
  if (!signal.aborted) yield { event: 'end', data: { result: await turn.result({ signal }) } };
}

function eventFrame({ place, ...marked }: FollowedEvent): Frame {
  return { id: place ?? marked.seq, event: 'event', data: marked };
}
