import { agentsOfTree } from '../src/agents/agents-of-tree.ts';
import type { BaseAgent } from '../src/agents/base-agent.ts';
import { isLlmAgent } from '../src/agents/is-llm-agent.ts';
import { ToolsetFailed, toolsOf } from '../src/flows/resolve-tools.ts';
import { made } from '../src/flows/tool-edits.ts';
import type { ActingAgent, AgentRef, ToolOfAgent } from '../src/protocol/agent-run.ts';
import { agentOfTool } from '../src/tools/agent-of-tool.ts';
import { type BaseTool, isBaseTool } from '../src/tools/base-tool.ts';
import { isBaseToolset } from '../src/tools/base-toolset.ts';
import { makeTurnTool } from '../src/tools/turn-registry.ts';
import { confirmAgent, isConfirmAgent } from './approvals/confirm-agent.ts';
import { type Deployment, settingsOf } from './deployment.ts';
import { NotDeployedHere } from './not-deployed-here.ts';

/** An agent as the inputs of activities name it. */
export interface NamedAgent extends Pick<ActingAgent, 'root' | 'within'> {
  agent: string;
}

/** Names that a message lists at most. */
const MOST_NAMES = 20;

/** Agents behind the toolsets of an agent, by the name of their tool, as these were asked last; or why that has failed. */
const behindToolsets = new WeakMap<BaseAgent, Map<string, BaseAgent | ToolsetFailed>>();

/**
 * Root of the tree of this name.
 *
 * @throws NotDeployedHere
 */
export function treeOf({ roots }: Deployment, root: string): BaseAgent {
  const tree = isConfirmAgent(root) ? confirmAgent : roots.get(root);
  if (tree === undefined) throw new NotDeployedHere('agent', root, namesIn([...roots.values()]));
  return tree;
}

/**
 * The agent that a reference names. One that says no tree means a root before any other agent.
 * Where the way to it leads through a toolset, {@link reachAgents} has to have asked that.
 *
 * @throws NotDeployedHere, ToolsetFailed, ToolFactoryFailed
 */
export function agentOf(deployment: Deployment, { name, root, within = [] }: AgentRef): BaseAgent {
  if (isConfirmAgent(name) && within.length === 0) return confirmAgent;
  return findIn(treesBehind(deployment, root, within), name);
}

/**
 * Name of the root that the way to an agent begins at.
 *
 * @throws NotDeployedHere
 */
export function rootNamed({ roots }: Deployment, { agent, root, within: [hop] = [] }: NamedAgent): string {
  const first = hop?.agent ?? agent;
  if (root !== undefined || isConfirmAgent(first)) return root ?? first;
  return findIn([...roots.values()], first).rootAgent.name;
}

/**
 * Asks the toolsets on the way to an agent for their tools, so that {@link agentOf} finds it. A toolset that fails is told of there.
 *
 * @throws NotDeployedHere, ToolFactoryFailed
 */
export async function reachAgents(
  deployment: Deployment,
  { root, within = [] }: Pick<ActingAgent, 'root' | 'within'>,
): Promise<void> {
  for (const [index, { agent, tool, made: edit }] of within.entries()) {
    const caller = findIn(treesBehind(deployment, root, within.slice(0, index)), agent);
    if (edit !== undefined || inTools(caller, tool) !== undefined) continue;
    const known = behindToolsets.get(caller) ?? new Map();
    behindToolsets.set(caller, known);
    const behind = await inToolsets(caller, tool);
    if (behind === undefined) known.delete(tool);
    else known.set(tool, behind);
    if (behind === undefined || behind instanceof ToolsetFailed) return;
  }
}

function treesBehind(
  deployment: Deployment,
  root: string | undefined,
  within: readonly ToolOfAgent[],
): readonly BaseAgent[] {
  let trees = root === undefined ? [...deployment.roots.values()] : [treeOf(deployment, root)];
  for (const hop of within) trees = [agentBehind(deployment, findIn(trees, hop.agent), hop).rootAgent];
  return trees;
}

function findIn(trees: readonly BaseAgent[], name: string): BaseAgent {
  const root = trees.find((tree) => tree.name === name);
  if (root !== undefined) return root;
  for (const tree of trees) {
    const agent = tree.findSubAgent(name);
    if (agent !== undefined) return agent;
  }
  throw new NotDeployedHere('agent', name, namesIn(trees));
}

function namesIn(trees: readonly BaseAgent[]): string[] {
  const names = trees.flatMap(agentsOfTree).map(({ name }) => name);
  return names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES), '…'] : names;
}

function agentBehind(
  deployment: Deployment,
  caller: BaseAgent,
  { tool, made: edit }: ToolOfAgent,
): BaseAgent {
  const agent =
    edit === undefined
      ? (inTools(caller, tool) ?? behindToolsets.get(caller)?.get(tool))
      : agentMade(deployment, edit);
  if (agent instanceof ToolsetFailed) throw agent;
  if (agent !== undefined) return agent;
  const known = isLlmAgent(caller) ? caller.tools.filter(isBaseTool).filter(agentOfTool) : [];
  throw new NotDeployedHere(
    'tool',
    tool,
    known.map(({ name }) => name),
  );
}

function agentMade(
  deployment: Deployment,
  { app, factory, args }: NonNullable<ToolOfAgent['made']>,
): BaseAgent | undefined {
  const { toolFactories } = settingsOf(deployment, app);
  return agentOfTool(made(() => makeTurnTool(toolFactories, factory, args)))?.agent;
}

function inTools(caller: BaseAgent, name: string): BaseAgent | undefined {
  return isLlmAgent(caller) ? agentIn(caller.tools.filter(isBaseTool), name) : undefined;
}

async function inToolsets(caller: BaseAgent, name: string): Promise<BaseAgent | ToolsetFailed | undefined> {
  if (!isLlmAgent(caller)) return undefined;
  for (const [index, toolset] of caller.tools.entries()) {
    if (!isBaseToolset(toolset)) continue;
    try {
      const agent = agentIn(await toolsOf(caller, toolset, index), name);
      if (agent !== undefined) return agent;
    } catch (error) {
      if (error instanceof ToolsetFailed) return error;
      throw error;
    }
  }
  return undefined;
}

function agentIn(tools: readonly BaseTool[], name: string): BaseAgent | undefined {
  const found = tools.find((tool) => tool.name === name);
  return found === undefined ? undefined : agentOfTool(found)?.agent;
}
