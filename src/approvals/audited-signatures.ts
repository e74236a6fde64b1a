import type { AuditProblem, AuditRow } from '../contract/audit.ts';
import type { CredentialKeys } from '../credentials/credential-keys.ts';
import type { StoredSignature } from '../store/approvals/approval-store.ts';
import { type ReadAttestation, readAttestation } from './attestation.ts';
import { GATEWAY_ISSUER, gatewayIssuer } from './gateway-issuer.ts';

/** The audit of one session, and the signatures that the store has of its requests. */
export interface SignedAudit {
  /** The store's id of the session. */
  session: string;
  rows: readonly AuditRow[];
  signatures: readonly StoredSignature[];
  /** Of the gateway's signatures. Defaults to those by which they were verified when they came. */
  credentialKeys?: CredentialKeys | undefined;
}

type Found = Record<'problems' | 'unchecked', AuditProblem[]>;

/**
 * Checks that each row which names somebody as verified has a signature that says so: of that person, for that request, its arguments
 * and that decision. `unchecked` are those of gateways whose key is no more: no more can be said than that they held when they came.
 */
export async function auditedSignatures({
  session,
  rows,
  signatures,
  credentialKeys,
}: SignedAudit): Promise<Found> {
  const found: Found = { problems: [], unchecked: [] };
  const known = new Map(signatures.map((each) => [`${each.requestId} ${each.digest}`, each]));
  const shown = new Map(
    rows
      .filter(({ kind }) => kind === 'requested')
      .map(({ facts: { requestId, argsDigest } }) => [requestId, argsDigest]),
  );
  for (const row of rows) {
    const { n, facts } = row;
    const { verified, requestId, attestation } = facts;
    if (verified !== true) continue;
    const signature = known.get(`${requestId} ${attestation}`);
    if (signature === undefined) {
      const problem = `it names ${facts.by} as verified, and the store has no signature that says so`;
      found.problems.push({ n, problem });
      continue;
    }
    const { read, lost } = await attestationOf(signature, credentialKeys);
    const problem =
      'reason' in read && row.kind !== 'refused'
        ? read.reason
        : mismatch(row, read, { session, argsDigest: shown.get(requestId) });
    if (problem !== undefined) found.problems.push({ n, problem: `the signature is forged: ${problem}` });
    else if (lost !== undefined) {
      const why = `the signature can't be checked any more: key ${lost} is unknown`;
      found.unchecked.push({ n, problem: why });
    }
  }
  return found;
}

type Read = Awaited<ReturnType<typeof readAttestation>>;

/** By the key that is there now, else by the one that the store has kept; `lost` names one that isn't there any more. */
async function attestationOf(
  { jws, key, cameAt }: StoredSignature,
  credentialKeys: CredentialKeys | undefined,
): Promise<{ read: Read; lost?: string }> {
  const issuer = issuerIn(jws);
  const isGateway = issuer === GATEWAY_ISSUER && credentialKeys !== undefined;
  const own = isGateway ? gatewayIssuer(credentialKeys, jws) : undefined;
  const read = await readAttestation(jws, 'holdfast-decision+jwt', [own ?? { issuer, key }], cameAt);
  return isGateway && own === undefined ? { read, lost: key.kid ?? '' } : { read };
}

/** The claimed issuer of an attestation: the key decides whether the claim holds. */
function issuerIn(jws: string): string {
  const [, claims = ''] = jws.split('.');
  try {
    const { iss }: { iss?: unknown } = JSON.parse(Buffer.from(claims, 'base64url').toString()) ?? {};
    return typeof iss === 'string' ? iss : '';
  } catch {
    // The check of the attestation says what is wrong with it.
    return '';
  }
}

function mismatch(
  { kind, facts }: AuditRow,
  read: Read,
  expected: { session: string; argsDigest: unknown },
): string | undefined {
  const { by } = read;
  if (by === undefined) return 'reason' in read ? read.reason : 'nobody has signed';
  if (by.principal !== facts.by || by.attestation !== facts.attestation) {
    return 'it is of somebody else, or another one';
  }
  // A decision that didn't count may be about anything.
  if (kind === 'refused' || !('claims' in read)) return undefined;
  const { claims }: Pick<ReadAttestation, 'claims'> = read;
  if (claims.session !== expected.session) return 'it is for another session';
  if (claims.requestId !== facts.requestId) return 'it is for another request';
  if (claims.argsDigest !== expected.argsDigest) return 'it is for other arguments';
  return claims.decision === decisionOf(kind, facts) ? undefined : 'it is for another decision';
}

function decisionOf(kind: AuditRow['kind'], { confirmed }: AuditRow['facts']): string {
  if (kind === 'withdrawn') return 'withdraw';
  return kind === 'rejected' || (kind === 'voted' && confirmed === false) ? 'reject' : 'approve';
}
