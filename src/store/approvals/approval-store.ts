import type { GateKind, ListApprovals, RequestStatus } from '../../contract/approvals.ts';
import type { AuthConfig } from '../../events/event-actions.ts';
import type { OnExpiry, RequestEntry, Voter } from '../../protocol/gate.ts';
import type { PublicJwk } from '../../protocol/public-jwk.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { DraftEvent } from '../sessions/stored-event.ts';
import type { BeginCall, BegunCall } from '../turns/call-store.ts';

/** Rules of a request's decision; durations in milliseconds. */
export interface ApprovalTerms {
  /** Those who may decide; anybody where there are none. */
  approvers?: readonly string[];
  quorum?: number;
  expiresIn?: number;
  onExpiry?: OnExpiry;
  escalateAfter?: number;
  escalateTo?: readonly string[];
  allowEdit?: boolean;
  notRequester?: boolean;
}

/** A request as it is made. It is bound to the call's arguments: to no others, and to no other tool. */
export interface NewRequest {
  requestId: string;
  callKey: string;
  callId: string;
  kind: GateKind;
  tool: string;
  agent: string;
  /** Names of the agents from the root to the one that asks. */
  path: readonly string[];
  /** The workflow that waits for the answer, and the root's. */
  workflowId: string;
  rootWorkflowId: string;
  /** For people; never what the model wrote without saying so. */
  hint: string;
  /** As the tool gave it. */
  payload?: unknown;
  /** Those that are to run, as before-tool callbacks left them. */
  args: Record<string, unknown>;
  argsDigest: string;
  /** Of how the tool is gated, and what it takes: a tool that has changed meanwhile isn't run. */
  gateDigest: string;
  /** Names of arguments that are shown to nobody. */
  sensitive: boolean | readonly string[];
  terms: ApprovalTerms;
  /** For an input: JSON Schema of the response. */
  responseSchema?: unknown;
  /** Of a credential; without secrets. */
  authConfig?: AuthConfig;
}

/** A request by now. */
export interface ApprovalRow extends Omit<NewRequest, 'path' | 'terms'>, SessionNames {
  /** The store's internal id. */
  session: string;
  runKey: string;
  invocationId: string;
  path: string[];
  terms: ApprovalTerms;
  /** Attested sender of the message; absent where nobody has attested it. */
  requester?: string;
  status: RequestStatus;
  /** Milliseconds since the epoch. */
  since: number;
  until?: number;
  escalatedAt?: number;
  decidedAt?: number;
  /** Those whose decision counts by now, in order; votes that were taken back left out. */
  votes: { by: Voter; confirmed: boolean; at: number; of?: string }[];
  /** What has happened to it, oldest first; of the decisions that don't count the newest 20. */
  history: RecordedEntry[];
  reason?: string;
  editedArgs?: Record<string, unknown>;
  /** That of the decision. */
  answerPayload?: unknown;
  response?: unknown;
  /** Of a response that came by reference. */
  responseRef?: string;
  credentialRef?: string;
}

/** An answer to a question that travels by its reference, and is checked once the workflow has it. */
export interface KeptResponse {
  session: string;
  requestId: string;
  responseRef: string;
  response: unknown;
  /** Text of a client that knows no other: JSON, unless the request's schema takes text. */
  isText: boolean;
}

/** An entry without what the person gave. */
export type RecordedEntry = Pick<RequestEntry, 'entryId' | 'kind' | 'at' | 'by' | 'confirmed' | 'reason'>;

/** A call that runs after a person was asked. */
export interface BeginAnsweredCall extends BeginCall {
  requestId: string;
  /** Recorded first, in the same transaction; those that are recorded change nothing. */
  entries: readonly RequestEntry[];
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

/** What the store has to prove that a call may run. */
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
}

export interface AuditedRequest {
  ok: boolean;
  /** Rows that were looked at. */
  rows: number;
  /** What doesn't hold, each with the number of its row, and the name of a session below the one that was asked for. */
  problems: AuditProblem[];
  /** Signatures whose key isn't there any more, so that nobody can say whether they hold; left out where there are none. */
  unchecked?: AuditProblem[];
}

export interface AuditProblem {
  /** Number of the row. */
  n: number;
  problem: string;
  sessionId?: string;
}

/** Requests to people, votes, and what they gave. The workflow that waits is the authority; these rows list, prove and dedupe. */
export interface ApprovalStore {
  /**
   * Records what happened to requests, in order, each once; rows and audit in one transaction. A request that has ended stays as it
   * is; what came later is in the audit.
   */
  recordEntries(record: { session: string; entries: readonly RequestEntry[] }): Promise<void>;
  /**
   * Keeps a signed decision for those who verify it again, and records its entry, in one transaction. Only for a caller that has
   * verified it: the decision is trusted from then on. Repeating it changes nothing; one that was refused may count later.
   */
  recordSigned(record: { session: string; signed: SignedDecision; entry?: RequestEntry }): Promise<void>;
  /** What the store has about the requests of a call; of a call without requests nothing. */
  findEvidence(session: string, callKey: string): Promise<Evidence>;
  /** Has a pending request have waited for its time: for test environments, whose requests run out when a test says so. */
  makeDue(session: string, requestId: string): Promise<void>;
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
  verifyAudit(session: string): Promise<AuditedRequest>;
}
