import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { AgentToolPlan, CallOfAgent } from '../../src/protocol/agent-run.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { runKeyOfCall } from '../../src/protocol/identity.ts';
import type { CallModelInput } from '../../src/protocol/step.ts';
import { asStored, storableText } from '../../src/store/engine/json-text.ts';
import type { CallOfAgentFound, OpenStep } from '../../src/store/store.ts';
import { requestText } from '../../src/tools/agent-tool.ts';
import { ApprovalNotProven } from '../approvals/approval-not-proven.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';

/**
 * The message that a call of an agent's tool begins its agent with. The input may name any call with any arguments, so the store decides:
 * the call was planned for this agent, its approvals were proven when it began, and its arguments are those of the plan or the approval.
 *
 * @throws ApprovalNotProven, StoreBehindHistory
 */
export async function messageOfCall(
  dependencies: ActivityDependencies,
  agent: BaseAgent,
  input: CallModelInput,
  { session, runKey, callKey, tool }: CallOfAgent,
): Promise<string> {
  // What lets it run stays true: one look before the session is opened is enough.
  const found = await dependencies.store.findCallOfAgent({ session, callKey });
  const problem = callKey.startsWith(`${runKey}.`) ? refusalOf(found, input) : 'it is one of another run';
  if (problem === undefined) return requestText(agent, found.args ?? {});
  callLogger(dependencies, { callKey, tool }).warn('the agent of a call was not run', { reason: problem });
  throw new ApprovalNotProven(problem);
}

/** Why a call doesn't run this agent. */
function refusalOf(
  { app, userId, planned, isUnderWay, requests }: CallOfAgentFound,
  input: CallModelInput,
): string | undefined {
  const { identity } = input;
  const runs = planned?.runs;
  if (planned === undefined || runs === undefined || !isRunOf(planned.callKey, runs, input)) {
    return 'the call was planned for another agent, or not at all';
  }
  if (
    identity === undefined ||
    storableText(identity.app) !== app ||
    storableText(identity.userId) !== userId
  ) {
    return 'the call is one of another app or user';
  }
  const { gate } = planned;
  // Any other runs its agent without an activity before it.
  if ((gate !== undefined || runs.begins === true) && !isUnderWay) return 'the call has not begun';
  const isAsked = gate === undefined || requests.some(({ requestId }) => requestId === gate.requestId);
  const isLetRun = requests.every(({ kind, status, hasBegun }) =>
    kind === 'confirmation' ? status === 'approved' && hasBegun : status !== 'pending',
  );
  return isAsked && isLetRun ? undefined : 'the call waits for people, or was not let run';
}

/** Whether the run is one of those that the plan allows, of the agent where the plan says that it is. */
function isRunOf(
  callKey: string,
  { name, root, within, attempts = 1 }: AgentToolPlan,
  { agent, root: actingRoot, within: actingWithin, runKey, invocationId, call, identity }: CallModelInput,
): boolean {
  const acting = asStored({ root: actingRoot, within: actingWithin });
  const isSame = name === agent && canonicalJson({ root, within }) === canonicalJson(acting);
  const runs = Array.from({ length: attempts }, (_, index) =>
    runKeyOfCall(call?.runKey ?? '', callKey, { agent: name, attempt: index + 1 }),
  );
  return isSame && invocationId === runKey && identity?.sessionId === runKey && runs.includes(runKey);
}

/** Whose child a run is, as far as its first step says it. */
export function parentOf({
  call,
  path,
  plannedBy,
}: CallModelInput): Pick<OpenStep, 'child' | 'parent' | 'plannedBy'> {
  return {
    ...(path === undefined ? {} : { child: true }),
    ...(call === undefined
      ? {}
      : { parent: { session: call.session, runKey: call.runKey, callKey: call.callKey, path: path ?? [] } }),
    ...(plannedBy === undefined ? {} : { plannedBy }),
  };
}
