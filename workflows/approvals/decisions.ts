import { CancellationScope, scheduleActivity } from '@temporalio/workflow';
import type { DecisionReceipt, Voter } from '../../src/contract/approvals.ts';
import { UNVERIFIED } from '../../src/contract/decision-limits.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import {
  type AuditEntry,
  callKeyOfRequest,
  type VerifiedDecision,
  type VerifyDecisionInput,
  versionOf,
} from '../../src/protocol/gate.ts';
import { VERIFY_DECISION } from '../../src/protocol/names.ts';
import { turnPriority, type User, usable, verifyDecisionOptions } from '../activities.ts';
import { failure } from '../arguments.ts';
import { answerDigest, type CheckedDecision, decisionDigest, rawArgument, rawResponse } from './decision.ts';
import type { ClosedRequest, PendingRequest, RequestEnding } from './request-book.ts';

type Verified = Extract<VerifiedDecision, { counts: true }>;

export interface Answer
  extends Pick<
    AuditEntry,
    'by' | 'reason' | 'args' | 'payload' | 'response' | 'responseRef' | 'credentialRef'
  > {
  status: RequestEnding['status'];
  /** The arguments to run, as the history carries them. */
  carriedArgs?: RequestEnding['args'];
  /** Names for the summary of what comes of it. */
  people?: string[];
  /** Digest by which the same answer is known again. */
  answer?: string;
}

/** Decisions of one request that are looked at one after another, in the order in which they came. */
interface Line {
  last: Promise<unknown>;
  /** By their words: a sender may ask by update for the receipt of a signal. */
  inWork: Map<string, Promise<DecisionReceipt>>;
  refused: Map<string, DecisionReceipt>;
}

const MOST_IN_LINE = 64;
const VOTED_OTHERWISE = 'this person has voted otherwise: withdraw that vote first';
const NOBODY: Voter = { principal: UNVERIFIED, verified: false };

const ASKED_FOR = {
  confirmation: 'a confirmation: send confirm',
  input: 'input: send provideInput',
  credential: 'a credential: send provideCredential',
} as const;

/** Decides requests: at once where anybody may, else as an activity finds. */
export class Decisions {
  readonly #user: User;
  readonly #close: (request: PendingRequest, answer: Answer) => void;
  readonly #lines = new Map<PendingRequest, Line>();

  /** @param close ends a request. */
  constructor(user: User, close: (request: PendingRequest, answer: Answer) => void) {
    this.#user = user;
    this.#close = close;
  }

  /** No decision is being looked at. */
  get finished(): boolean {
    return [...this.#lines.values()].every(({ inWork }) => inWork.size === 0);
  }

  /** Resolves when all that came before has been looked at. */
  async lookedAt(request: PendingRequest): Promise<void> {
    await this.#lines.get(request)?.last;
  }

  /** Others may decide from now on, or a vote is free again: what was refused may count. */
  changed(request: PendingRequest): void {
    this.#lines.get(request)?.refused.clear();
  }

  forget(request: PendingRequest): void {
    if (this.#lines.get(request)?.inWork.size === 0) this.#lines.delete(request);
  }

  /** @throws ApplicationFailure where it fits no request of this kind. */
  check({ call, gate, expiring }: PendingRequest, { kind, session, confirm, input }: CheckedDecision): void {
    const { requestId } = gate;
    if (session !== undefined && session !== call.session) {
      const problem = `${requestId} is of another session than the one that was shown: look at it again`;
      throw failure('OtherRequest', problem, { field: 'session', requestId });
    }
    if (expiring) throw expired(requestId);
    if (kind !== gate.kind) {
      const problem = `${requestId} asks for ${ASKED_FOR[gate.kind]}`;
      throw failure('InvalidDecision', problem, { field: 'requestId', requestId });
    }
    if (confirm?.args !== undefined && gate.allowEdit !== true) {
      const problem = `args: ${requestId} takes no changed arguments: approve or reject what was shown`;
      throw failure('InvalidDecision', problem, { field: 'args', requestId });
    }
    const fixed = gate.fixed?.find((name) => Object.hasOwn(confirm?.args ?? {}, name));
    if (fixed !== undefined) throw rawArgument(fixed);
    if (gate.concealed === true && input?.response !== undefined) throw rawResponse();
  }

  /** @throws ApplicationFailure as {@link check}; also where too many wait. */
  take(request: PendingRequest, decision: CheckedDecision): DecisionReceipt | Promise<DecisionReceipt> {
    this.check(request, decision);
    const words = decisionDigest(decision);
    if (request.votes.hasGiven(words)) return receiptOf(request, 'duplicate');
    const line = this.#lines.get(request);
    const known = line?.inWork.get(words) ?? line?.refused.get(words);
    if (known !== undefined) {
      line?.refused.delete(words);
      return known;
    }
    if (line === undefined || line.inWork.size === 0) {
      if (!needsCheck(request, decision)) return this.#decide(request, decision);
    } else if (line.inWork.size >= MOST_IN_LINE) {
      const problem = `${MOST_IN_LINE} decisions are being checked: send it again later`;
      throw failure('InvalidDecision', problem, { requestId: request.gate.requestId });
    }
    return this.#enqueue(request, decision, words);
  }

  #enqueue(request: PendingRequest, decision: CheckedDecision, words: string): Promise<DecisionReceipt> {
    const line: Line = this.#lines.get(request) ?? {
      last: Promise.resolve(),
      inWork: new Map(),
      refused: new Map(),
    };
    this.#lines.set(request, line);
    // Also while the turn is being ended: the sender gets a receipt.
    const receipt = CancellationScope.nonCancellable(async () => {
      await line.last;
      return await this.#lookAt(request, decision);
    });
    line.inWork.set(words, receipt);
    line.last = receipt.then(
      (given) => {
        line.inWork.delete(words);
        if (given.status === 'refused') line.refused.set(words, given);
        if (request.ending !== undefined) this.forget(request);
      },
      () => {
        line.inWork.delete(words);
        if (request.ending !== undefined) this.forget(request);
      },
    );
    return receipt;
  }

