import { calledAgent } from '../src/agents/agent-tool.ts';
import { agentsOfTree } from '../src/agents/agents-of-tree.ts';
import type { BaseAgent } from '../src/agents/base-agent.ts';
import { isLlmAgent, type LlmAgent } from '../src/agents/llm-agent.ts';
import { subAgentTools } from '../src/agents/mode-tools.ts';
import { HoldfastError } from '../src/contract/error.ts';
import { agentToRun } from '../src/flows/agent-to-run.ts';
import { made } from '../src/flows/request-tools.ts';
import { ToolsetFailed, toolsOf } from '../src/flows/resolve-tools.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { ActingAgent, AgentRef, ToolOfAgent } from '../src/protocol/agent-run.ts';
import { defined } from '../src/protocol/json.ts';
import { CONFIRM_AGENT } from '../src/protocol/names.ts';
import type { CallModelInput } from '../src/protocol/step.ts';
import type { OpenedStep } from '../src/store/turns/step-store.ts';
import { agentOfTool, type BaseTool, isBaseTool } from '../src/tools/base-tool.ts';
import { isBaseToolset } from '../src/tools/base-toolset.ts';
import { makeTurnTool } from '../src/tools/turn-registry.ts';
import { confirmAgent, isConfirmAgent } from './approvals/confirm-agent.ts';
import { isLastRefusal } from './attempt.ts';
import { type Deployment, rootAgentOf, settingsOf } from './deployment.ts';

/** An agent as the inputs of activities name it. */
export interface NamedAgent extends Pick<ActingAgent, 'root' | 'within'> {
  agent: string;
}

/** Names that a message lists at most. */
const MOST_NAMES = 20;

/** Agents that an agent's toolsets have, by the name of their tool, as these were asked last; or why that has failed. */
const agentsOfToolsets = new WeakMap<BaseAgent, Map<string, BaseAgent | ToolsetFailed>>();

/**
 * Root of the tree of this name.
 *
 * @throws NotDeployedHere
 */
export function treeOf({ roots }: Deployment, root: string): BaseAgent {
  const tree = isConfirmAgent(root) ? confirmAgent : roots.get(root);
  if (tree === undefined) throw notDeployedHere('agent', root, namesIn([...roots.values()]));
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
  return findIn(treesAfter(deployment, root, within), name);
}

/**
 * Name of the root that the way to an agent begins at.
 *
 * @throws NotDeployedHere
 */
function rootNamed({ roots }: Deployment, { agent, root, within: [hop] = [] }: NamedAgent): string {
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
    const caller = findIn(treesAfter(deployment, root, within.slice(0, index)), agent);
    if (edit !== undefined || inTools(caller, tool) !== undefined) continue;
    const known = agentsOfToolsets.get(caller) ?? new Map();
    agentsOfToolsets.set(caller, known);
    const found = await inToolsets(caller, tool);
    if (found === undefined) known.delete(tool);
    else known.set(tool, found);
    if (found === undefined || found instanceof ToolsetFailed) return;
  }
}

function treesAfter(
  deployment: Deployment,
  root: string | undefined,
  within: readonly ToolOfAgent[],
): readonly BaseAgent[] {
  let trees = root === undefined ? [...deployment.roots.values()] : [treeOf(deployment, root)];
  for (const hop of within) trees = [agentAfter(deployment, findIn(trees, hop.agent), hop).rootAgent];
  return trees;
}

function findIn(trees: readonly BaseAgent[], name: string): BaseAgent {
  const root = trees.find((tree) => tree.name === name);
  if (root !== undefined) return root;
  for (const tree of trees) {
    const agent = tree.findSubAgent(name);
    if (agent !== undefined) return agent;
  }
  throw notDeployedHere('agent', name, namesIn(trees));
}

function namesIn(trees: readonly BaseAgent[]): string[] {
  const names = trees.flatMap(agentsOfTree).map(({ name }) => name);
  return names.length > MOST_NAMES ? [...names.slice(0, MOST_NAMES), '…'] : names;
}

