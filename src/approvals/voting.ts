import type { Voter } from '../contract/approvals.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import type { AuditEntry } from '../protocol/gate.ts';
import type { Decision } from './decision-attestation.ts';

/** Rules for a decision, by the workflow and the app. */
export interface VotingRules {
  /** Those of `escalateTo` may decide. */
  escalated: boolean;
  /** The app trusts every sender of signals. */
  trustTemporal: boolean;
}

/** A decision whose signature holds, or that has none. */
export interface CastVote {
  by: Voter;
  decision: Decision;
  confirmed: boolean;
  /** Of the entry that it is to be recorded as. */
  entry: Pick<AuditEntry, 'entryId' | 'at'>;
}

type VoteStatus = { counts: true; recorded: boolean } | { counts: false; reason: string; duplicate?: true };

type Asked = Pick<ApprovalRow, 'terms' | 'requester'>;

/** Whether decisions about a request count only with an attestation. */
export function needsAttestation({ terms }: Pick<Asked, 'terms'>): boolean {
  const { approvers, quorum = 1, notRequester } = terms;
  return approvers !== undefined || quorum > 1 || notRequester === true;
}

/**
 * Whether a request has escalated by some time of the store's: those of `escalateTo` may decide from then on.
 *
 * @param at milliseconds since the epoch.
 */
export function hasEscalated({ terms, since }: Pick<ApprovalRow, 'terms' | 'since'>, at: number): boolean {
  const { escalateAfter, expiresIn, onExpiry } = terms;
  const times = [escalateAfter, onExpiry === 'escalate' ? expiresIn : undefined];
  return times.some((time) => time !== undefined && at >= since + time);
}

/**
 * When a request expires at the latest, by the store's times: what a workflow says of it is a claim.
 *
 * @returns milliseconds since the epoch; undefined where it never does.
 */
export function endOf({ terms, since }: Pick<ApprovalRow, 'terms' | 'since'>): number | undefined {
  const { expiresIn, onExpiry } = terms;
  if (expiresIn === undefined) return undefined;
  return since + (onExpiry === 'escalate' ? 2 : 1) * expiresIn;
}

/** The reason why no decision of this person counts; undefined if one may count. */
export function refusalOfVoter(
  request: Asked,
  by: Voter,
  { escalated, trustTemporal }: VotingRules,
): string | undefined {
  const { approvers, escalateTo = [], notRequester } = request.terms;
  if (!by.verified) {
    return trustTemporal || !needsAttestation(request)
      ? undefined
      : 'only decisions with an attestation count for this request, and this one has none';
  }
  const mayDecide =
    approvers === undefined ||
    approvers.includes(by.principal) ||
    (escalated && escalateTo.includes(by.principal));
  if (!mayDecide) return 'this person may not decide the request';
  if (notRequester !== true) return undefined;
  if (request.requester === by.principal) return 'the requester of the call may not decide';
  // A plain decision would count as well.
  return request.requester === undefined && !trustTemporal
    ? 'the requester of the call may not decide, and no attestation says who that was'
    : undefined;
}

/** Whether an attested answer of this person could count by now: whom it could not is asked in vain. A worker decides whether it does. */
export function couldAnswer(
  request: Pick<ApprovalRow, 'terms' | 'requester' | 'since' | 'votes'>,
  person: string,
): boolean {
  const by = { principal: person, verified: true };
  if (request.votes.some((vote) => isSame(vote.by, by))) return false;
  const escalated = hasEscalated(request, Date.now());
  return refusalOfVoter(request, by, { escalated, trustTemporal: false }) === undefined;
}

/**
 * The effect of a decision beside those that are recorded: one attestation counts once, one person has one vote, and it is taken back
 * before it is changed. An attempt that recorded this very decision and died changes nothing of that.
 */
export function voteStatus(
  { votes, history }: Pick<ApprovalRow, 'votes' | 'history'>,
  cast: CastVote,
): VoteStatus {
  const { by, decision, confirmed } = cast;
  const vote = votes.find((other) => isSame(other.by, by));
  const recorded = history.some((entry) => isRecordOf(entry, cast));
  const wasUsed = history.some((entry) => hasUsed(entry, by));
  if (decision === 'withdraw') {
    if (recorded) return { counts: true, recorded };
    if (wasUsed) return refused('the attestation has been used before');
    if (vote === undefined) return refused('there is no vote of this person to take back');
    if (vote.confirmed === confirmed) return { counts: true, recorded };
    return refused(
      `the vote of this person is ${vote.confirmed ? 'an approval' : 'a rejection'}, not the other one`,
    );
  }
  if (vote !== undefined) {
    if (vote.confirmed !== confirmed) {
      return refused('this person has decided otherwise: that vote is to be withdrawn first');
    }
    return recorded
      ? { counts: true, recorded }
      : { ...refused('this person has decided so before'), duplicate: true };
  }
  if (wasUsed) return refused('the attestation has been used before, for a vote that was taken back');
  if (recorded) return refused('this vote was taken back');
  return { counts: true, recorded };
}

function refused(reason: string): { counts: false; reason: string } {
  return { counts: false, reason };
}

/** A plain signal can't pose as somebody who has signed. */
function isSame(one: Voter, other: Voter): boolean {
  return one.principal === other.principal && one.verified === other.verified;
}

function isRecordOf(
  entry: ApprovalRow['history'][number],
  { by, decision, confirmed, entry: own }: CastVote,
): boolean {
  return (
    entry.entryId === own.entryId &&
    entry.at === own.at &&
    entry.kind === (decision === 'withdraw' ? 'withdrawn' : 'voted') &&
    entry.confirmed === confirmed &&
    entry.by !== undefined &&
    isSame(entry.by, by) &&
    entry.by.attestation === by.attestation
  );
}

function hasUsed(entry: ApprovalRow['history'][number], { attestation }: Voter): boolean {
  return attestation !== undefined && entry.kind !== 'refused' && entry.by?.attestation === attestation;
}
