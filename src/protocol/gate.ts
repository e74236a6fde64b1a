import type { Confirm, ProvideInput, RequestName, Voter } from '../contract/approvals.ts';
import type { NoticeCause } from '../contract/notices.ts';
import type { GateKind, OnExpiry, RecordedEntry, RequestStatus } from '../contract/requests.ts';
import type { ActingAgent } from './agent-run.ts';
import { digestOf } from './canonical-json.ts';
import type { Carried } from './sizes.ts';

/**
 * A request that a call waits for, as far as the workflow needs it; approvers, arguments and all else stand in the store's
 * row of it. Durations in milliseconds.
 */
export interface Gate {
  /** `rq-<call key>.<n>`, n from 1 within the call; also the wire id of the `adk_request_*` call. */
  requestId: string;
  kind: GateKind;
  /** For operators, at most 200 bytes; empty where it could tell what is sensitive. */
  hint: string;
  /** Only decisions with an attestation count. */
  attested?: true;
  /** Approvals of different people that it takes. Defaults to 1. */
  quorum?: number;
  /** The decision may change the arguments. */
  allowEdit?: true;
  /** Names of arguments that a change leaves out: they are sensitive, and stay as they are. */
  fixed?: readonly string[];
  /** The answer is sensitive and lies in the store: the decision may carry a reference to it only. */
  concealed?: true;
  /** Defaults to never. */
  expiresIn?: number;
  /** Defaults to `reject`. */
  onExpiry?: OnExpiry;
  /** After this long those of `escalateTo` may decide, too. */
  escalateAfter?: number;
  /** The tool asked while it ran: it runs again with any answer. */
  inside?: true;
  /** Somebody is to be told of it by the activity `holdfast.notify`. */
  notifies?: true;
  /** Those who were told of it are to be told of its end, too. */
  notifiesEnd?: true;
  /** It has ended while another workflow waited for it, which was cut off: nobody is asked again, and the store has the answer. */
  ended?: Exclude<RequestStatus, 'pending'>;
  /** Approvals that another workflow had counted when it was cut off: nobody has to give them again. */
  votes?: KnownVote[];
}

/** An approval that counts. */
export interface KnownVote {
  by: Voter;
  /** Equal for approvals of the same arguments with the same payload: only those add up. */
  of: string;
}

/** Payload of the signal and the update `provideCredential`. The secret itself is in the store, encrypted. */
export interface ProvideCredential extends RequestName {
  v?: number;
  credentialRef: string;
}

/**
 * Something that happened to a request, as the workflow has seen it: a row of the audit, and a change of the request's row.
 * `refused` is a decision that doesn't count.
 */
export interface AuditEntry {
  /** `<request id>/<k>`, k from 1 in the order of the workflow: recording it again changes nothing. */
  entryId: string;
  requestId: string;
  kind: RecordedEntry['kind'];
  /** Milliseconds since the epoch, of the workflow. */
  at: number;
  by?: Voter;
  /** For a vote, or for a refused decision. */
  confirmed?: boolean;
  /** For a vote: its subject, as {@link KnownVote} has it. */
  of?: string;
  /** The person's words, or the reason why the decision doesn't count. */
  reason?: string;
  /** For an approval: replaces the shown arguments, without sensitive ones; validated. */
  args?: Record<string, unknown>;
  /** For an approval or rejection. */
  payload?: unknown;
  /** The answer to an input. */
  response?: unknown;
  /** Reference to an input's answer in the store. */
  responseRef?: string;
  /** Reference to a credential in the store. */
  credentialRef?: string;
}

/** Input of `holdfast.verifyDecision`: checks facts that the workflow can't, and records the result. */
export interface VerifyDecisionInput extends ActingAgent {
  v: number;
  session: string;
  agent: string;
  invocationId: string;
  callKey: string;
  callId: string;
  tool: string;
  requestId: string;
  kind: GateKind;
  /** Id of the entry that it writes. */
  entryId: string;
  /** Milliseconds since the epoch, when the decision came. */
  at: number;
  /** Those of `escalateTo` may decide. */
  escalated: boolean;
  confirm?: Confirm;
  input?: ProvideInput;
  credential?: ProvideCredential;
  /**
   * The response of `input` is text of a client that sends nothing else: JSON, unless the request's schema takes text. The answer's
   * `response` has the value that the text stands for.
   */
  isText?: true;
}

