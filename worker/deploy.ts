import { isConfirmAgent } from '../activities/approvals/confirm-agent.ts';
import type { Deployment } from '../activities/deployment.ts';
import type { HoldfastLogger } from '../activities/logging.ts';
import { llmAgentsOf, takeAgents } from '../src/agents/agents-of-tree.ts';
import {
  type BaseAgent,
  isBaseAgent,
  notARoot,
  whatItIs as whatAgentItIs,
} from '../src/agents/base-agent.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { answeringModels } from '../src/agents/routed-llm.ts';
import { type App, appOwner, isApp } from '../src/app/app.ts';
import { hasCode } from '../src/contract/error.ts';
import { missingPrice } from '../src/flows/budgets.ts';
import { assertNames, givesWay, type ToolGroup } from '../src/flows/resolve-tools.ts';
import { PluginManager } from '../src/plugins/plugin-manager.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';
import { thrownMessage } from '../src/schema/thrown-message.ts';
import { agentOfTool, type BaseTool, isBaseTool } from '../src/tools/base-tool.ts';
import { type BaseToolset, isBaseToolset } from '../src/tools/base-toolset.ts';
import { sandboxOf } from '../src/tools/workspace/sandbox.ts';
import { withinTime } from './within-time.ts';

/** Milliseconds that a worker waits for a toolset when it starts. */
const LONGEST_LOADING = 60_000;
const ADK_APP = Symbol.for('google.adk.app');

/**
 * @throws DefinitionError without agents, for two roots or apps of one name, for an unknown root agent, and for a cost
 * budget of an app whose agents have a model without a price.
 */
export function deploy(options: {
  agents?: readonly BaseAgent[] | undefined;
  apps?: readonly App[] | undefined;
  rootAgent?: string | undefined;
}): Deployment {
  const { agents: shared = [], apps: given = [] } = options;
  if (!Array.isArray(shared)) throw invalid('agents', 'expected a list of agents');
  if (!Array.isArray(given)) throw invalid('apps', 'expected a list of Apps');
  const roots = new Map<string, BaseAgent>();
  for (const [index, agent] of shared.entries()) {
    const field = `agents[${index}]`;
    if (!isBaseAgent(agent)) throw invalid(field, whatAgentItIs(agent));
    const problem = notARoot(agent);
    if (problem !== undefined) throw invalid(field, problem);
    add(roots, agent, 'agents');
  }
  const apps = new Map<string, App>();
  for (const [index, app] of given.entries()) {
    const field = `apps[${index}]`;
    if (!isApp(app)) throw invalid(field, whatItIs(app));
    if (apps.has(app.name)) throw invalid(field, `two apps are named ${JSON.stringify(app.name)}`);
    apps.set(app.name, app);
    add(roots, app.rootAgent, `${field}.rootAgent`);
  }
  for (const app of apps.values()) assertPriced(app, [app.rootAgent, ...shared]);
  const rootAgent = options.rootAgent ?? roots.keys().next().value;
  if (rootAgent === undefined) {
    throw invalid('agents', 'expected at least one agent, here or as the root agent of an App in apps');
  }
  if (!roots.has(rootAgent)) {
    throw invalid('rootAgent', `no agent is named ${JSON.stringify(rootAgent)}`);
  }
  const plugins = new Map([...apps.values()].map((app) => [app.name, new PluginManager(app.plugins)]));
  return { rootAgent, roots, apps, plugins };
}

function add(roots: Map<string, BaseAgent>, agent: BaseAgent, field: string): void {
  if (isConfirmAgent(agent.name)) {
    throw invalid(field, `the name ${JSON.stringify(agent.name)} is Holdfast's own: choose another one`);
  }
  const namesake = roots.get(agent.name);
  if (namesake !== undefined && namesake !== agent) {
    throw invalid(field, `two agents are named ${JSON.stringify(agent.name)}`);
  }
  takeAgents([agent]);
  // A model that nobody knows, and a schema that its provider refuses, are told here, and not by the first turn.
  for (const each of llmAgentsOf([agent])) assertTaken(each);
  roots.set(agent.name, agent);
}

/**
 * Asks toolsets for the tools that they know by now, so that what is wrong with them is told before the first turn. An optional toolset that
 * fails, and one whose server is away, is logged: turns ask it again.
 *
 * @throws DefinitionError of a toolset that isn't optional, for tools that their agent's model refuses, and for two tools of one name that
 * each request would have.
 */
