import { jsonBytes } from '../contract/json-bytes.ts';

/** Stands in the history for content that stays in the ledger. */
export interface Reference {
  /** Ledger key of the content: a call key, or a step's. */
  key: string;
  /** SHA-256 of the content's canonical JSON, base64url. */
  digest: string;
  /** Size of the content's JSON in bytes. */
  bytes: number;
  /** A short excerpt for the reader of the history; says only the size where the content is sensitive. */
  gist: string;
}

/** A value that crosses Temporal: itself while it is small, else a reference into the ledger. */
export type Carried<T = unknown> = { value: T } | { ref: Reference };

/** Arguments and results up to this many bytes of JSON ride along in the history, where an operator reads them. */
export const INLINE_LIMIT = 4 * 1024;

/** No payload of a command exceeds this many bytes of JSON. */
export const PAYLOAD_LIMIT = 64 * 1024;

/** Why a message, with its stateDelta and all else that goes with it, can't travel; undefined where it can. */
export function contentProblem(content: readonly unknown[], instead: string): string | undefined {
  let bytes: number;
  try {
    bytes = jsonBytes(content);
  } catch {
    return 'expected JSON';
  }
  return bytes > PAYLOAD_LIMIT
    ? `${bytes} bytes of JSON with its stateDelta, at most ${PAYLOAD_LIMIT} travel through Temporal: ${instead}`
    : undefined;
}

/** Calls of one step: the plan of more would not fit one payload. */
export const MOST_CALLS = 128;

/**
 * The inline data of one workflow task never exceeds this many bytes in sum. It holds by arithmetic: what a task schedules
 * stood in one plan, which is a payload, plus some 200 bytes for each of at most 128 calls.
 */
export const WORKFLOW_TASK_LIMIT = 1024 * 1024;

/** Longest summary of an activity, in bytes of UTF-8: what the Temporal UI shows without cutting. */
export const SUMMARY_LIMIT = 200;

/** Milliseconds for which a notice is tried at most. No notifier and no starter can exceed it. */
export const LONGEST_NOTICE_TIME = 30 * 86_400_000;
