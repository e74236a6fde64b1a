import type { Signature } from '../../src/approvals/attestation.ts';
import { decisionOf, verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { secretInEdit, withFixed } from '../../src/approvals/edited-arguments.ts';
import { coversTerms } from '../../src/approvals/edited-terms.ts';
import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import { endOf, hasEscalated, refusalOfVoter, voteStatus } from '../../src/approvals/voting.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import { reasonProblem, type Voter } from '../../src/contract/approvals.ts';
import { decisionProblem, UNVERIFIED } from '../../src/contract/decision-limits.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { AuditEntry, VerifyDecisionInput } from '../../src/protocol/gate.ts';
import { placeOfCall } from '../../src/protocol/identity.ts';
import { isRecord } from '../../src/protocol/json.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { Context } from '../../src/tools/context.ts';
import { isToolError } from '../../src/tools/tool-error.ts';
import { approvalTermsOf, questionOf } from '../../src/tools/tool-gate.ts';
import { assertOfApp, callerOf, isDeployedNowhere, type NamedAgent, NotDeployedHere } from '../agents.ts';
import type { Attempt } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { pluginsOf, settingsOf, trustedIssuers } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { type ContextParts, callContext, contextInitOf, NOTHING_ONCE } from '../tool/call-context.ts';
import { searchTool } from '../tool/find-tool.ts';
import { ToolCallbacks } from '../tool/tool-callbacks.ts';
import { describeFailure, storeErrorIn } from '../tool/tool-failure.ts';

/** The result of a decision, and its recorded part. */
export type ApprovalVerdict =
  | {
      counts: true;
      by: Voter;
      /** How a confirmation is recorded. */
      kind: Extract<AuditEntry['kind'], 'voted' | 'withdrawn'>;
      args?: Record<string, unknown>;
      signature?: Signature;
    }
  | { counts: false; reason: string; by: Voter; duplicate?: true; signature?: Signature };

export interface DecisionToVerify {
  dependencies: ActivityDependencies;
  input: VerifyDecisionInput;
  /** Its time by Temporal's server: a made-up activity could name any time. */
  cameAt: number;
  request: ApprovalRow;
  current: Attempt;
}

/** Voter of an unsigned decision. */
export const NOBODY: Voter = { principal: UNVERIFIED, verified: false };

/** Checks a decision about a confirmation: its author, the author's right to decide, and the arguments to run. */
export async function verifyConfirm(verify: DecisionToVerify, confirm: Confirm): Promise<ApprovalVerdict> {
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
  const issuers = trustedIssuers(dependencies, request.app, attestation);
  const attested = await verifyDecisionAttestation(attestation, expected, issuers, cameAt);
  const { by = NOBODY, signature } = attested;
  const verdict: ApprovalVerdict = attested.ok
    ? await verdictOn(verify, confirm, by)
    : { counts: false, reason: attested.reason, by };
  return signature === undefined ? verdict : { ...verdict, signature };
}

async function verdictOn(verify: DecisionToVerify, confirm: Confirm, by: Voter): Promise<ApprovalVerdict> {
  const { dependencies, input, request } = verify;
  const { approval } = settingsOf(dependencies.deployment, request.app);
  const decision = decisionOf(confirm);
  const edited = decision === 'approve' ? confirm.args : undefined;
  const rules = { escalated: await hasOthers(verify, by), trustTemporal: approval?.trustTemporal === true };
  const refusal = refusalOfVoter(request, by, rules);
  if (refusal !== undefined) return { counts: false, reason: refusal, by };
  const { entryId, at } = input;
  const standing = voteStatus(request, {
    ...{ by, decision, confirmed: confirm.confirmed },
    entry: { entryId, at },
  });
  if (!standing.counts) return { ...standing, by };
  const tooLong = confirm.reason === undefined ? undefined : reasonProblem(confirm.reason);
  if (tooLong !== undefined) return { counts: false, reason: `reason: ${tooLong}`, by };
  if (decision === 'withdraw') return { counts: true, by, kind: 'withdrawn' };
  const wrong = decisionProblem(confirm);
  if (wrong !== undefined) return { counts: false, reason: `${wrong.field}: ${wrong.problem}`, by };
  const { payload } = confirm;
  if (payload !== undefined && digestOf(asStored(payload)) !== digestOf(payload)) {
    const reason = 'payload: NUL characters and lone surrogates are kept by no database: leave them out';
    return { counts: false, reason, by };
  }
  if (edited === undefined) return { counts: true, by, kind: 'voted' };
  const problem = standing.recorded ? undefined : await editRefusal(verify, edited);
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
  const { now } = await dependencies.store.approvals.findEvidence(request.session, request.callKey);
  return hasEscalated(request, now);
}

async function editRefusal(
  { request, ...verify }: DecisionToVerify,
  edited: unknown,
): Promise<string | undefined> {
  if (request.terms.allowEdit !== true) return 'args: this request does not let arguments be changed';
  if (!isRecord(edited)) return 'args: expected an object';
  const secret = secretInEdit(request, edited);
  if (secret !== undefined) return `args: ${secret}`;
  return await refusalOfEdit({ request, ...verify }, edited);
}

/** Milliseconds that the tool and the callbacks may take. */
const CHECK_TIME = 20_000;

interface EditToCheck {
  dependencies: ActivityDependencies;
  /** Of the activity that checks it: names who has asked for the call. */
  input: NamedAgent;
  request: ApprovalRow;
  current: Attempt;
}

/**
 * Why edited arguments may not run: the tool refuses them, or a callback would have rewritten or answered them. Before-tool
 * callbacks have seen the arguments that were shown, and nobody has seen these.
 *
 * @throws NotDeployedHere while another worker may have the tool.
 */
async function refusalOfEdit(edit: EditToCheck, given: Record<string, unknown>): Promise<string | undefined> {
  const args = withFixed(edit.request, given);
  if (digestOf(asStored(args)) !== digestOf(args)) {
    return 'args: NUL characters and lone surrogates are kept by no database: leave them out';
  }
  const late = () => new Error(`no answer within ${CHECK_TIME} ms`);
  const { current } = edit;
  try {
    return await inTime((signal) => check(edit, args, signal), { time: CHECK_TIME, late, current });
  } catch (error) {
    if (current.signal.aborted || storeErrorIn(error) !== undefined) throw error;
    if (error instanceof NotDeployedHere && !isDeployedNowhere(error)) throw error;
    const { dependencies, request } = edit;
    const { message } = describeFailure(error);
    const { app, sessionId, invocationId, callKey, agent, tool } = request;
    callLogger(dependencies, { app, sessionId, invocationId, callKey, agent, tool }).warn(
      'edited arguments could not be checked',
      dependencies.conceal || isAnySensitive(request.sensitive) ? {} : { problem: message },
    );
    return 'args: they could not be checked, and so may not run; the log of the worker says why';
  }
}

async function check(
  { dependencies, input, request, current }: EditToCheck,
  args: Record<string, unknown>,
  abortSignal: AbortSignal,
): Promise<string | undefined> {
  const { deployment, store } = dependencies;
  const { session, runKey, invocationId, callKey, callId, tool: name, app } = request;
  assertOfApp(deployment, app, input);
  const agent = callerOf(deployment, input);
  const { step } = placeOfCall(callKey);
  const peeked = await store.turns.peekStep({ session, invocationId, runKey, step });
  const parts: ContextParts = { ...peeked, invocationId, agent, abortSignal };
  const edits = peeked.remembered.toolEdits;
  const callbacks = new ToolCallbacks(agent, pluginsOf(deployment, app));
  const isAsked = callbacks.has('beforeToolCallback');
  if (isAsked) {
    const transcript = await currentTranscript(dependencies, session, peeked.names);
    parts.transcript = transcriptView(transcript, invocationId);
  }
  const init = contextInitOf(parts);
  const search = { deployment, agent, init, edits, current, time: CHECK_TIME };
  const tool = await searchTool(search, { name, callId });
  const call = { callId, callKey, session, attempt: 1, once: NOTHING_ONCE, heartbeat: () => undefined };
  const context = callContext(init, call, abortSignal);
  const refused = (await refusalOfTool(tool, args)) ?? (await refusalOfTerms(tool, request, args, context));
  if (refused !== undefined || !isAsked) return refused;
  const seen = structuredClone(args);
  const answer = await callbacks.before({ tool, args: seen, context });
  if (answer !== undefined)
    return 'args: a before-tool callback answers such a call itself, and keeps it from running';
  if (digestOf(seen) === digestOf(args)) return undefined;
  return 'args: a before-tool callback would change them, and a call may run only with approved arguments';
}

/** A person who may approve 100 must not be able to make 10,000 of it. */
async function refusalOfTerms(
  tool: BaseTool,
  { terms }: ApprovalRow,
  args: Record<string, unknown>,
  context: Context,
): Promise<string | undefined> {
  const question = await questionOf(tool, args, context);
  if (question === undefined || coversTerms(terms, question.terms ?? approvalTermsOf(tool))) return undefined;
  return 'args: a call with these takes more approvals, or those of other people: it has to be asked for itself';
}

async function refusalOfTool(tool: BaseTool, args: Record<string, unknown>): Promise<string | undefined> {
  try {
    await tool.checkArguments(structuredClone(args));
    return undefined;
  } catch (error) {
    if (!isToolError(error)) throw error;
    // An error of the user's own schema may quote the value.
    return isAnySensitive(tool.durable.sensitive) ? 'args: the tool refuses them' : `args: ${error.message}`;
  }
}