export async function checkToolsets(
  { roots }: Pick<Deployment, 'roots'>,
  logger: Pick<HoldfastLogger, 'warn'>,
): Promise<void> {
  await Promise.all(
    llmAgentsOf(roots.values()).map(async (agent) => {
      const groups = agent.tools.map(async (tool, index): Promise<ToolGroup> => {
        const field = `tools[${index}]`;
        if (!isBaseToolset(tool)) return { field, tools: [tool] };
        return { field, toolset: tool, tools: await knownTools(agent, tool, logger) };
      });
      const needed = (await Promise.all(groups)).filter((group) => !givesWay(group));
      assertNames(agent, needed);
    }),
  );
}

/** Says in which sandbox commands and code of agents run here, or that they are refused. */
export async function tellSandboxes(
  { roots }: Pick<Deployment, 'roots'>,
  logger: Pick<HoldfastLogger, 'info' | 'warn'>,
): Promise<void> {
  for (const { name: agent, tools, codeExecutor } of llmAgentsOf(roots.values())) {
    for (const each of [...tools, codeExecutor]) {
      const sandbox = each && sandboxOf(each);
      if (sandbox === undefined) continue;
      const about = { agent, of: each?.name };
      await sandbox.wall().then(
        (wall) => logger.info('commands run in a sandbox', { ...about, sandbox: wall }),
        (error) => logger.warn('commands are refused', { ...about, reason: thrownMessage(error) }),
      );
    }
  }
}

/** Tools of a toolset that each request has: a predicate may leave out any of them. */
async function knownTools(
  agent: LlmAgent,
  toolset: BaseToolset,
  logger: Pick<HoldfastLogger, 'warn'>,
): Promise<readonly BaseTool[]> {
  try {
    const tools = await withinTime(assertKnown(agent, toolset), LONGEST_LOADING);
    const { toolFilter } = toolset;
    if (typeof toolFilter === 'function') return [];
    return tools.filter(({ name }) => toolFilter.length === 0 || toolFilter.includes(name));
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_DEFINITION') && toolset.optional !== true) throw error;
    const reason = thrownMessage(error);
    logger.warn('a toolset has no tools yet', { agent: agent.name, toolset: toolset.name, reason });
    return [];
  }
}

async function assertKnown(agent: LlmAgent, toolset: BaseToolset): Promise<readonly BaseTool[]> {
  // One of an older copy of the package has no such method.
  const known: readonly BaseTool[] | undefined = await toolset.knownTools?.();
  const tools = known?.filter(isBaseTool) ?? [];
  if (tools.length > 0) assertTaken(agent, tools);
  return tools;
}

/** Tools of toolsets are looked at by {@link checkToolsets}. */
function assertTaken(agent: LlmAgent, tools = agent.tools.filter(isBaseTool)): void {
  const { canonicalModel, name, outputJsonSchema } = agent;
  if (canonicalModel.assertTakes === undefined) return;
  const declarations = tools.flatMap((tool) => tool._getDeclaration() ?? []);
  // Beside tools the answer is one of them.
  const isSent = outputJsonSchema !== undefined && agent.tools.length === 0;
  canonicalModel.assertTakes({
    owner: `agent ${JSON.stringify(name)}`,
    declarations,
    ...(isSent && { outputSchema: outputJsonSchema }),
  });
}

/** Agents that are given without an app serve each. A budget of an agent's tool wants prices as the app's own do. */
function assertPriced(app: App, roots: readonly BaseAgent[]): void {
  const agents = llmAgentsOf(roots);
  const settings = agents.some(hasToolWithCost) ? { ...app.durable, budgets: COST_BUDGET } : app.durable;
  for (const { name, canonicalModel } of agents) {
    for (const { model } of answeringModels(canonicalModel)) {
      const missing = missingPrice(settings, name, model);
      if (missing === undefined) continue;
      throw new DefinitionError({
        owner: appOwner(app.name),
        field: 'durable.prices',
        problem: missing.message,
      });
    }
  }
}

const COST_BUDGET = { turn: { cost: Number.MAX_VALUE }, session: {} };

function hasToolWithCost({ tools }: LlmAgent): boolean {
  return tools.filter(isBaseTool).some((tool) => agentOfTool(tool)?.budget?.cost !== undefined);
}

function whatItIs(value: unknown): string {
  const isForeign = typeof value === 'object' && value !== null && ADK_APP in value;
  return isForeign ? "an App of @google/adk; import its class from 'holdfast' instead" : 'expected an App';
}

function invalid(field: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: 'createWorker', field, problem });
}
