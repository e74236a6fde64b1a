import { followTurn, getEvents } from '../../contract/events.ts';
import { guarded } from '../access/guarded.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';
import { readPage } from '../sessions/read-page.ts';
import { eventStream, type Frame, noStream } from './event-stream.ts';
import { eventFrames, itemFrames, turnFrames } from './stream-frames.ts';

const KEEP_ALIVE = 15_000;
const EVENT_STREAM = 'text/event-stream';

/** A session's events: a page, or a stream without end; and a turn's, to its end. */
export function eventRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client } = setting.options;
  const reads = guarded(setting, 'read');
  serve(app, getEvents, reads, async ({ limit = 100, partial = true, ...followed }, context) => {
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
  serve(app, followTurn, reads, async ({ partial = true, children = true, ...followed }, context) => {
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
