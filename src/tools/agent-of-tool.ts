import type { BaseAgent } from '../agents/base-agent.ts';
import type { ResolvedBudgetLimits } from '../agents/budget-limits.ts';
import type { BaseTool } from './base-tool.ts';

/** A tool that isn't run itself: its agent is, as a child workflow. */
export const AGENT_OF_TOOL = Symbol.for('holdfast.agentOfTool');

/** How the agent of a tool is run. */
export interface AgentOfTool {
  readonly agent: BaseAgent;
  readonly skipSummarization: boolean;
  /** Milliseconds, of all its runs; not limited without. */
  readonly timeout?: number;
  /** How often it is run before its failure is the call's. */
  readonly attempts: number;
  /** Of each run, with those below it. */
  readonly budget?: ResolvedBudgetLimits;
  /** Where its workers are, if not where the caller's are. */
  readonly taskQueue?: string;
}

/** What a call of this tool runs in its place; undefined for a tool that runs itself. */
export function agentOfTool(tool: BaseTool): AgentOfTool | undefined {
  return tool[AGENT_OF_TOOL];
}
