import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { HoldfastError, hasCode } from '../../src/contract/error.ts';
import { REQUEST_ENDS } from '../../src/contract/lists.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { type AuditEntry, callKeyOfRequest } from '../../src/protocol/gate.ts';
import { defined } from '../../src/protocol/json.ts';
import type { AnsweredGate } from '../../src/protocol/step.ts';
import type {
  BeginAnsweredCall,
  BegunAnsweredCall,
  Evidence,
} from '../../src/store/approvals/approval-store.ts';
import { StoreBehindHistory } from '../../src/store/store-errors.ts';
import type { BeginCall, BegunCall } from '../../src/store/turns/call-store.ts';
import { retryLater, withoutStack } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';
import { claimedEntry, fitsKind, provenEntry, refusalOfApproval } from './claimed-entries.ts';

/** Times that what is being proven may change meanwhile; people don't vote that fast. */
const MOST_LOOKS = 5;

/** Entries that may follow an answer: an approval or an answer starts a run, and all others settle the call. */
const ENDS: readonly AuditEntry['kind'][] = REQUEST_ENDS;
const CLOSES: readonly AuditEntry['kind'][] = ['rejected', 'expired', 'cancelled'];

type Begun = Exclude<BegunAnsweredCall, { kind: 'unproven' }>;

/**
 * Begins a call whose request was answered. The input's answer is a claim. Where only signed approvals count, this verifies the signatures
 * that the store has, before the ledger says that the call has started.
 *
 * @param agent whose tool runs: another one's may have the same name. Undefined where none runs.
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN and StoreError.
 */
export async function beginAnswered(
  dependencies: ActivityDependencies,
  beginning: Omit<BeginAnsweredCall, 'requestId' | 'entries' | 'proven'>,
  { requestId, entries: said }: AnsweredGate,
  agent?: BaseAgent,
): Promise<Begun> {
  const { store } = dependencies;
  // The rest of the input is left out: `proven` would be trusted.
  const call = { ...beginning, requestId, entries: said };
  try {
    assertOwn(call);
    const claimed = call.entries.map(claimedEntry);
    const known = await store.approvals.findEvidence(call.session, call.callKey);
    if (!claimed.every((entry) => fitsKind(entry, requestOf(known, entry.requestId))))
      throw approvalNotProven('what is said of the request is no answer to it');
    let begun = await store.approvals.beginAnsweredCall({ ...call, entries: claimed });
    for (let look = 1; begun.kind === 'unproven'; look += 1) {
      if (look > MOST_LOOKS) throw retryLater('ApprovalsChanging', 'people vote while the call begins');
      const { evidence } = begun;
      const entries = await Promise.all(
        claimed.map((entry) =>
          provenEntry(dependencies, entry, requestOf(evidence, entry.requestId), evidence),
        ),
      );
      if (!call.closes) await assertApproved(dependencies, call, evidence, agent);
      begun = await store.approvals.beginAnsweredCall({ ...call, entries, proven: evidence.stamp });
    }
    return begun;
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_APPROVAL_NOT_PROVEN')) {
      const { callKey, tool } = call;
      callLogger(dependencies, { callKey, tool }).warn('a call was not begun', { reason: error.message });
    }
    throw error;
  }
}

/**
 * Begins a call that nobody was asked about when it was planned.
 *
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN where somebody was: such a call begins with the answer.
 */
export async function beginUnanswered(
  { store }: Pick<ActivityDependencies, 'store'>,
  beginning: BeginCall,
): Promise<BegunCall> {
  try {
    return await store.turns.beginCall(beginning);
  } catch (error) {
    if (!(error instanceof StoreBehindHistory)) throw error;
    const { requests } = await store.approvals.findEvidence(beginning.session, beginning.callKey);
    if (requests.length === 0) throw error;
    throw approvalNotProven('people were asked about it, and it is begun without their answer');
  }
}

/** An answer counts for this call, also if it answers others. */
function assertOwn({ callKey, runKey, requestId, entries, closes }: BeginAnsweredCall): void {
  const ids = [requestId, ...entries.map((entry) => entry.requestId)];
  if (!callKey.startsWith(`${runKey}.`) || ids.some((id) => callKeyOfRequest(id) !== callKey)) {
    throw approvalNotProven('the request that was answered is one of another call');
  }
  const kinds = closes ? CLOSES : ENDS;
  if (entries.every(({ kind }) => kinds.includes(kind))) return;
  throw approvalNotProven(`what is said of the request does not ${closes ? 'end' : 'start'} a call`);
}

/** All approvals that the call may run by, those of before included: one that is no good now was none then. */
async function assertApproved(
  dependencies: ActivityDependencies,
  { tool, entries }: BeginAnsweredCall,
  evidence: Evidence,
  agent: BaseAgent | undefined,
): Promise<void> {
  for (const request of evidence.requests) {
    if (request.kind !== 'confirmation') continue;
    const { requestId, status, editedArgs, answerPayload } = request;
    const said = entries.findLast((entry) => entry.requestId === requestId && entry.kind === 'approved');
    if (status !== 'approved' && (status !== 'pending' || said === undefined)) continue;
    if (agent === undefined || !isPathOf(agent, request.path)) {
      throw approvalNotProven(`${requestId} is for a tool of another agent`);
    }
    if (request.tool !== tool) throw approvalNotProven(`${requestId} is for another tool`);
    const args = status === 'approved' ? editedArgs : said?.args;
    const payload = status === 'approved' ? answerPayload : said?.payload;
    const approved = {
      ...defined({ args, payload }),
    };
    const problem = await refusalOfApproval(dependencies, request, approved, evidence);
    if (problem !== undefined) throw approvalNotProven(`${requestId}: ${problem}`);
  }
}

/** Whether it ends with the agent's place in its tree, whose root no other tree of the worker has. */
function isPathOf(agent: BaseAgent, path: readonly string[]): boolean {
  const own: string[] = [];
  for (let each: BaseAgent | undefined = agent; each !== undefined; each = each.parentAgent)
    own.unshift(each.name);
  return own.join('/') === path.slice(-own.length).join('/');
}

function requestOf({ requests }: Evidence, requestId: string): ApprovalRow | undefined {
  return requests.find((request) => request.requestId === requestId);
}

/** A call is said to be approved, and what the store has doesn't prove it. Nothing has run, and nothing was written. */
export function approvalNotProven(problem: string): HoldfastError {
  return withoutStack(
    new HoldfastError('HOLDFAST_APPROVAL_NOT_PROVEN', `the approval of this call is not proven: ${problem}`),
  );
}
