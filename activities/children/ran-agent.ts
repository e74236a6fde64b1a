import type { AgentErrand } from '../../src/protocol/agent-run.ts';
import { runKeyOfCall } from '../../src/protocol/identity.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { CallActions, ChildOutcome, Store } from '../../src/store/store.ts';
import type { AgentOfTool } from '../../src/tools/agent-of-tool.ts';
import { type AgentRunEnd, agentResult } from '../../src/tools/agent-result.ts';
import { ApprovalNotProven } from '../approvals/approval-not-proven.ts';
import type { Attempt } from '../attempt.ts';
import { heardOutcome } from '../jobs/job-outcome.ts';
import { type CallOutcome, outcomeOfFailure } from '../tool/failed-call.ts';
import type { CalledTool, ToolCallbacks } from '../tool/tool-callbacks.ts';

/** Runs of one call's agent that are looked for; a deploy may have lowered what the tool allows. */
const MOST_RUNS = 100;

/** What the agent of a call has come to, and has done to its caller's state. */
export interface RanAgent {
  end: AgentRunEnd;
  actions: CallActions;
}

/**
 * The activity's input can name any run. The answer of another call's agent would settle this call, even while people decide.
 *
 * @throws ApprovalNotProven
 */
export async function assertOwnRun(
  store: Pick<Store, 'findEvidence'>,
  { session, runKey, callKey }: Pick<ToolCallInput, 'session' | 'runKey' | 'callKey'>,
  { agent: { name: agent } }: AgentOfTool,
  ran: string,
): Promise<void> {
  const attempts = Array.from({ length: MOST_RUNS }, (_, index) => index + 1);
  if (!attempts.some((attempt) => runKeyOfCall(runKey, callKey, { agent, attempt }) === ran)) {
    throw new ApprovalNotProven('the agent that is said to have run is one of another call');
  }
  const { requests } = await store.findEvidence(session, callKey);
  if (requests.some(({ status }) => status === 'pending')) {
    throw new ApprovalNotProven('the call waits for people, so its agent has not run');
  }
}

/**
 * Reads it. A run that has ended without a word is ended by this.
 *
 * @param session of the caller.
 */
export async function ranAgent(
  store: Pick<Store, 'endChild'>,
  session: string,
  { skipSummarization }: AgentOfTool,
  errand: AgentErrand,
): Promise<RanAgent> {
  const child = await store.endChild(session, errand.runKey);
  const end = endOf(errand, child);
  const { stateDelta = {} } = child ?? {};
  return {
    end,
    actions: {
      ...(Object.keys(stateDelta).length === 0 ? {} : { stateDelta }),
      ...(skipSummarization && end.status === 'completed' ? { skipSummarization } : {}),
    },
  };
}

/** The store knows best how it has ended, unless somebody has ended it from outside. */
function endOf({ status, error }: AgentErrand, child: ChildOutcome | undefined): AgentRunEnd {
  const recorded = child?.outcome;
  if (recorded?.status === 'completed') return { status: 'completed', text: child?.text };
  const isForced = status === 'terminated' || status === 'timed out';
  if (isForced || recorded === undefined || recorded.status === 'interrupted') {
    return { status: status === 'completed' ? 'interrupted' : status, error };
  }
  return { status: recorded.status, error: recorded.error ?? error };
}

/** What the call is settled with: the agent's answer or its failure, as callbacks behind the tool have it. */
export async function outcomeOfAgent(
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
  return await heardOutcome({ ...heard, outcome: { response, failed: false }, isIntermediate: true });
}
