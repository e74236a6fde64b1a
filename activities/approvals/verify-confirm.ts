import { type Signature, UNVERIFIED } from '../../src/approvals/attestation.ts';
import { decisionOf, verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { secretInEdit } from '../../src/approvals/edited-arguments.ts';
import { endOf, hasEscalated, refusalOfVoter, standingOf } from '../../src/approvals/voting.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { Confirm, RequestEntry, VerifyDecisionInput, Voter } from '../../src/protocol/gate.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { ApprovalRow } from '../../src/store/store.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';
import { believedIssuers } from './believed-issuers.ts';
import { refusalOfEdit } from './check-edit.ts';

/** What a decision came to, and what of it is recorded. */
export type Verdict =
  | {
      counts: true;
      by: Voter;
      /** Of a confirmation: how it is recorded. */
      kind: Extract<RequestEntry['kind'], 'voted' | 'withdrawn'>;
      args?: Record<string, unknown>;
      signature?: Signature;
    }
  | { counts: false; reason: string; by: Voter; duplicate?: true; signature?: Signature };

export interface DecisionToVerify {
  dependencies: ActivityDependencies;
  input: VerifyDecisionInput;
  /** When it came, as far as Temporal's server knows it: whoever schedules the activity could name any time. */
  cameAt: number;
  request: ApprovalRow;
  current: Attempt;
}

/** Of a decision that nobody has signed. */
export const NOBODY: Voter = { principal: UNVERIFIED, verified: false };

/** Whether a decision about a confirmation counts: who says so, whether they may, and what is to run. */
export async function verifyConfirm(verify: DecisionToVerify, confirm: Confirm): Promise<Verdict> {
  const { dependencies, request, cameAt } = verify;
  const { attestation, payload } = confirm;
  if (attestation === undefined) return await verdictOn(verify, confirm, NOBODY);
  const decision = decisionOf(confirm);
  const edited = decision === 'approve' ? confirm.args : undefined;
  const expected = {
    session: request.session,
    requestId: request.requestId,
    argsDigest: request.argsDigest,
    until: endOf(request),
    decision,
    ...(edited === undefined ? {} : { editedArgsDigest: digestOf(edited) }),
    ...(payload === undefined ? {} : { payloadDigest: digestOf(payload) }),
  };
  const issuers = believedIssuers(dependencies, request.app, attestation);
  const attested = await verifyDecisionAttestation(attestation, expected, issuers, cameAt);
  const { by = NOBODY, signature } = attested;
  const verdict: Verdict = attested.ok
    ? await verdictOn(verify, confirm, by)
    : { counts: false, reason: attested.reason, by };
  return signature === undefined ? verdict : { ...verdict, signature };
}

async function verdictOn(verify: DecisionToVerify, confirm: Confirm, by: Voter): Promise<Verdict> {
  const { dependencies, input, request } = verify;
  const { approval } = settingsOf(dependencies.deployment, request.app);
  const decision = decisionOf(confirm);
  const edited = decision === 'approve' ? confirm.args : undefined;
  const rules = { escalated: await hasOthers(verify, by), trustTemporal: approval?.trustTemporal === true };
  const refusal = refusalOfVoter(request, by, rules);
  if (refusal !== undefined) return { counts: false, reason: refusal, by };
  const { entryId, at } = input;
  const standing = standingOf(request, {
    ...{ by, decision, confirmed: confirm.confirmed },
    entry: { entryId, at },
  });
  if (!standing.counts) return { ...standing, by };
  if (decision === 'withdraw') return { counts: true, by, kind: 'withdrawn' };
  const { payload } = confirm;
  if (payload !== undefined && digestOf(asStored(payload)) !== digestOf(payload)) {
    const reason = 'payload: NUL characters and lone surrogates are kept by no database: leave them out';
    return { counts: false, reason, by };
  }
  if (edited === undefined) return { counts: true, by, kind: 'voted' };
  const problem = standing.recorded ? undefined : await refusalOf(verify, edited);
  if (problem !== undefined) return { counts: false, reason: problem, by };
  return { counts: true, by, kind: 'voted', args: edited };
}

/** Whether those of `escalateTo` may decide by now, by the store's times: what the workflow says of it is only said. */
async function hasOthers(
  { dependencies, request }: DecisionToVerify,
  { principal }: Voter,
): Promise<boolean> {
  const { approvers = [], escalateTo = [] } = request.terms;
  if (approvers.includes(principal) || !escalateTo.includes(principal)) return false;
  const { now } = await dependencies.store.findEvidence(request.session, request.callKey);
  return hasEscalated(request, now);
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
