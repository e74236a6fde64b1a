import { UNVERIFIED } from '../src/approvals/attestation.ts';
import { decisionOf, verifyDecisionAttestation } from '../src/approvals/decision-attestation.ts';
import { secretInEdit } from '../src/approvals/edited-arguments.ts';
import { refusalOfVoter, standingOf } from '../src/approvals/voting.ts';
import { digestOf } from '../src/protocol/canonical-json.ts';
import type { Confirm, RequestEntry, VerifyDecisionInput, Voter } from '../src/protocol/gate.ts';
import { isRecord } from '../src/schema/kind-of.ts';
import type { ApprovalRow } from '../src/store/store.ts';
import type { Attempt } from './attempt.ts';
import { believedIssuers } from './believed-issuers.ts';
import { refusalOfEdit } from './check-edit.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { settingsOf } from './deployment.ts';

/** What a decision came to, and what of it is recorded. */
export type Verdict =
  | {
      counts: true;
      by: Voter;
      /** Of a confirmation: how it is recorded. */
      kind: Extract<RequestEntry['kind'], 'voted' | 'withdrawn'>;
      args?: Record<string, unknown>;
    }
  | { counts: false; reason: string; by: Voter; duplicate?: true };

export interface DecisionToVerify {
  dependencies: ActivityDependencies;
  input: VerifyDecisionInput;
  request: ApprovalRow;
  current: Attempt;
}

/** Of a decision that nobody has signed. */
export const NOBODY: Voter = { principal: UNVERIFIED, verified: false };

/** Whether a decision about a confirmation counts: who says so, whether they may, and what is to run. */
export async function verifyConfirm(verify: DecisionToVerify, confirm: Confirm): Promise<Verdict> {
  const { dependencies, input, request } = verify;
  const { approval } = settingsOf(dependencies.deployment, request.app);
  const decision = decisionOf(confirm);
  const edited = decision === 'approve' ? confirm.args : undefined;
  let by = NOBODY;
  if (confirm.attestation !== undefined) {
    const expected = {
      session: request.session,
      requestId: request.requestId,
      argsDigest: request.argsDigest,
      decision,
      ...(edited === undefined ? {} : { editedArgsDigest: digestOf(edited) }),
      ...(confirm.payload === undefined ? {} : { payloadDigest: digestOf(confirm.payload) }),
    };
    const issuers = believedIssuers(dependencies, request.app, confirm.attestation);
    const attested = await verifyDecisionAttestation(confirm.attestation, expected, issuers, input.at);
    by = attested.by ?? NOBODY;
    if (!attested.ok) return { counts: false, reason: attested.reason, by };
  }
  const rules = { escalated: input.escalated, trustTemporal: approval?.trustTemporal === true };
  const refusal = refusalOfVoter(request, by, rules);
  if (refusal !== undefined) return { counts: false, reason: refusal, by };
  const { entryId, at } = input;
  const standing = standingOf(request, {
    ...{ by, decision, confirmed: confirm.confirmed },
    entry: { entryId, at },
  });
  if (!standing.counts) return { ...standing, by };
  if (decision === 'withdraw') return { counts: true, by, kind: 'withdrawn' };
  if (edited === undefined) return { counts: true, by, kind: 'voted' };
  const problem = standing.recorded ? undefined : await refusalOf(verify, edited);
  if (problem !== undefined) return { counts: false, reason: problem, by };
  return { counts: true, by, kind: 'voted', args: edited };
}

async function refusalOf(
  { request, ...verify }: DecisionToVerify,
  edited: unknown,
): Promise<string | undefined> {
  if (request.terms.allowEdit !== true) return 'args: this request does not let arguments be changed';
  if (!isRecord(edited)) return 'args: expected an object';
  const secret = secretInEdit(request, edited);
  if (secret !== undefined) return `args: ${secret}`;
  return await refusalOfEdit({ request, ...verify }, edited);
}