  async #lookAt(request: PendingRequest, decision: CheckedDecision): Promise<DecisionReceipt> {
    if (request.closed !== undefined) {
      return answeredBefore(request.gate.requestId, request.closed, decision);
    }
    if (!needsCheck(request, decision)) return this.#decide(request, decision);
    const verdict = countedAgain(request, decision, await verify(this.#user, request, decision));
    if (!verdict.counts) {
      const isSame = verdict.duplicate === true && !hasApprovedOther(request, decision, verdict.by);
      if (isSame) return receiptOf(request, 'duplicate', verdict.reason);
      return receiptOf(request, 'refused', verdict.duplicate ? VOTED_OTHERWISE : verdict.reason);
    }
    const ended = request.closed as ClosedRequest | undefined;
    if (ended !== undefined)
      return receiptOf(request, 'refused', `the request was ${ended.status} meanwhile`);
    return this.#count(request, decision, verdict);
  }

  #decide(request: PendingRequest, decision: CheckedDecision): DecisionReceipt {
    const { confirmed = false, reason, payload } = decision.confirm ?? {};
    const status = confirmed ? 'approved' : 'rejected';
    this.#close(request, {
      status,
      by: NOBODY,
      answer: answerDigest(decision),
      reason,
      payload,
    });
    return receiptOf(request, status);
  }

  #count(request: PendingRequest, decision: CheckedDecision, verdict: Verified): DecisionReceipt {
    const { confirm, input, credential } = decision;
    const { by } = verdict;
    const people = namesOf([by]);
    if (input !== undefined) {
      const { responseRef } = input;
      const response = verdict.response === undefined ? input.response : verdict.response;
      const given = responseRef === undefined ? { response } : { responseRef };
      this.#close(request, { status: 'answered', by, people, answer: answerDigest(decision), ...given });
      return receiptOf(request, 'answered');
    }
    if (credential !== undefined) {
      const { credentialRef } = credential;
      this.#close(request, { status: 'answered', by, people, answer: answerDigest(decision), credentialRef });
      return receiptOf(request, 'answered');
    }
    if (confirm === undefined) throw new Error('a decision is of one kind');
    if (confirm.withdraw) {
      if (!request.votes.withdraw(by)) return receiptOf(request, 'refused', 'no vote of this person counts');
      this.changed(request);
      return receiptOf(request, 'withdrawn');
    }
    const { reason, args, payload } = confirm;
    const of = versionOf(confirm);
    const before = request.votes.voteOf(by);
    if (before !== undefined) {
      if (confirm.confirmed && before.of === of) return receiptOf(request, 'duplicate');
      return receiptOf(request, 'refused', VOTED_OTHERWISE);
    }
    const given = {
      by,
      reason,
      payload,
    };
    if (!confirm.confirmed) {
      this.#close(request, { ...given, status: 'rejected', people, answer: answerDigest(decision) });
      return receiptOf(request, 'rejected');
    }
    request.votes.add({ by, of, given: decisionDigest(decision) });
    if (request.votes.of(of).length < request.votes.quorum) {
      this.changed(request);
      return { ...receiptOf(request, 'counted'), approvals: request.votes.of(of).length };
    }
    this.#close(request, {
      ...given,
      status: 'approved',
      people: namesOf(request.votes.of(of).map((vote) => vote.by)),
      answer: answerDigest(decision),
      ...(args === undefined ? {} : { args, carriedArgs: verdict.args ?? { value: args } }),
    });
    return receiptOf(request, 'approved');
  }
}

