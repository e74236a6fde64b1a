import type { RunBudget } from '../protocol/run-terms.ts';
import type { AgentView } from './invocation-context.ts';

/** A tool that isn't run itself: its agent is, as a child workflow. */
export const AGENT_OF_TOOL = Symbol.for('holdfast.agentOfTool');

/** How the agent of a tool is run. */
export interface AgentOfTool<Agent extends AgentView = AgentView> {
  readonly agent: Agent;
  readonly skipSummarization: boolean;
  /** Milliseconds, of all its runs; not limited without. */
  readonly timeout?: number;
  /** How often it is run before its failure is the call's. */
  readonly attempts: number;
  /** Of each run, with those below it. */
  readonly budget?: Readonly<RunBudget>;
  /** Where its workers are, if not where the caller's are. */
  readonly taskQueue?: string;
}

/** The agent that a call of this tool runs in its place; undefined for a tool that runs itself. */
export function agentOfTool(tool: { readonly [AGENT_OF_TOOL]?: AgentOfTool }): AgentOfTool | undefined {
  return tool[AGENT_OF_TOOL];
}
