import type { RequestName, Voter } from '../../src/contract/approvals.ts';
import type { RequestStatus } from '../../src/contract/requests.ts';
import { callKeyOfRequest, type Gate, type KnownVote, type WaitingRequest } from '../../src/protocol/gate.ts';
import type { AnsweredGate, PlannedCall } from '../../src/protocol/step.ts';
import { failure } from '../arguments.ts';

/** A call that asks, and whose it is. */
export interface AskingCall extends Pick<PlannedCall, 'callKey' | 'callId' | 'tool' | 'summary'> {
  session: string;
  agent: string;
  invocationId: string;
  /** Names of the agents from the root to the one that asks. */
  path: readonly string[];
}

/** How a request has ended, for the call that waits. */
export interface RequestEnding {
  status: Exclude<RequestStatus, 'pending'>;
  answered: AnsweredGate;
  /** Names of the verified voters. */
  people: string[];
  reason?: string;
  /** In place of those that were shown. */
  args?: PlannedCall['args'];
}

export interface PendingRequest {
  call: AskingCall;
  gate: Gate;
  /** Milliseconds since the epoch. */
  since: number;
  /** Milliseconds since the epoch; absent where it doesn't expire. */
  until?: number;
  /** Those of `escalateTo` may decide. */
  escalated: boolean;
  /** Answers from now on are too late. */
  expiring: boolean;
  /** It has expired once, and goes on for those of `escalateTo`. */
  extended?: true;
  votes: VoteTally;
  /** Number of the newest entry. */
  entries: number;
  ending?: RequestEnding;
  /** Once it has ended. */
  closed?: ClosedRequest;
}

/** The kept part of an ended request, which may be answered again. */
export interface ClosedRequest {
  callId: string;
  status: RequestEnding['status'];
  /** Digest of the answer; absent without one. */
  answer?: string;
  entries: number;
}

/** The newest ended requests, by request id, which a chain carries from run to run. */
export type ClosedRequests = Record<string, ClosedRequest>;

export type FoundRequest =
  | { kind: 'pending'; request: PendingRequest }
  | { kind: 'closed'; requestId: string; closed: ClosedRequest };

const MOST_CLOSED = 256;
const MOST_NAMED = 8;

/** The requests of a turn: those that wait, and those that have ended. */
export class RequestBook {
  readonly #pending = new Map<string, PendingRequest>();
  readonly #closed: ClosedRequests;

  /** @param closed of earlier runs; kept up to date. */
  constructor(closed: ClosedRequests) {
    this.#closed = closed;
  }

  get pending(): PendingRequest[] {
    return [...this.#pending.values()];
  }

  add(request: PendingRequest): void {
    this.#pending.set(request.gate.requestId, request);
  }

  close(request: PendingRequest, ending: RequestEnding, answer?: string): void {
    const { requestId } = request.gate;
    request.ending = ending;
    this.#pending.delete(requestId);
    request.closed = {
      callId: request.call.callId,
      status: ending.status,
      answer,
      entries: request.entries,
    };
    this.#closed[requestId] = request.closed;
    const ids = Object.keys(this.#closed);
    for (const id of ids.slice(0, Math.max(0, ids.length - MOST_CLOSED))) delete this.#closed[id];
  }

  closed(requestId: string): ClosedRequest | undefined {
    return Object.hasOwn(this.#closed, requestId) ? this.#closed[requestId] : undefined;
  }

  has(requestId: string): boolean {
    return this.#pending.has(requestId) || Object.hasOwn(this.#closed, requestId);
  }

  /** Whether a pending request is this call's. */
  hasCall(callId: string): boolean {
    return this.pending.some(({ call }) => call.callId === callId);
  }

  /**
   * By its id; else by its call, whose pending request it is, or else the latest that has ended; else the only pending one.
   *
   * @throws ApplicationFailure of type `NotPending`, or `AmbiguousRequest` where several pending ones fit.
   */
  find({ requestId, callKey, callId }: RequestName): FoundRequest {
    if (requestId !== undefined) {
      return this.#only([this.#pending.get(requestId)], 'requestId', (id) => id === requestId);
    }
    if (callKey !== undefined) {
      const fitting = this.pending.filter(({ call }) => call.callKey === callKey);
      return this.#only(fitting, 'callKey', (id) => callKeyOfRequest(id) === callKey);
    }
    if (callId !== undefined) {
      const fitting = this.pending.filter(({ call }) => call.callId === callId);
      return this.#only(fitting, 'callId', (_id, closed) => closed.callId === callId);
    }
    return this.#only(this.pending, 'requestId', () => false);
  }

  #only(
    fitting: (PendingRequest | undefined)[],
    field: string,
    wasMeant: (requestId: string, closed: ClosedRequest) => boolean,
  ): FoundRequest {
    const [request, another] = fitting;
    if (another !== undefined) {
      const ids = fitting.flatMap((one) => one?.gate.requestId ?? []);
      throw failure(
        'AmbiguousRequest',
        `${field}: several requests are pending, name one by its id: ${listed(ids)}`,
        { field, requestIds: ids },
      );
    }
    if (request !== undefined) return { kind: 'pending', request };
    const closed = Object.entries(this.#closed).findLast(([id, one]) => wasMeant(id, one));
    if (closed !== undefined) return { kind: 'closed', requestId: closed[0], closed: closed[1] };
    const ids = [...this.#pending.keys()];
    throw failure('NotPending', `${field}: no such request is pending; pending: ${listed(ids)}`, {
      field,
      requestIds: ids,
    });
  }
}

/** As the query `status` tells of it. */
export function waitingRequest({ call, gate, since, until, votes }: PendingRequest): WaitingRequest {
  return {
    requestId: gate.requestId,
    kind: gate.kind,
    callKey: call.callKey,
    callId: call.callId,
    tool: call.tool,
    path: [...call.path],
    hint: gate.hint,
    since,
    until,
    votes: { approvals: votes.approvals, quorum: votes.quorum },
  };
}

/** The first ones, and how many more there are. */
export function listed(ids: readonly string[]): string {
  if (ids.length === 0) return 'none';
  const more = ids.length - MOST_NAMED;
  return ids.slice(0, MOST_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** An approval that counts. */
export interface Vote extends KnownVote {
  /** Equal for decisions that say the same in the same words. */
  given: string;
}

/** Approvals of one request by different people; a rejection that counts ends it at once. */
export class VoteTally {
  readonly quorum: number;
  readonly #votes = new Map<string, Vote>();

  /** @param known of before, by an earlier workflow: nobody knows their words any more. */
  constructor(quorum = 1, known: readonly KnownVote[] = []) {
    this.quorum = quorum;
    for (const vote of known) this.add({ ...vote, given: '' });
  }

  /** Approvals of the arguments with the most of them. */
  get approvals(): number {
    return Math.max(0, ...[...this.#votes.values()].map(({ of }) => this.of(of).length));
  }

  of(version: string): Vote[] {
    return [...this.#votes.values()].filter((vote) => vote.of === version);
  }

  voteOf({ principal }: Voter): Vote | undefined {
    return this.#votes.get(principal);
  }

  /** Whether these very words count already. */
  hasGiven(given: string): boolean {
    return [...this.#votes.values()].some((vote) => vote.given === given);
  }

  add(vote: Vote): void {
    this.#votes.set(vote.by.principal, vote);
  }

  withdraw({ principal }: Voter): boolean {
    return this.#votes.delete(principal);
  }
}
