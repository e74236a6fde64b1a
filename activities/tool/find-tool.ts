import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { isBuiltInCodeExecutor } from '../../src/code-executors/built-in-code-executor.ts';
import { codeTool } from '../../src/code-executors/code-tool.ts';
import { TIMEOUT_MARGIN } from '../../src/flows/plan-calls.ts';
import { findTool, ToolsetFailed, transferToolOf } from '../../src/flows/resolve-tools.ts';
import { queryNamed } from '../../src/flows/spooled-queries.ts';
import type { ToolEdit } from '../../src/protocol/run-terms.ts';
import { type BaseTool, isBaseTool } from '../../src/tools/base-tool.ts';
import { isBaseToolset } from '../../src/tools/base-toolset.ts';
import type { ContextInit } from '../../src/tools/invocation-context.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { type NotDeployedHere, notDeployedHere } from '../agents.ts';
import type { Attempt } from '../attempt.ts';
import { inTime } from '../deadline.ts';
import { type Deployment, settingsOf } from '../deployment.ts';

/** The name in a call: of a tool, or of the code executor where the call has no id on the wire. */
export interface CalledName {
  name: string;
  callId: string;
}

export interface ToolSearch {
  deployment: Deployment;
  agent: LlmAgent;
  init: ContextInit;
  edits: readonly ToolEdit[];
  current?: Pick<Attempt, 'signal' | 'aborted'>;
  time: number;
}

/** The tool that stands in the agent's own list, which nobody need be asked for. */
export function ownTool(agent: LlmAgent, { name, callId }: CalledName): BaseTool | undefined {
  if (callId !== '') {
    const listed = agent.tools.find((tool): tool is BaseTool => isBaseTool(tool) && tool.name === name);
    return listed ?? transferToolOf(agent, name) ?? queryNamed(agent.tools.filter(isBaseTool), name);
  }
  const { codeExecutor } = agent;
  const isMeant = codeExecutor?.name === name && !isBuiltInCodeExecutor(codeExecutor);
  return isMeant ? codeTool(codeExecutor) : undefined;
}

/**
 * The agent's own tool; undefined for one that a toolset or a factory may have.
 *
 * @throws NotDeployedHere where no toolset and no factory can have it.
 */
export function deployedTool(
  deployment: Deployment,
  agent: LlmAgent,
  called: CalledName,
): BaseTool | undefined {
  const own = ownTool(agent, called);
  if (own === undefined && !mayBeElsewhere(deployment, agent, called)) throw notDeployed(agent, called.name);
  return own;
}

/** Whether toolsets, or the factories of any app, may have a tool that isn't the agent's own. */
export function mayBeElsewhere({ apps }: Deployment, { tools }: LlmAgent, { callId }: CalledName): boolean {
  if (callId === '') return false;
  return (
    tools.some(isBaseToolset) || [...apps.values()].some(({ durable }) => durable.toolFactories.size > 0)
  );
}

/**
 * The tool of a call: the agent's own, one that the invocation has added, or one of a toolset. The agent's own runs also where the
 * invocation has taken it out since the call was planned.
 *
 * @throws ToolsetFailed, ToolFactoryFailed
 * @throws NotDeployedHere where nobody has it.
 */
export async function searchTool(search: ToolSearch, called: CalledName): Promise<BaseTool> {
  const { deployment, agent, init, edits, current, time } = search;
  const { name } = called;
  const own = ownTool(agent, called);
  if (own !== undefined && edits.length === 0) return own;
  const { toolFactories } = settingsOf(deployment, init.appName);
  const site = { agent, context: new ReadonlyContext(init), toolFactories, toolEdits: edits };
  const late = () => tooLate(agent, name, time);
  const found = (await inTime(() => findTool(site, name), { time, late, current })) ?? own;
  if (found !== undefined) return found;
  const missing = notDeployed(agent, name);
  if (agent.tools.some(isBaseToolset)) searched.add(missing);
  throw missing;
}

/** Those that toolsets were asked for, and don't have: tools may vanish from them while turns run. */
const searched = new WeakSet<NotDeployedHere>();

/** Whether the toolsets of the agent were asked for the tool. */
export function wasSearched(error: NotDeployedHere): boolean {
  return searched.has(error);
}

function notDeployed({ tools }: LlmAgent, name: string): NotDeployedHere {
  return notDeployedHere(
    'tool',
    name,
    tools.map((tool) => (isBaseTool(tool) ? tool.name : `those of ${tool.name}`)),
  );
}

function tooLate({ name: agent }: LlmAgent, name: string, time: number): ToolsetFailed {
  return new ToolsetFailed(`the toolsets of agent "${agent}" named no tool ${name} within ${time} ms`);
}

/** Milliseconds that the schedule of a call gives an attempt, without its margin. */
export function searchTime(): number {
  const { startToCloseTimeoutMs } = activityInfo();
  return Math.max(startToCloseTimeoutMs - TIMEOUT_MARGIN, 1);
}