function agentAfter(deployment: Deployment, caller: BaseAgent, { tool, made: edit }: ToolOfAgent): BaseAgent {
  const agent =
    edit === undefined
      ? (inTools(caller, tool) ?? agentsOfToolsets.get(caller)?.get(tool))
      : agentMade(deployment, edit);
  if (agent instanceof ToolsetFailed) throw agent;
  if (agent !== undefined) return agent;
  const known = isLlmAgent(caller) ? caller.tools.filter(isBaseTool).filter(agentOfTool) : [];
  throw notDeployedHere(
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
  return calledAgent(made(() => makeTurnTool(toolFactories, factory, args)));
}

function inTools(caller: BaseAgent, name: string): BaseAgent | undefined {
  if (!isLlmAgent(caller)) return undefined;
  const ofSubAgents = subAgentTools(caller).flatMap(({ tools }) => tools);
  return agentIn([...caller.tools.filter(isBaseTool), ...ofSubAgents], name);
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
  return found === undefined ? undefined : calledAgent(found);
}

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

export interface Actors {
  agent: BaseAgent;
  /** Root of the tree that it is in. */
  root: string;
  /** The agents that have transferred the turn, in order. */
  transferredBy: readonly BaseAgent[];
}

/** @throws NotDeployedHere */
export function agentNamed(deployment: Deployment, { agent: name, root, within }: NamedAgent): BaseAgent {
  return agentOf(deployment, refOf(name, { root, within }));
}

/**
 * The agent that has asked for a call: only those that ask a model do.
 *
 * @throws NotDeployedHere
 */
export function callerOf(deployment: Deployment, named: NamedAgent): LlmAgent {
  const agent = agentNamed(deployment, named);
  if (isLlmAgent(agent)) return agent;
  throw notDeployedHere('agent', named.agent, ['another agent of that name, which has no tools']);
}

/** Undefined where this worker has no such agent. */
export function knownCaller(deployment: Deployment, named: NamedAgent): LlmAgent | undefined {
  try {
    return callerOf(deployment, named);
  } catch (error) {
    if (error instanceof NotDeployedHere) return undefined;
    throw error;
  }
}

/** The agents that have transferred a turn, in order. */
export function transferredBy(
  deployment: Deployment,
  {
    handedOnBy: names = [],
    root,
    within,
  }: Pick<ActingAgent, 'root' | 'within'> & { handedOnBy?: readonly string[] },
): BaseAgent[] {
  return names.map((name) => agentOf(deployment, refOf(name, { root, within })));
}

/**
 * The acting agent: the one that the workflow or the message names, or the agent of the tree that goes on with the session.
 *
 * @throws NotDeployedHere
 */
export function actorsOf(
  deployment: Deployment,
  input: CallModelInput,
  { asked, names, lastAgent }: Pick<OpenStep, 'asked' | 'names' | 'lastAgent'>,
  transcript: Transcript,
): Actors {
  const name = input.agent ?? asked.agent;
  const named = input.rootAgent ?? asked.rootAgent;
  const tree = named ?? rootAgentOf(deployment, names.app);
  if (name === undefined) {
    const last = lastAgent === CONFIRM_AGENT ? answeredBefore(transcript) : lastAgent;
    const known = named ?? (last === undefined ? tree : rootOf(deployment, last, tree));
    // Another app's agent may have been asked for here before, in vain: the session goes on without it.
    const isGone = named === undefined && !isOfApp(deployment, names.app, { agent: known, root: known });
    const root = isGone ? tree : known;
    assertOfApp(deployment, names.app, { agent: root, root });
    return { agent: agentToRun(treeOf(deployment, root), transcript.events()), root, transferredBy: [] };
  }
  const { within } = input;
  // The message of a turn may name any agent that serves its app: those of the app's own tree come first.
  const root = input.root ?? rootOf(deployment, name, tree);
  const place = { ...input, agent: name, root };
  assertOfApp(deployment, names.app, place);
  const agent = agentOf(deployment, refOf(name, { root, within }));
  return { agent, root, transferredBy: transferredBy(deployment, place) };
}

/** The session's agent before a workflow asked people in it. */
function answeredBefore(transcript: Transcript): string | undefined {
  const said = transcript
    .events()
    .findLast(({ author, content }) => author !== CONFIRM_AGENT && content?.role === 'model');
  return said?.author;
}

/** Root of the tree that an agent is in which is named without one. @throws NotDeployedHere */
export function rootOf(deployment: Deployment, name: string, tree: string): string {
  if (isConfirmAgent(name)) return name;
  const first = deployment.roots.get(tree);
  if (first?.findAgent(name) !== undefined) return tree;
  return agentOf(deployment, { name }).rootAgent.name;
}

function refOf(
  name: string,
  { root, within }: { root?: string | undefined; within?: ActingAgent['within'] | undefined },
): AgentRef {
  return {
    name,
    ...defined({ root, within }),
  };
}

/**
 * During a rolling deploy a worker can get a task of an agent or tool that it doesn't have, or has no longer. Another
 * worker may have it, so the task is tried again for a minute.
 */
export class NotDeployedHere extends HoldfastError {}

export function notDeployedHere(
  kind: 'agent' | 'tool',
  missing: string,
  known: readonly string[],
): NotDeployedHere {
  return new NotDeployedHere(
    'HOLDFAST_NOT_DEPLOYED_HERE',
    `this worker has no ${kind} ${JSON.stringify(missing.slice(0, 128))}, only ${known.join(', ') || 'none'}: ` +
      `deploy a worker that has it`,
  );
}

/** Whether no worker has it: the error is final, or this is the last attempt that may say so. */
export function isDeployedNowhere(error: unknown): error is NotDeployedHere {
  return error instanceof NotDeployedHere && (!error.retryable || isLastRefusal());
}

/** An agent of an App is named in a session of another app, which has other plugins, budgets and issuers, or none. */
function agentOfAnotherApp(agent: string, owners: readonly string[], app: string): NotDeployedHere {
  const [named, of, own] = [agent, app, ...owners].map((name) => JSON.stringify(name.slice(0, 128)));
  const others = owners.length > 1 ? ` and ${owners.length - 1} more` : '';
  return new NotDeployedHere(
    'HOLDFAST_AGENT_OF_ANOTHER_APP',
    `agent ${named} belongs to app ${own}${others}, and this session is one of app ${of}: ` +
      `send the message to a session of app ${own}`,
  );
}

/**
 * Messages, and the inputs of activities, can name any agent of the worker. One whose root an App has brings nothing of that App along: it
 * runs in the sessions of apps whose root that is, and nowhere else. Those that a worker has without an App serve each app.
 *
 * @throws NotDeployedHere, also for an agent that is named without its root, and that nobody here has.
 */
export function assertOfApp(deployment: Deployment, app: string, named: NamedAgent): void {
  const refused = notOfApp(deployment, app, named);
  if (refused !== undefined) throw refused;
}

/** @throws NotDeployedHere as {@link assertOfApp} does. */
export function isOfApp(deployment: Deployment, app: string, named: NamedAgent): boolean {
  return notOfApp(deployment, app, named) === undefined;
}

function notOfApp(deployment: Deployment, app: string, named: NamedAgent): NotDeployedHere | undefined {
  const { apps } = deployment;
  // The tools of another app's factories are its own, too.
  const hop = named.within?.find(({ made }) => made !== undefined && made.app !== app);
  if (hop?.made !== undefined) return agentOfAnotherApp(hop.tool, [hop.made.app], app);
  const root = rootNamed(deployment, named);
  if (apps.get(app)?.rootAgent.name === root) return undefined;
  const owners = [...apps.values()].filter(({ rootAgent }) => rootAgent.name === root);
  if (owners.length === 0) return undefined;
  return agentOfAnotherApp(
    named.agent,
    owners.map(({ name }) => name),
    app,
  );
}
