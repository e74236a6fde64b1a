import { activityInfo } from '@temporalio/activity';
import type { Signature } from '../../src/approvals/attestation.ts';
import { decisionOf, verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { isResultSensitive } from '../../src/approvals/sensitive.ts';
import { endOf } from '../../src/approvals/voting.ts';
import type { ProvideInput } from '../../src/contract/approvals.ts';
import { responseProblem, type Voter } from '../../src/contract/approvals.ts';
import { isTooDeep } from '../../src/contract/message-limits.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { CredentialKeyMissing, CredentialUnreadable } from '../../src/credentials/credential-errors.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import {
  type AuditEntry,
  type ProvideCredential,
  type VerifiedDecision,
  type VerifyDecisionInput,
  versionOf,
} from '../../src/protocol/gate.ts';
import { defined } from '../../src/protocol/json.ts';
import { compileSchema } from '../../src/schema/compile-schema.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import type { SignedDecision } from '../../src/store/approvals/approval-store.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { trustedIssuers } from '../deployment.ts';
import { type ApprovalVerdict, type DecisionToVerify, NOBODY, verifyConfirm } from './verify-approval.ts';

type Verdict = Awaited<ReturnType<typeof verdictOf>>;

/**
 * `holdfast.verifyDecision`: whether a decision counts, which the workflow can't know: who has signed it, who may decide, what the
 * tool and the schema take. Votes, and what doesn't count, are recorded here; answers by the call that then runs.
 */
export async function verifyDecision(
  dependencies: ActivityDependencies,
  input: VerifyDecisionInput,
  current: Attempt,
): Promise<VerifiedDecision> {
  const { store } = dependencies;
  const { session, requestId } = input;
  const request = await store.approvals.findRequest(session, requestId);
  if (request === undefined) {
    const reason = 'the request is not in the store any more: its session was deleted';
    return { v: PROTOCOL_VERSION, counts: false, reason };
  }
  const cameAt = Math.max(input.at, activityInfo().scheduledTimestampMs);
  const verdict = await verdictOf({ dependencies, input, cameAt, request, current });
  const entry = entryOf(input, verdict);
  const signed = signedOf(input, verdict, cameAt);
  if (signed !== undefined) {
    await store.approvals.recordSigned({ session, signed, ...defined({ entry }) });
  } else if (entry !== undefined) await store.approvals.recordEntries({ session, entries: [entry] });
  return verifiedDecision(verdict);
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
): AuditEntry | undefined {
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
    ...(reason === undefined ? {} : { reason: reason.toWellFormed() }),
    ...defined({ args: verdict.args }),
    ...(payload === undefined || verdict.kind === 'withdrawn' ? {} : { payload }),
    ...(verdict.kind === 'voted' ? { of: versionOf(confirm) } : {}),
  };
}

/** Kept whole: the start of the call, and the proof of the audit, verify it again. */
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

function verifiedDecision(verdict: Verdict): VerifiedDecision {
  const { by } = verdict;
  const v = PROTOCOL_VERSION;
  if (!verdict.counts) {
    const { reason } = verdict;
    return { v, counts: false, reason, by, ...('duplicate' in verdict ? { duplicate: true } : {}) };
  }
  return {
    ...{ v, counts: true, by },
    ...defined({ attestation: by.attestation }),
    ...('response' in verdict ? { response: verdict.response } : {}),
    ...('args' in verdict && verdict.args !== undefined ? { args: { value: verdict.args } } : {}),
  };
}

type Answer =
  | ApprovalVerdict
  | { counts: true; by: Voter; kind?: undefined; response?: unknown; signature?: Signature };

/** Checks that a response is of the requested kind, and reads the value of one that came as text. */
async function verifyInput(
  verify: DecisionToVerify,
  { response, responseRef, attestation }: ProvideInput,
): Promise<Answer> {
  const { input, request } = verify;
  if (responseRef !== undefined) return await verifyKept(verify, responseRef);
  if (isResultSensitive(request.sensitive)) {
    return refused(
      'response: of a sensitive tool it goes through the store: answer by the client or the command line',
    );
  }
  const verdict = await verifyResponse(request, { response, isText: input.isText === true });
  if (!verdict.counts || attestation === undefined) return verdict;
  return { ...verdict, ...(await attestedBy(verify, { response, attestation })) };
}

/**
 * The answering person, if an issuer that the app trusts names one: this isn't required. A trusted attestation about something else
 * is an answer to that.
 */
