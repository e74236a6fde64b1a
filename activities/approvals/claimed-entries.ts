import { type Approved, proveApproval, signerOf } from '../../src/approvals/approval-proof.ts';
import { needsAttestation } from '../../src/approvals/voting.ts';
import { REQUEST_ANSWERS } from '../../src/contract/lists.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import {
  type AuditEntry,
  callKeyOfRequest,
  isHeldRequest,
  type RecordEntriesInput,
  versionOf,
} from '../../src/protocol/gate.ts';
import type { Evidence } from '../../src/store/approvals/approval-store.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf, trustedIssuers } from '../deployment.ts';
import { NOBODY } from './verify-approval.ts';

/** Only `holdfast.verifyDecision` records what people have signed; a workflow says what else has happened. */
const RECORDED_BY_WORKFLOWS: readonly AuditEntry['kind'][] = [
  'refused',
  'approved',
  'rejected',
  'answered',
  'expired',
  'escalated',
  'cancelled',
];
/** Kinds that say what a request is for. */
const ANSWERS: readonly AuditEntry['kind'][] = ['approved', 'answered'];
const DECIDED: readonly AuditEntry['kind'][] = REQUEST_ANSWERS;

/**
 * An entry as a workflow says it: who has decided is nobody yet, unless a signature is named that may prove it. Arguments are changed by
 * approvals only, which are proven, and questions answered by answers only.
 */
export function claimedEntry({
  by,
  args,
  response,
  responseRef,
  credentialRef,
  ...rest
}: AuditEntry): AuditEntry {
  const isAnswer = rest.kind === 'answered';
  const entry: AuditEntry = {
    ...rest,
    ...(args === undefined || rest.kind !== 'approved' ? {} : { args }),
    ...(response === undefined || !isAnswer ? {} : { response }),
    ...(responseRef === undefined || !isAnswer ? {} : { responseRef }),
    ...(credentialRef === undefined || !isAnswer ? {} : { credentialRef }),
  };
  if (by === undefined || !DECIDED.includes(entry.kind)) return entry;
  return { ...entry, by: by.verified === true && by.attestation !== undefined ? by : NOBODY };
}

/** An entry with who has decided, where a signature that the store has proves it; else nobody is said to have. */
export async function provenEntry(
  dependencies: ActivityDependencies,
  entry: AuditEntry,
  request: ApprovalRow | undefined,
  { signatures }: Pick<Evidence, 'signatures'>,
): Promise<AuditEntry> {
  if (entry.by === undefined || !entry.by.verified) return entry;
  const signer =
    request &&
    (await signerOf(request, entry, signatures, (jws) => trustedIssuers(dependencies, request.app, jws)));
  return { ...entry, by: signer ?? NOBODY };
}

/**
 * Why a request isn't approved so: not by the signatures that the store has where it counts those only, and not with other arguments than
 * those of a vote that `holdfast.verifyDecision` has recorded, since it has checked them.
 */
export async function refusalOfApproval(
  dependencies: ActivityDependencies,
  request: ApprovalRow,
  approved: Approved,
  { signatures }: Pick<Evidence, 'signatures'>,
): Promise<string | undefined> {
  const { approval } = settingsOf(dependencies.deployment, request.app);
  if (needsAttestation(request) && approval?.trustTemporal !== true) {
    const issuersOf = (jws: string) => trustedIssuers(dependencies, request.app, jws);
    const proof = await proveApproval(request, approved, signatures, issuersOf);
    return proof.ok ? undefined : proof.reason;
  }
  const of = versionOf(approved);
  return approved.args === undefined || request.votes.some((vote) => vote.confirmed && vote.of === of)
    ? undefined
    : 'nobody has approved these arguments in place of those that were shown';
}

/** Whether an entry can be of a request of this kind: only a confirmation is approved, and all others are answered. */
export function fitsKind({ kind }: AuditEntry, request: ApprovalRow | undefined): boolean {
  return request === undefined || kind !== (request.kind === 'confirmation' ? 'answered' : 'approved');
}

/** Records what a workflow says has happened to requests. An approval that nothing proves is recorded as one that doesn't count. */
export async function recordClaims(
  dependencies: ActivityDependencies,
  { session, entries }: { session: string; entries: readonly AuditEntry[] },
): Promise<void> {
  const { store } = dependencies;
  const known = new Map<string, Evidence>();
  const trusted: AuditEntry[] = [];
  for (const given of entries) {
    if (!RECORDED_BY_WORKFLOWS.includes(given.kind)) continue;
    const entry = claimedEntry(given);
    // Anybody can tell a workflow of a question that no activity has asked: entries of others are recorded with it.
    const isMadeUp =
      isHeldRequest(entry.requestId) &&
      (await store.approvals.findRequest(session, entry.requestId)) === undefined;
    if (isMadeUp) continue;
    if (!ANSWERS.includes(entry.kind) && entry.by?.verified !== true) {
      trusted.push(entry);
      continue;
    }
    const { requestId } = entry;
    const callKey = callKeyOfRequest(requestId) ?? '';
    const evidence = known.get(callKey) ?? (await store.approvals.findEvidence(session, callKey));
    known.set(callKey, evidence);
    const request = evidence.requests.find((one) => one.requestId === requestId);
    if (!fitsKind(entry, request)) continue;
    trusted.push(await trustedEntry(dependencies, entry, request, evidence));
  }
  await store.approvals.recordEntries({ session, entries: trusted });
}

async function trustedEntry(
  dependencies: ActivityDependencies,
  entry: AuditEntry,
  request: ApprovalRow | undefined,
  evidence: Evidence,
): Promise<AuditEntry> {
  if (entry.kind === 'approved' && request !== undefined) {
    const problem = await refusalOfApproval(dependencies, request, entry, evidence);
    if (problem !== undefined) {
      const { entryId, requestId, at } = entry;
      const reason = `said to be approved: ${problem}`;
      return { entryId, requestId, kind: 'refused', at, by: NOBODY, confirmed: true, reason };
    }
  }
  return await provenEntry(dependencies, entry, request, evidence);
}

/** `holdfast.recordEntries`: what happened to requests, where nothing that follows records it anyway. */
export async function recordEntries(
  dependencies: ActivityDependencies,
  { session, entries }: RecordEntriesInput,
): Promise<void> {
  await recordClaims(dependencies, { session, entries });
}
