import type { FollowOptions } from '../../client/stream/follow-events.ts';
import type { FollowedEvent, StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { Frame } from './event-stream.ts';

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