async function attestedBy(
  { dependencies, cameAt, request }: DecisionToVerify,
  { response, attestation }: { response: unknown; attestation: string },
): Promise<{ by: Voter; signature?: Signature } | Extract<Answer, { counts: false }>> {
  const { session, requestId, argsDigest, app } = request;
  const responseDigest = digestOf(response);
  const until = endOf(request);
  const expected = { session, requestId, argsDigest, until, decision: 'approve', responseDigest } as const;
  const issuers = trustedIssuers(dependencies, app, attestation);
  const attested = await verifyDecisionAttestation(attestation, expected, issuers, cameAt);
  const { by = NOBODY, signature } = attested;
  const so = { by, ...defined({ signature }) };
  return attested.ok || attested.by === undefined ? so : { counts: false, reason: attested.reason, ...so };
}

/** Checks an answer in the store and keeps it there as its value: its content goes nowhere else. */
async function verifyKept(
  { dependencies: { store }, request }: DecisionToVerify,
  responseRef: string,
): Promise<Answer> {
  const { session, requestId } = request;
  const kept = await store.approvals.findResponse({ session, requestId, responseRef });
  if (kept === undefined) return refused('responseRef: the store has no such answer to this request');
  const verdict = await verifyResponse(request, kept);
  if (!('response' in verdict)) return verdict;
  const { response, ...answer } = verdict;
  await store.approvals.keepResponse({ session, requestId, responseRef, response, isText: false });
  return answer;
}

async function verifyResponse(
  request: DecisionToVerify['request'],
  { response, isText }: { response?: unknown; isText: boolean },
): Promise<Answer> {
  if (response === undefined) return refused('response: required');
  const problem = responseProblem(response);
  if (problem !== undefined) return refused(`response: ${problem}`);
  const meant = isText && typeof response === 'string' ? parsed(response) : wrapped(response);
  const { responseSchema } = request;
  if (responseSchema === undefined) return answered(isText ? meant : undefined);
  try {
    const schema = compileSchema(responseSchema, {
      owner: `request ${request.requestId}`,
      field: 'responseSchema',
      side: 'input',
      // A model may have written it.
      isOutside: true,
    });
    const validation = await schema.validate(response);
    if (validation.ok) return answered(undefined);
    if (meant === undefined) return refusedBySchema(request, validation.message);
    const ofMeant = await schema.validate(meant.value);
    return ofMeant.ok ? answered(meant) : refusedBySchema(request, ofMeant.message);
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    return refused(`the response can't be checked: ${error.message}`);
  }
}

/** An error of a schema may quote the value. */
function refusedBySchema({ sensitive }: DecisionToVerify['request'], message: string): Answer {
  return refused(
    isResultSensitive(sensitive)
      ? 'response: it does not match the schema that was asked with'
      : `response: ${message}`,
  );
}

function answered(meant: { value: unknown } | undefined): Answer {
  return { counts: true, by: NOBODY, ...(meant === undefined ? {} : { response: meant.value }) };
}

function parsed(text: string): { value: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value) ? undefined : { value };
  } catch {
    // The response is text.
    return undefined;
  }
}

/** Clients of `@google/adk` answer `get_user_choice` with the response of the call, which has the choice in a field. */
function wrapped(response: unknown): { value: unknown } | undefined {
  if (typeof response !== 'object' || response === null) return undefined;
  const [[key, value] = [], ...others] = Object.entries(response);
  return others.length === 0 && (key === 'choice' || key === 'result') ? { value } : undefined;
}

/** Whether a credential is there, is this user's, is the one that was asked for, and can be read here. */
async function verifyCredential(
  { dependencies, request }: DecisionToVerify,
  { credentialRef }: ProvideCredential,
): Promise<Answer> {
  const { app, userId, authConfig } = request;
  const { store, vault } = dependencies.credentials;
  const stored = await store.find({ app, userId, credentialRef });
  if (stored === undefined) return refused('credentialRef: no such credential is stored for this user');
  if (stored.credentialKey !== authConfig?.credentialKey) {
    return refused(
      'credentialRef: this credential is stored under another credentialKey than the one asked for',
    );
  }
  try {
    vault.unsealed(stored);
    return { counts: true, by: NOBODY };
  } catch (error) {
    if (!(error instanceof CredentialUnreadable || error instanceof CredentialKeyMissing)) throw error;
    return refused(`credentialRef: ${error.message}`);
  }
}

function refused(reason: string): Answer {
  return { counts: false, reason, by: NOBODY };
}
