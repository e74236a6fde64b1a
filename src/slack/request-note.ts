import { digestOf } from '../protocol/canonical-json.ts';
import { isRecord } from '../protocol/json.ts';
import type { AskedRequest } from './request-message.ts';

/** The notifier's note of a request: the place of its message. */
export interface RequestNote {
  channel: string;
  ts: string;
  /** As it was shown: a tool's own words, without what it keeps to itself. */
  hint: string;
  /** People can open the request elsewhere. */
  opens: boolean;
  /** Ids of the people that the message calls. */
  mentions: readonly string[];
  /** Of what was shown, as {@link shownDigest} says. */
  shown: string;
  /** Others were told that they may decide, too. */
  escalated?: boolean;
  /** When an attempt to tell them so was begun of which nobody knows what came of it, by the store's clock, milliseconds since the epoch. */
  escalating?: number;
}

/** An attempt to post a message, before anybody knows where it stands. */
export interface PostingNote {
  /** When it was begun, by the store's clock, milliseconds since the epoch. */
  at: number;
  /** It has failed, and nobody knows whether Slack has the message. */
  isOver: boolean;
}

/** Of what people decide by; arguments that are sensitive are shown to nobody, and not in it. */
export function shownDigest(request: AskedRequest & { responseSchema?: unknown }): string {
  const { kind, tool, agent, args, responseSchema } = request;
  return digestOf([kind, tool, agent, args, responseSchema ?? null]);
}

/** Undefined where no attempt was made, or Slack has refused the last one. */
export function readPosting(value: unknown): PostingNote | undefined {
  const posting = isRecord(value) ? value.posting : undefined;
  if (!isRecord(posting) || typeof posting.at !== 'number') return undefined;
  return { at: posting.at, isOver: posting.isOver === true };
}

/** Unique for each message. */
export function placeOf({ channel, ts }: Pick<RequestNote, 'channel' | 'ts'>): string {
  return `${channel}:${ts}`;
}

/** Undefined for what no notifier of Slack has kept. */
export function readNote(value: unknown): RequestNote | undefined {
  if (!isRecord(value)) return undefined;
  const { channel, ts, hint, opens, mentions, shown, escalated, escalating } = value;
  if (typeof channel !== 'string' || typeof ts !== 'string' || typeof shown !== 'string') return undefined;
  return {
    channel,
    ts,
    hint: typeof hint === 'string' ? hint : '',
    opens: opens === true,
    shown,
    mentions: Array.isArray(mentions) ? mentions.filter((id) => typeof id === 'string') : [],
    ...(escalated === true ? { escalated } : {}),
    ...(typeof escalating === 'number' ? { escalating } : {}),
  };
}