/** `counts: false` is recorded, and changes nothing else. */
export type VerifiedDecision =
  | {
      v: number;
      counts: true;
      by: Voter;
      /** Digest of the attestation, by which it is known again. */
      attestation?: string;
      /** Edited arguments, as they are to run: validated. */
      args?: Carried<Record<string, unknown>>;
      /** For an input that came as text, the value of the text; absent if that is the text itself. */
      response?: unknown;
    }
  /** `duplicate`: the same person's same decision counts already. */
  | { v: number; counts: false; reason: string; by?: Voter; duplicate?: true };

/** Input of `holdfast.recordEntries`. */
export interface RecordEntriesInput {
  v: number;
  session: string;
  entries: AuditEntry[];
}

/** Input of `holdfast.notify`: tells people of requests that opened, that others may decide from now on, or that have ended. */
export interface NotifyInput {
  v: number;
  session: string;
  app: string;
  userId: string;
  sessionId: string;
  /** The workflow that waits. */
  workflowId: string;
  why: NoticeCause;
  requestIds: string[];
  /** When it was to be told first, milliseconds since the epoch. Defaults to now. */
  since?: number;
}

/** Start of the workflow `deliverNotice`: a notice goes on being told when its turn doesn't wait for it any more. */
export interface DeliverNotice extends NotifyInput {
  /** Name of the only notifier. Defaults to all notifiers of the app. */
  notifier?: string;
  /** When the notice was first due, milliseconds since the epoch. */
  since: number;
  /** When its notifier has failed first, milliseconds since the epoch: `retryFor` is from then on. Defaults to the first attempt. */
  failedAt?: number;
  /** Milliseconds for which its notifier is tried, at most {@link LONGEST_NOTICE_TIME}. */
  retryFor: number;
}

/** The outcome of a notice. `unwanted`: its request has ended, or is gone; `dead`: it is a dead letter. */
export interface DeliveredNotice {
  v: number;
  status: 'told' | 'unwanted' | 'dead';
}

/** A pending request in the answer of the query `status`. */
export interface WaitingRequest {
  requestId: string;
  kind: GateKind;
  callKey: string;
  callId: string;
  tool: string;
  /** Names of the agents from the root to the one that asks. */
  path: string[];
  hint: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** Milliseconds since the epoch; absent where it doesn't expire. */
  until?: number;
  /** Approvals so far, and how many it takes. */
  votes: { approvals: number; quorum: number };
}

export const REQUEST_PREFIX = 'rq-';

/** @param n from 1 within the call. */
export function requestIdOf(callKey: string, n: number): string {
  return `${REQUEST_PREFIX}${callKey}.${n}`;
}

/** Numbers of questions that an activity holds open come after those of requests for which a call ends its activity. */
const HELD_FROM = 1_000;

/**
 * The id of a question that the call's activity holds open: the call goes on meanwhile, and doesn't begin anew with the answer.
 *
 * @param n from 1 within the call, at most `MOST_HELD`.
 */
export function heldRequestIdOf(callKey: string, n: number): string {
  return requestIdOf(callKey, HELD_FROM + n);
}

/** Whether the activity of its call holds it open. */
export function isHeldRequest(requestId: string): boolean {
  return Number(requestId.slice(requestId.lastIndexOf('.') + 1)) > HELD_FROM;
}

/** The call that a request id names; undefined where it is none. */
export function callKeyOfRequest(requestId: string): string | undefined {
  const found = /^rq-(.+\.\d+\.\d+)\.\d+$/.exec(requestId);
  return found?.[1];
}

/** Equal for approvals of the same arguments with the same payload: only those add up. */
export function versionOf({ args, payload }: Pick<Confirm, 'args' | 'payload'>, confirmed = true): string {
  return digestOf([confirmed, args ?? null, payload ?? null]);
}

/** Version of an approval that leaves the shown arguments as they are. */
export const AS_SHOWN = versionOf({});
