import { STREAM_PLACE } from '../../contract/events.ts';
import { InvalidTurn } from '../client-errors.ts';

/** How far a follower has read a session, and the sessions of the agents that its calls run. */
export interface StreamPlace {
  /** Of the followed session: the last seq that was given. */
  seq: number;
  /** By run key, of agents whose calls have no response yet: the last seq of their sessions that was given. */
  children: ReadonlyMap<string, number>;
}

/** Of a place whose agents have all been read to their ends only the seq. */
export function placeText({ seq, children }: StreamPlace): string {
  return [String(seq), ...Array.from(children, ([runKey, at]) => `${runKey}:${at}`)].join(';');
}

/** Undefined for what is no place. */
export function parsePlace(place: number | string): StreamPlace | undefined {
  if (typeof place === 'number') return { seq: place, children: new Map() };
  if (!STREAM_PLACE.test(place)) return undefined;
  const [seq = '', ...children] = place.split(';');
  return {
    seq: Number(seq),
    children: new Map(
      children.map((child) => {
        const [runKey = '', at = ''] = child.split(':');
        return [runKey, Number(at)];
      }),
    ),
  };
}

/** @throws InvalidTurn */
export function placeOf(after: number | string | undefined, method: string): StreamPlace {
  const place = parsePlace(after ?? 0);
  if (place === undefined)
    throw new InvalidTurn(`${method}: after: expected a seq, or the \`place\` of an event that was followed`);
  return place;
}
