import { ApplicationFailure, condition, isCancellation, workflowInfo } from '@temporalio/workflow';
import type { DecisionReceipt, RequestName } from '../../src/contract/approvals.ts';
import type { GateKind } from '../../src/contract/requests.ts';
import {
  AS_SHOWN,
  type AuditEntry,
  type Gate,
  isHeldRequest,
  type NotifyInput,
  REQUEST_PREFIX,
} from '../../src/protocol/gate.ts';
import type { PlannedCall } from '../../src/protocol/step.ts';
import { failure } from '../arguments.ts';
import { RequestNotices } from '../notices/notices.ts';
import { AuditRecorder } from './audit-recorder.ts';
import { type CheckedDecision, RAW_SECRET } from './decision.ts';
import { type Answer, answeredBefore, bareReceipt, Decisions, namesOf } from './decisions.ts';
import { EarlyReplies } from './early-replies.ts';
import {
  type AskingCall,
  type ClosedRequests,
  type PendingRequest,
  RequestBook,
  type RequestEnding,
  VoteTally,
} from './request-book.ts';
import { watchTime } from './request-timers.ts';

/** The turn that asks. */
export interface Asker extends Pick<NotifyInput, 'app' | 'userId' | 'sessionId' | 'workflowId'> {
  /** The store's id of the session, once it is known. */
  session(): string | undefined;
  /** For an operator to read. */
  note(text: string): void;
}

const NOT_IN_TIME = 'nobody answered in time';

/**
 * The requests of a turn to people, and the answers. A request ends once, and its call waits for that:
 *
 *     (none) ──▶ pending: the call asks
 *     pending ─▶ pending: a vote, a vote that is taken back, an escalation
 *     pending ─▶ approved: enough votes, or an expiry with `onExpiry: 'approve'`
 *     pending ─▶ rejected: one rejection
 *     pending ─▶ answered: an input, or a credential
 *     pending ─▶ expired: no answer in time
 *     pending ─▶ cancelled: the call or its turn is cancelled
 *
 * A question that an activity holds open is one of them, but no call waits for it: `HeldQuestions`.
 */
export class Requests {
  readonly #asker: Asker;
  readonly #book: RequestBook;
  readonly #recorder: AuditRecorder;
  readonly #notices: RequestNotices;
  readonly #early = new EarlyReplies();
  readonly #decisions: Decisions;

  /** @param closed requests of earlier runs; kept up to date. */
  constructor(closed: ClosedRequests, asker: Asker) {
    this.#book = new RequestBook(closed);
    this.#asker = asker;
    this.#recorder = new AuditRecorder(asker);
    this.#decisions = new Decisions(asker, (request, answer) => this.#end(request, answer));
    const { app, userId, sessionId, workflowId } = asker;
    this.#notices = new RequestNotices({ app, userId, sessionId, workflowId });
  }

  get pending(): PendingRequest[] {
    return this.#book.pending;
  }

  /** No decision and no record is on its way. */
  get finished(): boolean {
    return this.#recorder.finished && this.#decisions.finished;
  }

  /** Whether people are being told of requests that have ended. */
  get isNotifyingEnds(): boolean {
    return this.#notices.isNotifyingEnds;
  }

  /** As {@link RequestNotices.endsNotified}. */
  endsNotified(isBusy: () => boolean = () => false): Promise<void> {
    return this.#notices.endsNotified(isBusy);
  }

  /** A step is asked for, which may ask people before it answers. */
  asking(runKey: string, step: number): void {
    this.#early.asking(runKey, step);
  }

  /** The calls of the step are known; there are none where it has failed or ended the turn. */
  planned(calls: readonly Pick<PlannedCall, 'callKey'>[]): void {
    this.#noteUnknownRequests(this.#early.planned(calls.map(({ callKey }) => callKey)));
  }

  /** A call has ended, and asks no more. */
  ended({ callKey }: Pick<PlannedCall, 'callKey'>): void {
    this.#noteUnknownRequests(this.#early.ended(callKey));
  }