/** The receipt of an answer to a request that has ended. */
export function answeredBefore(
  requestId: string,
  closed: ClosedRequest,
  decision: CheckedDecision,
): DecisionReceipt {
  const { status, answer } = closed;
  if (answer !== undefined && answer === answerDigest(decision) && decision.confirm?.withdraw === undefined) {
    return { ...bareReceipt(requestId), status: 'duplicate', reason: `it was ${status} before` };
  }
  if (status === 'expired') throw expired(requestId);
  const details = { field: 'requestId', requestId, status };
  if (status === 'cancelled') {
    throw failure('NotPending', `${requestId} was cancelled: its call has ended`, details);
  }
  const other = decision.confirm?.confirmed === (status === 'approved') ? ', otherwise' : '';
  throw failure('AlreadyAnswered', `${requestId} was ${status} before${other}`, details);
}

export function bareReceipt(requestId: string): Pick<DecisionReceipt, 'v' | 'requestId' | 'callKey'> {
  return { v: PROTOCOL_VERSION, requestId, callKey: callKeyOfRequest(requestId) ?? '' };
}

function expired(requestId: string) {
  const problem = `${requestId} has expired: nobody answered in time`;
  return failure('RequestExpired', problem, { field: 'requestId', requestId, status: 'expired' });
}

/** The names of verified voters. */
export function namesOf(voters: readonly Voter[]): string[] {
  return voters.filter(({ verified }) => verified).map(({ principal }) => principal);
}

/** Anything but a plain yes or no to a request that anybody may decide. */
function needsCheck({ gate, votes }: PendingRequest, { kind, confirm }: CheckedDecision): boolean {
  if (kind !== 'confirmation' || gate.attested === true || votes.quorum > 1) return true;
  return confirm?.attestation !== undefined || confirm?.args !== undefined || confirm?.withdraw !== undefined;
}

/** An approval, too, but of other arguments or with another payload: this one doesn't count. */
function hasApprovedOther(
  { votes }: PendingRequest,
  { confirm }: CheckedDecision,
  by: Voter | undefined,
): boolean {
  const vote = by === undefined ? undefined : votes.voteOf(by);
  return confirm !== undefined && vote !== undefined && vote.of !== versionOf(confirm);
}

/**
 * A vote that the store has, and this run doesn't: it was reset, or never got the result of the check. Only for the shown
 * arguments: others were not checked.
 */
function countedAgain(
  { votes }: PendingRequest,
  { confirm }: CheckedDecision,
  verdict: VerifiedDecision,
): VerifiedDecision {
  if (verdict.counts || verdict.duplicate !== true || verdict.by === undefined) return verdict;
  const { v, by } = verdict;
  if (confirm?.args !== undefined || votes.voteOf(by) !== undefined) return verdict;
  return { v, counts: true, by };
}

async function verify(
  user: User,
  request: PendingRequest,
  decision: CheckedDecision,
): Promise<VerifiedDecision> {
  const { call, gate, escalated } = request;
  const { session, agent, invocationId, callKey, callId, tool } = call;
  const { requestId } = gate;
  const { kind, confirm, input, credential, isText } = decision;
  request.entries += 1;
  const given: VerifyDecisionInput = {
    v: PROTOCOL_VERSION,
    session,
    agent,
    invocationId,
    callKey,
    callId,
    tool,
    requestId,
    kind,
    entryId: `${requestId}/${request.entries}`,
    at: Date.now(),
    escalated,
    confirm,
    input,
    credential,
    isText,
  };
  try {
    const options = verifyDecisionOptions(`${tool} · decision on ${requestId}`, turnPriority(user));
    const verdict = await scheduleActivity<VerifiedDecision>(VERIFY_DECISION, [given], options);
    return usable(VERIFY_DECISION, RESULTS.verifiedDecision, verdict);
  } catch {
    // The activity says what went wrong; it is not tried again where trying can't help.
    const reason = 'it could not be checked; see the failed activity';
    return { v: PROTOCOL_VERSION, counts: false, reason };
  }
}

function receiptOf(
  request: PendingRequest,
  status: DecisionReceipt['status'],
  reason?: string,
): DecisionReceipt {
  const { gate, call, votes } = request;
  return {
    v: PROTOCOL_VERSION,
    requestId: gate.requestId,
    callKey: call.callKey,
    status,
    reason,
    ...(votes.quorum > 1 ? { approvals: votes.approvals, quorum: votes.quorum } : {}),
  };
}
