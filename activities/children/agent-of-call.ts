import { type AgentRunEnd, agentResult, requestText } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { AgentToolPlan, CallOfAgent, EndedAgent } from '../../src/protocol/agent-run.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { runKeyOfCall } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import type { CallModelInput, ToolCallInput } from '../../src/protocol/step.ts';
import { asStored, storableText } from '../../src/store/engine/json-text.ts';
import type { Store } from '../../src/store/store.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';
import type { CallOfAgentFound, ChildOutcome } from '../../src/store/turns/child-store.ts';
import type { OpenStep } from '../../src/store/turns/step-store.ts';
import type { AgentOfTool, BaseTool } from '../../src/tools/base-tool.ts';
import type { ContextInit } from '../../src/tools/invocation-context.ts';
import { approvalNotProven } from '../approvals/begin-answered.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { outcomeByHooks } from '../jobs/job-outcomes.ts';
import { callLogger } from '../logging.ts';
import type { CallReport } from '../telemetry/reports.ts';
import { errorType } from '../telemetry/turn-metrics.ts';
import { plannedArguments } from '../tool/begin-call.ts';
import { callContext } from '../tool/call-context.ts';
import { type CallOutcome, outcomeOfFailure } from '../tool/settle-call.ts';
import type { CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';
import type { StartedCall } from '../tool/tool-failure.ts';

/**
 * The message that a call of an agent's tool begins its agent with. The input may name any call with any arguments, so the store decides:
 * the call was planned for this agent, its approvals were proven when it began, and its arguments are those of the plan or the approval.
 *
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN, StoreBehindHistory
 */
export async function messageOfCall(
  dependencies: ActivityDependencies,
  agent: BaseAgent,
  input: CallModelInput,
  { session, runKey, callKey, tool }: CallOfAgent,
): Promise<string> {
  // The conditions for its run stay true, so one look before the session is opened is enough.
  const found = await dependencies.store.turns.findCallOfAgent({ session, callKey });
  const problem = callKey.startsWith(`${runKey}.`) ? refusalOf(found, input) : 'it is one of another run';
  if (problem === undefined) return requestText(agent, found.args ?? {});
  callLogger(dependencies, { callKey, tool }).warn('the agent of a call was not run', { reason: problem });
  throw approvalNotProven(problem);
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

/** The parent of a run, by the run's first step. */
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
    ...defined({ plannedBy }),
  };
}

/** Runs of one call's agent that are looked for; a deploy may have lowered what the tool allows. */
const MOST_RUNS = 100;

interface RanCall {
  input: ToolCallInput;
  begun: StartedCall;
  tool: BaseTool;
  runs: AgentOfTool;
  ran: EndedAgent;
  callbacks: ToolCallbacks;
  init: ContextInit;
  report: CallReport;
}

/**
 * The outcome of a call whose agent has run.
 *
 * @returns `done`: the actions of callbacks and the agent, which count with any outcome of the call.
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN for a run that is none of the call's.
 */
export async function resultOfAgent(
  store: Pick<Store, 'approvals' | 'turns'>,
  call: RanCall,
  current: Attempt,
): Promise<{ outcome: CallOutcome; done: CallActions }> {
  const { input, begun, tool, runs, ran, callbacks, init, report } = call;
  const { session, callKey, callId } = input;
  await assertOwnRun(store, input, runs, ran.runKey);
  // A run that ended without its own error gets this one.
  const child = await store.turns.endChild(session, ran.runKey);
  const end = endOf(ran, child);
  const stateDelta = { ...begun.prepared?.stateDelta, ...child?.stateDelta };
  const artifactDelta = { ...begun.prepared?.artifactDelta, ...child?.artifactDelta };
  const done: CallActions = {
    ...begun.prepared,
    ...(runs.skipSummarization && end.status === 'completed' ? { skipSummarization: true } : {}),
    ...(Object.keys(stateDelta).length === 0 ? {} : { stateDelta }),
    ...(Object.keys(artifactDelta).length === 0 ? {} : { artifactDelta }),
  };
  const once = {
    get: (key: string) => begun.once[key],
    put: async (_key: string, value: unknown) => value,
  };
  const own = { callId, callKey, session, attempt: begun.attempt, once, heartbeat: () => undefined };
  const context = callContext(init, own, current.signal, done);
  const args = structuredClone(plannedArguments(input, begun));
  const called = { callbacks, call: { tool, args, context }, time: tool.durable.timeout, current };
  const outcome = await outcomeOfAgent(runs, end, called);
  const failed = end.status === 'completed' ? undefined : { type: errorType(end.error?.code ?? end.status) };
  if (ran.beganAt !== undefined) report.ranAgent(ran.beganAt, failed);
  return { outcome, done };
}

/**
 * The activity's input can name any run. The answer of another call's agent would settle this call, even while people decide.
 *
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN
 */
async function assertOwnRun(
  store: Pick<Store, 'approvals'>,
  { session, runKey, callKey }: Pick<ToolCallInput, 'session' | 'runKey' | 'callKey'>,
  { agent: { name: agent } }: AgentOfTool,
  ran: string,
): Promise<void> {
  const attempts = Array.from({ length: MOST_RUNS }, (_, index) => index + 1);
  if (!attempts.some((attempt) => runKeyOfCall(runKey, callKey, { agent, attempt }) === ran)) {
    throw approvalNotProven('the agent that is said to have run is one of another call');
  }
  const { requests } = await store.approvals.findEvidence(session, callKey);
  if (requests.some(({ status }) => status === 'pending')) {
    throw approvalNotProven('the call waits for people, so its agent has not run');
  }
}

/** The store knows best how it has ended, unless somebody has ended it from outside. */
function endOf({ status, error }: EndedAgent, child: ChildOutcome | undefined): AgentRunEnd {
  const recorded = child?.outcome;
  if (recorded?.status === 'completed') return { status: 'completed', text: child?.text };
  const isForced = status === 'terminated' || status === 'timed out';
  if (isForced || recorded === undefined || recorded.status === 'interrupted') {
    return { status: status === 'completed' ? 'interrupted' : status, error };
  }
  return { status: recorded.status, error: recorded.error ?? error };
}

/** The outcome that settles the call: the agent's answer or its failure, after the tool's callbacks. */
async function outcomeOfAgent(
  { agent }: AgentOfTool,
  end: AgentRunEnd,
  heard: { callbacks: ToolCallbacks; call: CalledTool; time: number; current: Attempt },
): Promise<CallOutcome> {
  let response: Record<string, unknown>;
  try {
    response = await agentResult(agent, end);
  } catch (thrown) {
    return await outcomeOfFailure(heard.callbacks, { ...heard, thrown });
  }
  // Its schema has been looked at.
  return await outcomeByHooks({ ...heard, outcome: { response, failed: false }, isIntermediate: true });
}