  /** Asks, and waits for the answer. Cancelling the call's scope cancels the request. */
  async ask(call: AskingCall, gate: Gate): Promise<RequestEnding> {
    const since = Date.now();
    const request: PendingRequest = {
      call,
      gate,
      since,
      until: gate.expiresIn === undefined ? undefined : since + gate.expiresIn,
      escalated: false,
      expiring: false,
      votes: new VoteTally(gate.quorum, gate.votes),
      entries: 0,
    };
    this.#book.add(request);
    if (gate.ended !== undefined) this.#end(request, { status: gate.ended });
    else if (!this.#endBy(request)) this.#notices.opened(request);
    for (const decision of this.#early.take(gate.requestId)) this.signalled(decision);
    // Decided by a signal that came before the request, or before this workflow.
    if (request.ending !== undefined) return request.ending;
    const timers = watchTime(request, {
      escalate: () => this.#escalate(request),
      expire: () => this.#expire(request),
    });
    try {
      await condition(() => request.ending !== undefined);
      if (request.ending === undefined) throw new Error('a request that is waited for ends');
      return request.ending;
    } finally {
      timers.cancel();
      if (request.ending === undefined) this.#end(request, { status: 'cancelled' });
    }
  }

  /** Asks beside the call's activity, which goes on and reads the answer from the store. Asked again, it changes nothing. */
  hold(call: AskingCall, gate: Gate): void {
    if (this.#book.has(gate.requestId)) return;
    void this.ask(call, gate).catch((error) => {
      if (!isCancellation(error)) throw error;
    });
  }

  /** Nobody waits for the answer to a question that an activity has held open. */
  endHeld(requestId: string, status: 'expired' | 'cancelled'): void {
    const request = this.pending.find(({ gate }) => gate.requestId === requestId);
    if (request === undefined) return;
    this.#end(request, { status, ...(status === 'expired' ? { reason: NOT_IN_TIME } : {}) });
  }

  /** The call alone was cancelled, with the request that it waited for; what ends with a turn is recorded with its end. */
  cancelled(callKey: string, reason: string): void {
    const known = this.#known({ callKey });
    if (known === undefined || isHeldRequest(known.requestId)) return;
    if (this.#book.closed(known.requestId)?.status !== 'cancelled') return;
    this.#record(known.requestId, known.counter, 'cancelled', reason);
  }

  /** The activity that should have recorded the answer has ended without an outcome, and may never have begun. */
  unheard({ answered }: RequestEnding): void {
    const session = this.#asker.session();
    if (session === undefined) return;
    for (const entry of answered.entries) this.#recorder.record(session, entry);
  }

  /** The question of the only pending request; undefined where there is not exactly one. */
  kindOf(name: RequestName): GateKind | undefined {
    try {
      const found = this.#book.find(name);
      return found.kind === 'pending' ? found.request.gate.kind : undefined;
    } catch {
      return undefined;
    }
  }

  /** The state of the named request in this turn. */
  knowledgeOf(name: RequestName): 'pending' | 'closed' | 'nothing' {
    if (this.#isEarly(name)) return 'pending';
    try {
      return this.#book.find(name).kind;
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
      return error.type === 'AmbiguousRequest' ? 'pending' : 'nothing';
    }
  }

  /** Whether an answer by this id is one to a request, and not one to a call. */
  knows(id: string): boolean {
    if (id.startsWith(REQUEST_PREFIX) && (this.#book.has(id) || this.#early.expects(id))) return true;
    return this.#book.hasCall(id);
  }

  /** @throws ApplicationFailure where {@link decide} would. */
  check(decision: CheckedDecision): void {
    if (this.#isEarly(decision.name)) return;
    const found = this.#book.find(decision.name);
    if (found.kind === 'pending') this.#decisions.check(found.request, decision);
    else answeredBefore(found.requestId, found.closed, decision);
  }

  /** @throws ApplicationFailure that says why it changes nothing. */
  decide(decision: CheckedDecision): DecisionReceipt | Promise<DecisionReceipt> {
    const { requestId } = decision.name;
    if (requestId !== undefined && this.#isEarly(decision.name)) {
      if (this.#early.keep(requestId, decision)) return { ...bareReceipt(requestId), status: 'kept' };
      const problem = 'too many answers to requests that are not there yet: send it again later';
      throw failure('NotPending', problem, { field: 'requestId', requestId });
    }
    const found = this.#book.find(decision.name);
    if (found.kind === 'closed') return answeredBefore(found.requestId, found.closed, decision);
    return this.#decisions.take(found.request, decision);
  }

  /** A signal has no answer: the reason why it changes nothing is noted. */
  signalled(decision: CheckedDecision): void {
    try {
      const receipt = this.decide(decision);
      if (!(receipt instanceof Promise)) return;
      void receipt.then(
        ({ status, requestId, reason = '' }) => {
          if (status === 'refused') this.#asker.note(`decision on ${requestId} refused: ${reason}`);
        },
        (error) => this.refused(decision.name, error),
      );
    } catch (error) {
      this.refused(decision.name, error);
    }
  }

  /** The signal is no decision, or changes nothing. It is noted for operators and, if the request is known, in its audit. */
  refused(name: RequestName, error: unknown): void {
    const reason = reasonOf(error);
    this.#asker.note(reason);
    const known = this.#known(name);
    if (known !== undefined) this.#record(known.requestId, known.counter, 'refused', reason);
  }

  /**
   * Ends a pending request now as if its time were over.
   *
   * @throws ApplicationFailure of type `NotPending`
   */
  async expireNow(name: RequestName): Promise<void> {
    await this.#expire(this.pendingRequest(name));
  }

  /** @throws ApplicationFailure of type `NotPending` */
  pendingRequest(name: RequestName): PendingRequest {
    const found = this.#book.find(name);
    if (found.kind === 'pending') return found.request;
    const { requestId, closed } = found;
    throw failure('NotPending', `${requestId} was ${closed.status}`, {
      requestId,
      status: closed.status,
    });
  }

  #end(request: PendingRequest, answer: Answer): void {
    const { requestId } = request.gate;
    const { status, carriedArgs, people = [], answer: digest, ...given } = answer;
    request.entries += 1;
    const entry: AuditEntry = {
      entryId: `${requestId}/${request.entries}`,
      requestId,
      kind: status,
      at: Date.now(),
      ...given,
    };
    const ending: RequestEnding = {
      status,
      // Decisions from the store are recorded already.
      answered: { requestId, entries: status === 'cancelled' || request.gate.ended ? [] : [entry] },
      people,
      reason: given.reason,
      args: carriedArgs,
    };
    this.#book.close(request, ending, digest);
    // No activity begins with the answer, and records it.
    if (isHeldRequest(requestId)) this.#recorder.record(request.call.session, entry);
    this.#decisions.forget(request);
    this.#notices.ended(request);
  }

  /** Enough people had approved when the workflow was cut off that they told. */
  #endBy(request: PendingRequest): boolean {
    const votes = request.votes.of(AS_SHOWN);
    const last = votes.at(-1);
    if (last === undefined || votes.length < request.votes.quorum) return false;
    const people = namesOf(votes.map((vote) => vote.by));
    this.#end(request, { status: 'approved', by: last.by, people, answer: AS_SHOWN });
    return true;
  }

  #escalate(request: PendingRequest): void {
    if (request.escalated || request.ending !== undefined) return;
    request.escalated = true;
    this.#decisions.changed(request);
    this.#record(request.gate.requestId, request, 'escalated');
    this.#notices.escalated(request);
  }

  async #expire(request: PendingRequest): Promise<boolean> {
    const { onExpiry = 'reject', expiresIn = 0, kind } = request.gate;
    // Answers from now on are too late; those that have come are in time.
    request.expiring = true;
    await this.#decisions.lookedAt(request);
    if (request.ending !== undefined) return false;
    if (onExpiry === 'escalate' && !request.extended) {
      request.extended = true;
      request.expiring = false;
      request.until = Date.now() + expiresIn;
      this.#escalate(request);
      // The first entry says also who may decide; another one tells the store that they have longer.
      if (request.gate.escalateAfter !== undefined)
        this.#record(request.gate.requestId, request, 'escalated');
      return true;
    }
    if (onExpiry === 'approve' && kind === 'confirmation') {
      this.#end(request, { status: 'approved', reason: NOT_IN_TIME, answer: AS_SHOWN });
    } else {
      this.#end(request, { status: 'expired', reason: NOT_IN_TIME });
    }
    return false;
  }

  #record(requestId: string, counter: { entries: number }, kind: AuditEntry['kind'], reason?: string): void {
    const session = this.#asker.session();
    if (session === undefined) return;
    counter.entries += 1;
    const entryId = `${requestId}/${counter.entries}`;
    this.#recorder.record(session, { entryId, requestId, kind, at: Date.now(), reason });
  }

  #isEarly({ requestId }: RequestName): boolean {
    return requestId !== undefined && !this.#book.has(requestId) && this.#early.expects(requestId);
  }

  /** Undefined where no single request is meant. */
  #known(name: RequestName): { requestId: string; counter: { entries: number } } | undefined {
    try {
      const found = this.#book.find(name);
      if (found.kind === 'closed') return { requestId: found.requestId, counter: found.closed };
      return { requestId: found.request.gate.requestId, counter: found.request };
    } catch {
      return undefined;
    }
  }

  #noteUnknownRequests(requestIds: readonly string[]): void {
    for (const requestId of requestIds)
      this.#asker.note(`decision on ${requestId} refused: there is no such request`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ApplicationFailure && error.type === RAW_SECRET) {
    const { runId } = workflowInfo();
    return `a raw secret was sent to run ${runId}, whose history keeps it: replace the secret, and delete the run`;
  }
  return error instanceof Error ? error.message : String(error);
}
