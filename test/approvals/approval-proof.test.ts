import fc from 'fast-check';
import { expect, test } from 'vitest';
import { proveApproval, signerOf } from '../../src/approvals/approval-proof.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { type Decision, signDecision } from '../../src/approvals/decision-attestation.ts';
import { type Issuer, publicHalf } from '../../src/approvals/issuer.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { sha256Digest } from '../../src/protocol/identity.ts';
import type { StoredSignature } from '../../src/store/approvals/approval-store.ts';
import { inTier } from '../setup/tier.ts';
import { ARGS, EXPECTED, NOW } from './signed.ts';

const PEOPLE = ['mira', 'otto', 'zoe', 'ada'] as const;
const ESCALATES = NOW + 60_000;
const keys = new Map<string, ApproverKey>();
const issuers: Issuer[] = [];
for (const name of PEOPLE) {
  const { key, issuer } = await createApproverKey(name);
  keys.set(name, key);
  issuers.push(issuer);
}
const believed = () => issuers;

const request = {
  ...{ session: EXPECTED.session, requestId: EXPECTED.requestId, argsDigest: EXPECTED.argsDigest },
  ...{ kind: 'confirmation', args: ARGS, since: NOW, requester: 'ada' },
  terms: {
    ...{ approvers: ['mira', 'otto', 'ada'], escalateTo: ['zoe'], escalateAfter: 60_000 },
    ...{ quorum: 2, notRequester: true, allowEdit: true },
  },
} as unknown as ApprovalRow;

interface Cast {
  who: (typeof PEOPLE)[number];
  decision: Decision;
  edited: boolean;
  late: boolean;
  /** What is wrong with the row. */
  flaw: 'none' | 'other request' | 'other session' | 'other arguments' | 'other key' | 'moved' | 'refused';
}

async function signatureOf(cast: Cast, n: number): Promise<StoredSignature> {
  const { who, decision, edited, late, flaw } = cast;
  const { issuer, privateKey } = keys.get(who) as ApproverKey;
  const { privateKey: others } = keys.get(who === 'zoe' ? 'ada' : 'zoe') as ApproverKey;
  const jws = await signDecision(
    {
      ...{ issuer, approver: who, channel: 'cli', decision },
      session: flaw === 'other session' ? 's-2' : EXPECTED.session,
      requestId: flaw === 'other request' ? 'rq-e-1.1.0.9' : EXPECTED.requestId,
      argsDigest: flaw === 'other arguments' ? digestOf({}) : EXPECTED.argsDigest,
      ...(edited ? { editedArgsDigest: digestOf({ amount: 4 }) } : {}),
    },
    flaw === 'other key' ? others : privateKey,
    { now: NOW },
  );
  return {
    ...{ requestId: EXPECTED.requestId, n, at: late ? ESCALATES : NOW, cameAt: NOW, principal: who, jws },
    says: flaw === 'refused' ? 'refused' : decision,
    digest: flaw === 'moved' ? `moved-${n}` : sha256Digest(jws.slice(0, jws.lastIndexOf('.'))),
    key: publicHalf(privateKey),
  };
}

/** Who stands for the arguments that run, by the rules and nothing else. */
function approvers(casts: readonly Cast[]): string[] | 'rejected' {
  let votes: Cast[] = [];
  for (const cast of casts.filter(({ flaw }) => flaw !== 'refused')) {
    if (cast.decision === 'withdraw') votes = votes.filter(({ who }) => who !== cast.who);
    else votes.push(cast);
  }
  if (votes.some(({ decision }) => decision === 'reject')) return 'rejected';
  const good = votes.filter(
    ({ who, edited, late, flaw }) => flaw === 'none' && !edited && who !== 'ada' && (who !== 'zoe' || late),
  );
  return [...new Set(good.map(({ who }) => who))];
}

const casts = fc.array(
  fc.record<Cast>({
    who: fc.constantFrom(...PEOPLE),
    decision: fc.constantFrom('approve', 'approve', 'approve', 'withdraw', 'reject'),
    edited: fc.boolean(),
    late: fc.boolean(),
    flaw: fc.constantFrom(
      ...(['none', 'none', 'none', 'none', 'other request', 'other session'] as const),
      ...(['other arguments', 'other key', 'moved', 'refused'] as const),
    ),
  }),
  { maxLength: 7 },
);

test('a call is proven by enough signatures that stand, whatever else the store has [approval.proven]', async () => {
  await fc.assert(
    fc.asyncProperty(casts, async (given) => {
      const signatures = await Promise.all(given.map((cast, index) => signatureOf(cast, index + 1)));
      const standing = approvers(given);
      const proof = await proveApproval(request, {}, signatures.toReversed(), believed);
      expect(proof.ok).toBe(standing !== 'rejected' && standing.length >= 2);
      if (proof.ok) expect(proof.by.map(({ principal }) => principal).sort()).toEqual([...standing].sort());
      // No issuer that is believed any more, no proof.
      expect((await proveApproval(request, {}, signatures, () => [])).ok).toBe(false);
    }),
    { numRuns: inTier(15, 150) },
  );
});

test('an entry names whoever has signed it, and nobody by the signature of another decision [approval.proven]', async () => {
  const cast: Cast = { who: 'mira', decision: 'approve', edited: true, late: false, flaw: 'none' };
  const signature = await signatureOf(cast, 1);
  const { requestId } = EXPECTED;
  const by = { principal: 'otto', verified: true, attestation: signature.digest };
  const entry = { entryId: `${requestId}/1`, requestId, kind: 'approved' as const, at: NOW, by };
  const signer = (more: object) => signerOf(request, { ...entry, ...more }, [signature], believed);
  expect(await signer({ args: { amount: 4 } })).toMatchObject({ principal: 'mira', verified: true });
  for (const more of [
    {},
    { args: { amount: 5 } },
    { args: { amount: 4 }, payload: 1 },
    { args: { amount: 4 }, kind: 'rejected' },
    { args: { amount: 4 }, kind: 'answered', response: {} },
    { args: { amount: 4 }, kind: 'voted' },
    { args: { amount: 4 }, by: { ...by, attestation: 'none' } },
  ]) {
    expect(await signer(more)).toBeUndefined();
  }
});
