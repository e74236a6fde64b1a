import type { StreamItem } from '../client/stream-item.ts';
import type { TurnHandle } from '../client/turn-handle.ts';
import type { StoredEvent } from '../store/store.ts';
import type { Frame } from './event-stream.ts';

const LIVE_EVENTS = {
  text: 'text',
  'text dropped': 'text-dropped',
  'call started': 'call',
  'call settled': 'call',
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
    const { type: _type, ...stored } = item;
    yield storedFrame(stored);
  }
}

export async function* storedFrames(
  events: AsyncIterable<StoredEvent>,
): AsyncGenerator<Frame, void, undefined> {
  for await (const stored of events) yield storedFrame(stored);
}

/** A turn's frames, and its end. */
export async function* turnFrames(
  turn: TurnHandle,
  { partial, after, signal }: { partial: boolean; after: number | undefined; signal: AbortSignal },
): AsyncGenerator<Frame, void, undefined> {
  const from = { signal, ...(after === undefined ? {} : { after }) };
  if (partial) yield* itemFrames(turn.stream(from));
  else yield* storedFrames(turn.events(from));
  if (!signal.aborted) yield { event: 'end', data: { result: await turn.result({ signal }) } };
}

function storedFrame(stored: StoredEvent): Frame {
  return { id: stored.seq, event: 'event', data: stored };
}
