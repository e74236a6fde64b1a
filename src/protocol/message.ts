import type { DecisionReceipt } from '../contract/approvals.ts';
import type { JobReceipt } from '../contract/jobs.ts';
import type { MessagePolicy, MessageStatus } from '../contract/messages.ts';
import type { Content } from '../events/content.ts';
import { canonicalJson } from './canonical-json.ts';
import { sha256Digest } from './identity.ts';
import type { JobMessage } from './job.ts';
import type { TurnRunConfig } from './run-terms.ts';

/** Says that a message's content was put into the store's inbox before the message was sent. */
export interface StoredMessage {
  /** Of {@link messageDigest}. */
  digest: string;
  /** JSON bytes of the content. */
  bytes: number;
}

/** Payload of the signal and the update `sendMessage`. Unknown fields are ignored. */
export interface SendMessage {
  v?: number;
  /** One message id is one turn, for ever. */
  messageId: string;
  /** A string means one user text part. At most 64 KiB; larger content goes to the store first. */
  message?: string | Content;
  /** In place of `message`. */
  stored?: StoredMessage;
  /** Defaults to `enqueue`. */
  policy?: MessagePolicy;
  agent?: string;
  /** As in the start arguments. */
  rootAgent?: string;
  stateDelta?: Record<string, unknown>;
  runConfig?: TurnRunConfig;
  /** As in the start arguments. */
  traceparent?: string;
  /** As in the start arguments. */
  attestation?: string;
  /** As in the start arguments: of the turn that answers this message. */
  priority?: number;
  /** For a part that a workflow sends on to an agent below it: the whole message. Never set by clients. */
  partOf?: Omit<JobMessage, 'messageId'>;
}

/** The receipt of a message. */
export interface MessageReceipt {
  v: number;
  messageId: string;
  invocationId: string;
  /**
   * `duplicate` is only the same message id with other content. A message is accepted as `running`, `queued` or
   * `finished`; otherwise nothing has been kept of it.
   */
  status: MessageStatus;
  /** For a queued message: 1 is the next one. */
  position?: number;
  /** Why the message was not taken. */
  reason?: string;
  /**
   * Receipts of the answers to requests in the message, in the order of its parts. A message with only such answers starts no turn:
   * `invocationId` is that of the waiting turn.
   */
  replies?: DecisionReceipt[];
  /**
   * Receipts of the responses to calls of the running turn that wait for their jobs, in the order of the message's parts. They
   * start no turn either.
   */
  jobs?: JobReceipt[];
}

export interface CancelReceipt {
  v: number;
  callKey: string;
  /**
   * `cancelling`: the call is told to end; an outcome that it settles before it does still counts. `forwarded`: the agent whose call
   * it is, in the workflow `workflowId`, was told so.
   */
  status: 'cancelling' | 'forwarded';
  /** Workflow id of the agent that it was forwarded to. */
  workflowId?: string;
}

export interface InterruptReceipt {
  v: number;
  /** The invocation that is interrupted; absent where none was running. */
  invocationId?: string;
}

/** Messages that wait in a session's queue, at most. */
export const MOST_QUEUED = 100;
/** JSON bytes of the messages that wait in a session's queue, at most. */
export const MOST_QUEUED_BYTES = 256 * 1024;

/**
 * Equal for messages of equal content, whichever client wrote them: what the attestation of a message is over.
 *
 * @example messageDigest('refund A-1') === messageDigest({ role: 'user', parts: [{ text: 'refund A-1' }] }); // true
 */
export function messageDigest(
  message: string | Content,
  stateDelta?: Record<string, unknown> | undefined,
): string {
  const content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
  return sha256Digest(canonicalJson([{ ...content, role: 'user' }, stateDelta ?? {}]));
}

/** That of a message on its way, whose content may be in the store. */
export function sentDigest({ stored, message, stateDelta }: SendMessage): string {
  return stored?.digest ?? messageDigest(message ?? '', stateDelta);
}

/** Whether a value is a `traceparent` of the W3C's Trace Context, version 00. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value);
}
