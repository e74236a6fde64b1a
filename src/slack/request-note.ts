import { isRecord } from '../schema/kind-of.ts';

/** What the notifier keeps of a request: where its message stands. */
export interface RequestNote {
  channel: string;
  ts: string;
  /** As it was shown: a tool's own words, without what it keeps to itself. */
  hint: string;
  /** People can open the request elsewhere. */
  opens: boolean;
  /** Ids of those whom the message calls. */
  mentions: readonly string[];
  /** Others were told that they may decide, too. */
  escalated?: boolean;
}

/** Unique for each message. */
export function placeOf({ channel, ts }: Pick<RequestNote, 'channel' | 'ts'>): string {
  return `${channel}:${ts}`;
}

/** Undefined for what no notifier of Slack has kept. */
export function readNote(value: unknown): RequestNote | undefined {
  if (!isRecord(value)) return undefined;
  const { channel, ts, hint, opens, mentions, escalated } = value;
  if (typeof channel !== 'string' || typeof ts !== 'string') return undefined;
  return {
    channel,
    ts,
    hint: typeof hint === 'string' ? hint : '',
    opens: opens === true,
    mentions: Array.isArray(mentions) ? mentions.filter((id) => typeof id === 'string') : [],
    ...(escalated === true ? { escalated } : {}),
  };
}
