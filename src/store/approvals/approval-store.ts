import type { ListApprovals } from '../../contract/approvals.ts';
import type { AuditVerification } from '../../contract/audit.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { AuditEntry } from '../../protocol/gate.ts';
import type { PublicJwk } from '../../protocol/public-jwk.ts';
import type { DraftEvent } from '../sessions/session-store.ts';
import type { BeginCall, BegunCall } from '../turns/call-store.ts';

/** A request as it is made. It is bound to the call's arguments: to no others, and to no other tool. */
export type NewRequest = Pick<
  ApprovalRow,
  | 'requestId'
  | 'callKey'
  | 'callId'
  | 'kind'
  | 'tool'
  | 'agent'
  | 'path'
  | 'workflowId'
  | 'rootWorkflowId'
  | 'hint'
  | 'payload'
  | 'args'
  | 'argsDigest'
  | 'gateDigest'
  | 'sensitive'
  | 'terms'
  | 'responseSchema'
  | 'authConfig'
>;

/** An answer to a question that travels by its reference, and is checked once the workflow has it. */
export interface KeptResponse {
  session: string;
  requestId: string;
  responseRef: string;
  response: unknown;
  /** Text of a client that knows no other: JSON, unless the request's schema takes text. */
  isText: boolean;
}

/** A call that runs after a person was asked. */
export interface BeginAnsweredCall extends BeginCall {
  requestId: string;
  /** Recorded first, in the same transaction; those that are recorded change nothing. */
  entries: readonly AuditEntry[];
  /** The call is only settled, and not run: followers hear of no start. Defaults to false. */
  closes?: boolean;
  /** `Evidence.stamp` of what has been verified for this beginning. Defaults to nothing. */
  proven?: string;
}

/**
 * `closed`: the request was answered otherwise before, as after a reset; the call must not run. `unproven`: an approval counts by
 * signatures only, or an entry names somebody who has signed, and what is proven isn't this evidence; nothing was written.
 * `started` carries all requests of the call, in order. An attempt that began after the latest answer and left no outcome makes
 * the next one `unknown`.
 */
export type BegunAnsweredCall =
  | Extract<BegunCall, { kind: 'settled' }>
  | { kind: 'closed'; request: ApprovalRow }
  | { kind: 'unproven'; evidence: Evidence }
  | (Extract<BegunCall, { kind: 'started' }> & { requests: ApprovalRow[] });

/** A decision, or an answer, whose signature held when it came. */
export interface SignedDecision {
  requestId: string;
  /** Of what is signed; `Voter.attestation`. */
  digest: string;
  /** Its outcome; `refused` for a decision that doesn't count. */
  says: 'approve' | 'reject' | 'withdraw' | 'answer' | 'refused';
  principal: string;
  /** The whole of it: a compact JWS. */
  jws: string;
  /** By which it was verified. */
  key: PublicJwk;
  /** When it came, milliseconds since the epoch: it may have expired since. */
  cameAt: number;
  /** Digests of an answer: as it was signed, and as it is meant. */
  signedResponse?: string;
  meantResponse?: string;
}

/** A signed decision as the store keeps it. */
export interface StoredSignature extends SignedDecision {
  /** From 1 within the request, in the order in which they came. */
  n: number;
  /** When it was recorded, milliseconds since the epoch, by the store's clock. */
  at: number;
}

/** The store's proof that a call may run. */
export interface Evidence {
  /** All requests of the call, in order. */
  requests: ApprovalRow[];
  /** Of all of them, in order. */
  signatures: StoredSignature[];
  /** The store's time, milliseconds since the epoch. */
  now: number;
  /** Another one as soon as anything of it has changed. */
  stamp: string;
}

/** An attempt that ends with a question. */
export interface SuspendCall {
  session: string;
  runKey: string;
  callKey: string;
  /** That which ends; an older one than the newest changes nothing. */
  attempt: number;
  request: NewRequest;
  /** The request's event, appended with it. */
  event: DraftEvent;
  /** The attempt goes on, and waits for the answer. Defaults to false. */
  holds?: boolean;
}

/** Requests to people, votes, and what they gave. The workflow that waits is the authority; these rows list, prove and dedupe. */
export interface ApprovalStore {
  /**
   * Records what happened to requests, in order, each once; rows and audit in one transaction. A request that has ended stays as it
   * is; what came later is in the audit.
   */
  recordEntries(record: { session: string; entries: readonly AuditEntry[] }): Promise<void>;
  /**
   * Keeps a signed decision for those who verify it again, and records its entry, in one transaction. Only for a caller that has
   * verified it: the decision is trusted from then on. Repeating it changes nothing; one that was refused may count later.
   */
  recordSigned(record: { session: string; signed: SignedDecision; entry?: AuditEntry }): Promise<void>;
  /** The requests of a call; empty for a call without requests. */
  findEvidence(session: string, callKey: string): Promise<Evidence>;
  /** Lets the time of a pending request run out: for test environments, whose tests say when. */
  expireForTest(session: string, requestId: string): Promise<void>;
  /** Of all requests of a session, those of deleted sessions included. */
  listSignatures(session: string): Promise<StoredSignature[]>;
  /** As `beginCall`, for a call whose request was answered. One round trip. */
  beginAnsweredCall(call: BeginAnsweredCall): Promise<BegunAnsweredCall>;
  /**
   * Writes a request that a call makes while it runs, and its event; the attempt is no unknown one. Repeating it gives the first
   * request of that id.
   *
   * @returns false where the attempt isn't the call's newest, or the call is settled, or its turn has ended.
   */
  suspendCall(suspend: SuspendCall): Promise<boolean>;
  /**
   * Keeps an answer whose content must not travel, for an entry that refers to it; in the place of the one of this reference.
   *
   * @throws Unstorable
   */
  keepResponse(response: KeptResponse): Promise<void>;
  /** Undefined where none of this reference is kept for this request. */
  findResponse(
    find: Pick<KeptResponse, 'session' | 'requestId' | 'responseRef'>,
  ): Promise<Pick<KeptResponse, 'response' | 'isText'> | undefined>;
  /** Undefined where there is none. */
  findRequest(session: string, requestId: string): Promise<ApprovalRow | undefined>;
  /** By its id alone, for those who are told nothing else; it names the session by its call key. */
  find(requestId: string): Promise<ApprovalRow | undefined>;
  /** Oldest first, unless told otherwise. */
  list(list?: ListApprovals): Promise<ApprovalRow[]>;
  /** Recomputes the chain of a session's audit, those of deleted sessions included. Callers with the keys check signatures. */
  verifyAudit(session: string): Promise<AuditVerification>;
}
