import { activityInfo } from '@temporalio/activity';
import { decisionOf } from '../../src/approvals/decision-attestation.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { LONGEST_REASON } from '../../src/protocol/decision-limits.ts';
import { versionOf } from '../../src/protocol/decision-version.ts';
import type { RequestEntry, VerifiedDecision, VerifyDecisionInput } from '../../src/protocol/gate.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { SignedDecision } from '../../src/store/store.ts';
import { type Attempt, attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
import { verifyCredential, verifyInput } from './verify-answer.ts';
import { type DecisionToVerify, NOBODY, verifyConfirm } from './verify-confirm.ts';

type Verdict = Awaited<ReturnType<typeof verdictOf>>;

/**
 * `holdfast.verifyDecision`: whether a decision counts, which the workflow can't know: who has signed it, who may decide, what the
 * tool and the schema take. Votes, and what doesn't count, are recorded here; answers by the call that then runs.
 */
export function verifyDecision(
  dependencies: ActivityDependencies,
): (input: VerifyDecisionInput) => Promise<VerifiedDecision> {
  const verify = async (input: VerifyDecisionInput, current: Attempt): Promise<VerifiedDecision> => {
    const { store } = dependencies;
    const { session, requestId } = input;
    const request = await store.findRequest(session, requestId);
    if (request === undefined) {
      const reason = 'the request is not in the store any more: its session was deleted';
      return { v: PROTOCOL_VERSION, counts: false, reason };
    }
    const cameAt = Math.max(input.at, activityInfo().scheduledTimestampMs);
    const verdict = await verdictOf({ dependencies, input, cameAt, request, current });
    const entry = entryOf(input, verdict);
    const signed = signedOf(input, verdict, cameAt);
    if (signed !== undefined) {
      await store.recordSigned({ session, signed, ...(entry === undefined ? {} : { entry }) });
    } else if (entry !== undefined) await store.recordEntries({ session, entries: [entry] });
    return answerOf(verdict);
  };
  return (input) => {
    const { invocationId, callKey, agent, tool } = input;
    return attempt(
      (current) => verify(input, current),
      reportUnexpected(dependencies, { invocationId, callKey, agent, tool }),
    );
  };
}

async function verdictOf(verify: DecisionToVerify) {
  const { input, request } = verify;
  const { confirm, input: response, credential } = input;
  if (confirm !== undefined && request.kind === 'confirmation') return await verifyConfirm(verify, confirm);
  if (response !== undefined && request.kind === 'input') return await verifyInput(verify, response);
  if (credential !== undefined && request.kind === 'credential')
    return await verifyCredential(verify, credential);
  return { counts: false as const, reason: `the request is for ${ASKED[request.kind]}`, by: NOBODY };
}

const ASKED = { confirmation: 'a confirmation', input: 'input', credential: 'a credential' } as const;

function entryOf(
  { entryId, requestId, at, confirm }: VerifyDecisionInput,
  verdict: Verdict,
): RequestEntry | undefined {
  const { by } = verdict;
  const said = confirm === undefined ? {} : { confirmed: confirm.confirmed };
  if (!verdict.counts) {
    return { entryId, requestId, kind: 'refused', at, by, ...said, reason: verdict.reason };
  }
  if (verdict.kind === undefined || confirm === undefined) return undefined;
  const { reason, payload } = confirm;
  return {
    ...{ entryId, requestId, kind: verdict.kind, at, by },
    ...said,
    ...(reason === undefined ? {} : { reason: reason.slice(0, LONGEST_REASON).toWellFormed() }),
    ...(verdict.args === undefined ? {} : { args: verdict.args }),
    ...(payload === undefined || verdict.kind === 'withdrawn' ? {} : { payload }),
    ...(verdict.kind === 'voted' ? { of: versionOf(confirm) } : {}),
  };
}

/** Kept whole: whoever starts the call, or proves the audit, verifies it again. */
function signedOf(
  { requestId, confirm, input }: VerifyDecisionInput,
  verdict: Verdict,
  cameAt: number,
): SignedDecision | undefined {
  const { by, signature } = verdict;
  if (signature === undefined || by.attestation === undefined) return undefined;
  const { principal, attestation: digest } = by;
  const signed = { requestId, digest, principal, ...signature, cameAt };
  if (!verdict.counts) return { ...signed, says: 'refused' };
  if (confirm !== undefined) return { ...signed, says: decisionOf(confirm) };
  const meant = 'response' in verdict && verdict.response !== undefined ? verdict.response : input?.response;
  return {
    ...signed,
    says: 'answer',
    signedResponse: digestOf(input?.response),
    meantResponse: digestOf(meant ?? null),
  };
}

function answerOf(verdict: Verdict): VerifiedDecision {
  const { by } = verdict;
  const v = PROTOCOL_VERSION;
  if (!verdict.counts) {
    const { reason } = verdict;
    return { v, counts: false, reason, by, ...('duplicate' in verdict ? { duplicate: true } : {}) };
  }
  return {
    ...{ v, counts: true, by },
    ...(by.attestation === undefined ? {} : { attestation: by.attestation }),
    ...('response' in verdict ? { response: verdict.response } : {}),
    ...('args' in verdict && verdict.args !== undefined ? { args: { value: verdict.args } } : {}),
  };
}
