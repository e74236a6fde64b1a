import type { ApprovalRow } from '../../src/contract/requests.ts';
import { getFunctionCalls } from '../../src/events/event.ts';
import { REQUEST_CONFIRMATION_FUNCTION_CALL_NAME } from '../../src/events/request-calls.ts';
import { LIMIT } from '../setup/gated-apps.ts';
import { Findings, type Violation } from '../soak/violation.ts';
import type { CallEvidence, GatedEvidence } from './evidence.ts';

const UNKNOWN = 'outcome unknown: this call may have run; check before repeating it';
const REJECTED = 'This tool call is rejected.';

const ENDINGS = ['approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;

/** What a gate promises, whatever happens around it. */
export function checkGates(evidence: GatedEvidence): Violation[] {
  const { played, calls, requests, audited, unsettled, openRuns, invocations } = evidence;
  const found = new Findings(played.scenario.names.sessionId);
  for (const problem of played.problems) found.expect(false, 'nothing is thrown but refusals', () => problem);
  found.expectEqual(invocations.length, played.turns.length, 'every turn ends', 'invocations');
  for (const { invocationId, status } of invocations) {
    const ended = status === 'completed' || status === 'interrupted';
    found.expect(ended, 'every turn ends', () => `${invocationId}: ${status}`);
  }
  found.expectEqual(openRuns, 0, 'every turn ends', 'workflows that run');
  found.expectEqual(unsettled, [], 'every call is settled', 'calls without an outcome');
  found.expectEqual(audited.problems, [], 'the audit verifies', 'problems');
  for (const call of calls) {
    found.expectEqual(call.responses, 1, 'a call has one response', call.callKey);
    checkEffects(evidence, call, found);
    checkResponse(evidence, call, found);
    checkDeath(evidence, call, found);
  }
  for (const request of requests) checkRequest(evidence, request, found);
  return found.violations;
}

const isAsked = ({ tool, args }: CallEvidence) =>
  tool !== 'look' && (tool !== 'pay_over' || Number(args.amount) > LIMIT);

/** The request that lets the call have its effect. */
function approvalOf({ requests }: CallEvidence): ApprovalRow | undefined {
  return requests.find(({ status }) => status === 'approved');
}

function checkEffects(_evidence: GatedEvidence, call: CallEvidence, found: Findings): void {
  if (!isAsked(call)) return;
  const { callKey, effects } = call;
  found.expect(
    effects.length <= 1,
    'started once for an approval',
    () => `${callKey}: ${JSON.stringify(effects)}`,
  );
  const approval = approvalOf(call);
  for (const { args } of effects) {
    found.expect(approval !== undefined, 'started with an approval only', () => callKey);
    found.expectEqual(
      args,
      approval?.editedArgs ?? approval?.args,
      'started with the approved arguments',
      `arguments of ${callKey}`,
    );
  }
}

function checkResponse({ played }: GatedEvidence, call: CallEvidence, found: Findings): void {
  const { callKey, tool, args, response, effects, requests } = call;
  const error = typeof response?.error === 'string' ? response.error : undefined;
  if (response !== undefined && 'n' in response) {
    const [effect] = effects.filter(({ attempt }) => attempt === response.attempt);
    found.expect(
      effect !== undefined,
      'a result is that of an effect',
      () => `${callKey}: ${JSON.stringify(response)}`,
    );
    found.expectEqual(response.n, args.n, 'a result is that of its call', callKey);
    return;
  }
  if (response?.declined === true) {
    const expected = tool === 'pay_inside' && requests.some(({ status }) => status === 'rejected');
    found.expect(expected && effects.length === 0, 'who declines was told no', () => callKey);
    return;
  }
  if (error?.startsWith(REJECTED)) {
    const kept = requests.some(
      ({ status }) => status === 'rejected' || status === 'expired' || status === 'cancelled',
    );
    found.expect(kept && effects.length === 0, 'what is rejected never ran', () => callKey);
    return;
  }
  if (error === UNKNOWN) return;
  const cutOff = played.cancelled.has(callKey) || played.broken;
  found.expect(
    cutOff && error !== undefined,
    'a call has its outcome',
    () => `${tool} ${callKey}: ${JSON.stringify(response)}`,
  );
}

/** A death between the start and the record of the outcome. */
function checkDeath({ died, played }: GatedEvidence, call: CallEvidence, found: Findings): void {
  const { callKey, response, effects } = call;
  const moment = died[callKey];
  if (moment === undefined || !isAsked(call) || approvalOf(call) === undefined) return;
  if (played.cancelled.has(callKey) || played.broken) return;
  const promise = 'a start without an outcome is reported as unknown';
  if (moment === 'after begin' || moment === 'effect') {
    // One that asks while it runs has been started before it was approved, too.
    if (call.tool === 'pay_inside' && moment === 'after begin' && effects.length > 0) return;
    found.expectEqual(response, { error: UNKNOWN }, promise, `${callKey}, died at ${moment}`);
    found.expectEqual(effects.length, moment === 'effect' ? 1 : 0, promise, `effects of ${callKey}`);
  }
}

function checkRequest(
  { played, events, audit, calls }: GatedEvidence,
  request: ApprovalRow,
  found: Findings,
): void {
  const { requestId, callKey, status, history, tool, terms, args } = request;
  const said = played.said.filter((one) => one.requestId === requestId);
  const call = calls.find((one) => one.callKey === callKey);
  found.expect(status !== 'pending', 'every request ends', () => requestId);
  const ends = history
    .filter(({ kind }) => ENDINGS.some((ending) => ending === kind))
    .map(({ kind }) => kind);
  found.expectEqual(ends, [status], 'a request ends once', `endings of ${requestId}`);
  // What came too late is in the audit, too.
  const [first] = audit.filter(
    ({ kind, facts }) => facts.requestId === requestId && ENDINGS.some((ending) => ending === kind),
  );
  found.expectEqual(first?.kind, status, 'the audit has what ended it', requestId);
  const asked = events.filter(({ event }) =>
    getFunctionCalls(event).some(
      ({ id, name }) => id === requestId && name === REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
    ),
  );
  found.expectEqual(asked.length, 1, 'a request is one event', requestId);
  const isPlanned = tool !== 'pay_edited' && tool !== 'pay_inside';
  if (isPlanned) found.expectEqual(args.checked, 1, 'callbacks run once', requestId);
  found.expectEqual(args.n, call?.args.n, 'people are shown the arguments of the call', requestId);

  const count = (confirmed: boolean) => said.filter((one) => one.confirmed === confirmed);
  const signers = (confirmed: boolean) =>
    new Set(
      count(confirmed)
        .map(({ by }) => by)
        .filter((by) => by),
    );
  const mayApprove = terms.onExpiry === 'approve';
  if (status === 'approved') {
    const enough =
      terms.approvers === undefined
        ? mayApprove || count(true).length > 0
        : signers(true).size >= (terms.quorum ?? 1);
    found.expect(enough, 'approved by enough people', () => `${requestId}: ${JSON.stringify(said)}`);
    const { editedArgs } = request;
    const asEdited = said.some((one) => JSON.stringify(one.args) === JSON.stringify(editedArgs));
    found.expect(asEdited || mayApprove, 'edited as somebody has said', () => requestId);
  }
  if (status === 'rejected') {
    const by = terms.approvers === undefined ? count(false).length : signers(false).size;
    found.expect(by > 0, 'rejected by somebody', () => `${requestId}: ${JSON.stringify(said)}`);
  }
  if (status === 'expired') {
    found.expect(terms.expiresIn !== undefined, 'only what may expire does', () => requestId);
  }
  if (status === 'cancelled') {
    const ended = played.broken || played.cancelled.has(callKey);
    found.expect(ended, 'cancelled with its call or turn only', () => requestId);
  }
  for (const { way, answer, confirmed } of said) {
    if (answer !== 'approved' && answer !== 'rejected') continue;
    found.expectEqual(
      answer,
      confirmed ? 'approved' : 'rejected',
      'a receipt says what was decided',
      requestId,
    );
    // What a turn had taken and not recorded when it was terminated is asked again.
    const kept = answer === status || played.broken;
    found.expect(
      kept,
      'a receipt holds',
      () => `${requestId}: ${way} was told ${answer}, and it is ${status}`,
    );
  }
}
