import { createHash } from 'node:crypto';
import type { JobProgress } from '../../contract/jobs.ts';
import { parsedJson } from '../../protocol/json.ts';
import type { StoreNotice } from './live-feed.ts';
import { type Topic, topicText } from './live-feed.ts';

/** Bytes of UTF-8 that the text of one notice may have, and bytes of JSON that a chunk may have. */
export const MOST_TEXT_BYTES = 7 * 1024;

/** PostgreSQL refuses a payload of 8,000 bytes. */
const LONGEST_PAYLOAD = 7_999;

const DIGEST_CHARACTERS = 32;
/** ASCII's own substitute for a character that can't be sent. One byte, as NUL is: text doesn't grow by it. */
const SUBSTITUTE = '\u001a';

/** A notice that came from another process; its session is known by the channel. */
export interface Received {
  /** The store that sent it. */
  origin: string;
  notice: NoticeOfChannel;
}

type WithoutSession<Notice> = Notice extends StoreNotice ? Omit<Notice, 'session' | 'names'> : never;
export type NoticeOfChannel = WithoutSession<StoreNotice>;

/** The channel of a topic: a name that needs quotes nowhere, and is shorter than PostgreSQL's 63 bytes. */
export function channelOf(topic: Topic): string {
  return `holdfast_${createHash('sha256').update(topicText(topic)).digest('hex').slice(0, DIGEST_CHARACTERS)}`;
}

/** Text as UTF-8 without NUL can hold it: a lone surrogate becomes U+FFFD, a NUL U+001A. */
export function tellableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', SUBSTITUTE);
}

/** Bytes of what a notice says beside names and numbers: text as it is, a chunk as JSON. */
export function contentBytes(notice: StoreNotice): number {
  if (notice.type === 'text') return Buffer.byteLength(notice.text);
  if (notice.type !== 'tool chunk') return 0;
  const { content, error, metadata } = notice;
  return Buffer.byteLength(JSON.stringify({ content, error, metadata }));
}

/**
 * A notice as NOTIFY's payload: one line of JSON, then the text as it is, for JSON makes six bytes of one. Undefined
 * where it is too long for one.
 */
export function encodeNotice(notice: StoreNotice, origin: string): string | undefined {
  const { session: _known, ...rest } = notice;
  const { text, names: _digested, ...fields } = { text: undefined, names: undefined, ...rest };
  const payload = `${JSON.stringify({ origin, ...fields })}\n${text === undefined ? '' : tellableText(text)}`;
  return Buffer.byteLength(payload) > LONGEST_PAYLOAD ? undefined : payload;
}

/** Undefined for what is no notice that this release knows: another one's, or somebody else's. */
export function decodeNotice(payload: string): Received | undefined {
  const end = payload.indexOf('\n');
  const head = end < 0 ? undefined : parsedJson(payload.slice(0, end));
  if (typeof head !== 'object' || head === null) return undefined;
  const { origin, ...fields } = head as Record<string, unknown>;
  if (typeof origin !== 'string') return undefined;
  const notice = { ...fields, ...(fields.type === 'text' ? { text: payload.slice(end + 1) } : {}) };
  return isNotice(notice) ? { origin, notice } : undefined;
}

const FIELDS: { [Type in StoreNotice['type']]: Readonly<Record<string, 'string' | 'number' | 'boolean'>> } = {
  appended: { seq: 'number' },
  child: { child: 'string', runKey: 'string', callKey: 'string' },
  'call started': { runKey: 'string', callKey: 'string', tool: 'string', attempt: 'number' },
  'call finished': { runKey: 'string', callKey: 'string', tool: 'string', failed: 'boolean' },
  job: {
    runKey: 'string',
    callKey: 'string',
    tool: 'string',
    jobId: 'string',
    status: 'string',
    mode: 'string',
  },
  text: {
    runKey: 'string',
    step: 'number',
    agent: 'string',
    attempt: 'number',
    index: 'number',
    text: 'string',
  },
  'text dropped': { runKey: 'string', step: 'number', attempt: 'number' },
  'tool chunk': { runKey: 'string', callKey: 'string', tool: 'string', attempt: 'number', index: 'number' },
  'tool chunks dropped': { runKey: 'string', callKey: 'string', attempt: 'number' },
};

function isNotice(value: Record<string, unknown>): value is NoticeOfChannel & Record<string, unknown> {
  if (typeof value.type !== 'string' || !Object.hasOwn(FIELDS, value.type)) return false;
  const fields = FIELDS[value.type as StoreNotice['type']];
  return (
    Object.entries(fields).every(([name, type]) => typeof value[name] === type) &&
    (value.type !== 'job' || value.progress === undefined || isProgress(value.progress))
  );
}

function isProgress(value: unknown): value is JobProgress {
  return typeof value === 'object' && value !== null && 'at' in value && typeof value.at === 'number';
}
