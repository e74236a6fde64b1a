import type { Voter } from '../contract/approvals.ts';
import type { ApprovalRow } from '../contract/requests.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import type { AuditEntry } from '../protocol/gate.ts';
import { defined } from '../protocol/json.ts';
import type { StoredSignature } from '../store/approvals/approval-store.ts';
import type { Attested } from './attestation.ts';
import { verifyDecisionAttestation } from './decision-attestation.ts';
import type { Issuer } from './issuer.ts';
import { endOf, hasEscalated, refusalOfVoter } from './voting.ts';

/** Issuers of attestations that count. */
export type IssuersOf = (jws: string) => readonly Issuer[];

/** The call that is said to be approved. */
export type Approved = Pick<AuditEntry, 'args' | 'payload'>;

/** The people who have approved, in order; or the reason why they are not enough. */
export type ApprovalProof = { ok: true; by: [Voter, ...Voter[]] } | { ok: false; reason: string };

/**
 * Whether a request that counts signed decisions only is approved, for these arguments: by the signatures that the store has, each
 * verified here, and by nothing that anybody says of them.
 *
 * @param signatures of this request at least.
 */
export async function proveApproval(
  request: ApprovalRow,
  approved: Approved,
  signatures: readonly StoredSignature[],
  issuersOf: IssuersOf,
): Promise<ApprovalProof> {
  const { quorum = 1 } = request.terms;
  const own = standing(signatures.filter(({ requestId }) => requestId === request.requestId));
  if (own.some(({ says }) => says === 'reject')) return { ok: false, reason: 'somebody has rejected it' };
  const voters = new Map<string, Voter>();
  const reasons = new Set<string>();
  for (const signature of own) {
    const attested = await verified(request, signature, approved, issuersOf);
    const reason = attested.ok
      ? refusalOfVoter(request, attested.by, {
          escalated: hasEscalated(request, signature.at),
          trustTemporal: false,
        })
      : attested.reason;
    if (reason !== undefined) reasons.add(reason);
    else if (attested.ok) voters.set(attested.by.principal, attested.by);
  }
  const [first, ...others] = voters.values();
  if (first !== undefined && voters.size >= quorum) return { ok: true, by: [first, ...others] };
  const why = reasons.size === 0 ? '' : `; of others: ${[...reasons].join('; ')}`;
  const count = `it takes ${quorum} signed approval${quorum === 1 ? '' : 's'} of these arguments by those who may decide`;
  return { ok: false, reason: `${count}, and the store has ${voters.size}${why}` };
}

/** The person who has made a decision or given an answer, as far as a signature in the store proves it. */
export async function signerOf(
  request: ApprovalRow,
  entry: AuditEntry,
  signatures: readonly StoredSignature[],
  issuersOf: IssuersOf,
): Promise<Voter | undefined> {
  const says = SAYS[entry.kind];
  const signature = signatures.find(
    ({ requestId, digest }) => requestId === request.requestId && digest === entry.by?.attestation,
  );
  if (says === undefined || signature?.says !== says) return undefined;
  if (says === 'answer' && digestOf(entry.response ?? null) !== signature.meantResponse) return undefined;
  const attested = await verified(request, signature, entry, issuersOf);
  return attested.ok ? attested.by : undefined;
}

const SAYS: Partial<Record<AuditEntry['kind'], StoredSignature['says']>> = {
  approved: 'approve',
  rejected: 'reject',
  answered: 'answer',
};

/** Votes that were not taken back. */
function standing(signatures: readonly StoredSignature[]): StoredSignature[] {
  const votes: StoredSignature[] = [];
  for (const signature of signatures.toSorted((one, other) => one.n - other.n)) {
    const { says, principal } = signature;
    if (says === 'withdraw') {
      votes.splice(0, votes.length, ...votes.filter((vote) => vote.principal !== principal));
    } else if (says === 'approve' || says === 'reject') {
      votes.push(signature);
    }
  }
  return votes;
}

/** By the time when it came: it may have expired since. */
async function verified(
  request: ApprovalRow,
  { jws, digest, says, cameAt, signedResponse }: StoredSignature,
  { args, payload }: Approved,
  issuersOf: IssuersOf,
): Promise<Attested> {
  const { session, requestId, argsDigest } = request;
  const expected = {
    ...{ session, requestId, argsDigest, until: endOf(request) },
    decision: says === 'reject' ? says : 'approve',
    ...(args === undefined ? {} : { editedArgsDigest: digestOf(args) }),
    ...(payload === undefined ? {} : { payloadDigest: digestOf(payload) }),
    ...defined({ responseDigest: signedResponse }),
  } as const;
  const attested = await verifyDecisionAttestation(jws, expected, issuersOf(jws), cameAt);
  if (attested.ok && attested.by.attestation !== digest) {
    return { ok: false, reason: 'the store has another attestation in its place' };
  }
  return attested;
}
