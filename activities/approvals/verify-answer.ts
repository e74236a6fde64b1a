import type { Signature } from '../../src/approvals/attestation.ts';
import { verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { endOf } from '../../src/approvals/voting.ts';
import { CredentialKeyMissing, CredentialUnreadable } from '../../src/credentials/credential-errors.ts';
import { isResultWithheld } from '../../src/plugins/withheld.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { ProvideCredential, ProvideInput, Voter } from '../../src/protocol/gate.ts';
import { isTooDeep } from '../../src/protocol/message-limits.ts';
import { PAYLOAD_LIMIT } from '../../src/protocol/sizes.ts';
import { compileSchema } from '../../src/schema/compile-schema.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import { believedIssuers } from './believed-issuers.ts';
import { type DecisionToVerify, NOBODY, type Verdict } from './verify-confirm.ts';

type Answer =
  | Verdict
  | { counts: true; by: Voter; kind?: undefined; response?: unknown; signature?: Signature };

/** Whether a response is of the kind that was asked for, and what it stands for where it came as text. */
export async function verifyInput(
  verify: DecisionToVerify,
  { response, responseRef, attestation }: ProvideInput,
): Promise<Answer> {
  const { input, request } = verify;
  if (responseRef !== undefined) return await verifyKept(verify, responseRef);
  if (isResultWithheld({ sensitive: request.sensitive }, false)) {
    return refused(
      'response: of a sensitive tool it goes through the store: answer by the client or the command line',
    );
  }
  const verdict = await verifyResponse(request, { response, isText: input.isText === true });
  if (!verdict.counts || attestation === undefined) return verdict;
  return { ...verdict, ...(await attestedBy(verify, { response, attestation })) };
}

/**
 * Who answers, as far as somebody whom the app believes says so: nobody has to. What is believed and is about something else is an
 * answer to that.
 */
async function attestedBy(
  { dependencies, cameAt, request }: DecisionToVerify,
  { response, attestation }: { response: unknown; attestation: string },
): Promise<{ by: Voter; signature?: Signature } | Extract<Answer, { counts: false }>> {
  const { session, requestId, argsDigest, app } = request;
  const responseDigest = digestOf(response);
  const until = endOf(request);
  const expected = { session, requestId, argsDigest, until, decision: 'approve', responseDigest } as const;
  const issuers = believedIssuers(dependencies, app, attestation);
  const attested = await verifyDecisionAttestation(attestation, expected, issuers, cameAt);
  const { by = NOBODY, signature } = attested;
  const so = { by, ...(signature === undefined ? {} : { signature }) };
  return attested.ok || attested.by === undefined ? so : { counts: false, reason: attested.reason, ...so };
}

/** Of an answer in the store, which is kept there as what it stands for: its content goes nowhere else. */
async function verifyKept(
  { dependencies: { store }, request }: DecisionToVerify,
  responseRef: string,
): Promise<Answer> {
  const { session, requestId } = request;
  const kept = await store.findResponse({ session, requestId, responseRef });
  if (kept === undefined) return refused('responseRef: the store has no such answer to this request');
  const verdict = await verifyResponse(request, kept);
  if (!('response' in verdict)) return verdict;
  const { response, ...answer } = verdict;
  await store.keepResponse({ session, requestId, responseRef, response, isText: false });
  return answer;
}

async function verifyResponse(
  request: DecisionToVerify['request'],
  { response, isText }: { response?: unknown; isText: boolean },
): Promise<Answer> {
  if (response === undefined) return refused('response: required');
  const bytes = Buffer.byteLength(JSON.stringify(response));
  if (bytes > PAYLOAD_LIMIT) {
    return refused(`response: ${bytes} bytes of JSON, and at most ${PAYLOAD_LIMIT} are taken`);
  }
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

/** What a schema says may quote what it was given. */
function refusedBySchema({ sensitive }: DecisionToVerify['request'], message: string): Answer {
  return refused(
    isResultWithheld({ sensitive }, false)
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
    // Text it is.
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
export async function verifyCredential(
  { dependencies, request }: DecisionToVerify,
  { credentialRef }: ProvideCredential,
): Promise<Answer> {
  const { app, userId, authConfig } = request;
  const { credentials } = dependencies;
  const stored = await credentials.find({ app, userId, credentialRef });
  if (stored === undefined) return refused('credentialRef: no such credential is stored for this user');
  if (stored.credentialKey !== authConfig?.credentialKey) {
    return refused(
      'credentialRef: this credential is stored under another credentialKey than the one asked for',
    );
  }
  try {
    await credentials.open({ app, userId, credentialRef });
    return { counts: true, by: NOBODY };
  } catch (error) {
    if (!(error instanceof CredentialUnreadable || error instanceof CredentialKeyMissing)) throw error;
    return refused(`credentialRef: ${error.message}`);
  }
}

function refused(reason: string): Answer {
  return { counts: false, reason, by: NOBODY };
}
