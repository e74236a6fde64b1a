import type { Deployment } from '../activities/deployment.ts';
import { type App, appOwner, isApp } from '../src/agents/app.ts';
import { isLlmAgent, type LlmAgent } from '../src/agents/llm-agent.ts';
import { missingPrice } from '../src/flows/budgets.ts';
import { PluginManager } from '../src/plugins/plugin-manager.ts';
import { DefinitionError } from '../src/schema/definition-error.ts';

const ADK_APP = Symbol.for('google.adk.app');

/**
 * @throws DefinitionError without agents, for two agents or apps of one name, for an unknown root agent, and for a cost
 * budget of an app whose agents have a model without a price.
 */
export function deploy(options: {
  agents?: readonly LlmAgent[] | undefined;
  apps?: readonly App[] | undefined;
  rootAgent?: string | undefined;
}): Deployment {
  const { agents: shared = [], apps: given = [] } = options;
  if (!Array.isArray(shared)) throw invalid('agents', 'expected a list of agents');
  if (!Array.isArray(given)) throw invalid('apps', 'expected a list of Apps');
  const agents = new Map<string, LlmAgent>();
  for (const [index, agent] of shared.entries()) {
    if (!isLlmAgent(agent)) throw invalid(`agents[${index}]`, 'expected an LlmAgent');
    add(agents, agent, 'agents');
  }
  const apps = new Map<string, App>();
  for (const [index, app] of given.entries()) {
    const field = `apps[${index}]`;
    if (!isApp(app)) throw invalid(field, whatItIs(app));
    if (apps.has(app.name)) throw invalid(field, `two apps are named ${JSON.stringify(app.name)}`);
    apps.set(app.name, app);
    add(agents, app.rootAgent, `${field}.rootAgent`);
  }
  for (const app of apps.values()) assertPriced(app, [app.rootAgent, ...shared]);
  const rootAgent = options.rootAgent ?? agents.keys().next().value;
  if (rootAgent === undefined) {
    throw invalid('agents', 'expected at least one agent, here or as the root agent of an App in apps');
  }
  if (!agents.has(rootAgent)) {
    throw invalid('rootAgent', `no agent is named ${JSON.stringify(rootAgent)}`);
  }
  const plugins = new Map([...apps.values()].map((app) => [app.name, new PluginManager(app.plugins)]));
  return { rootAgent, agents, apps, plugins };
}

function add(agents: Map<string, LlmAgent>, agent: LlmAgent, field: string): void {
  const namesake = agents.get(agent.name);
  if (namesake !== undefined && namesake !== agent) {
    throw invalid(field, `two agents are named ${JSON.stringify(agent.name)}`);
  }
  // A model that nobody knows is told here, and not by the first turn.
  void agent.canonicalModel;
  agents.set(agent.name, agent);
}

/** Agents that are given without an app serve each. */
function assertPriced(app: App, agents: readonly LlmAgent[]): void {
  for (const { name, canonicalModel } of agents) {
    const missing = missingPrice(app.durable, name, canonicalModel.model);
    if (missing === undefined) continue;
    throw new DefinitionError({
      owner: appOwner(app.name),
      field: 'durable.prices',
      problem: missing.message,
    });
  }
}

function whatItIs(value: unknown): string {
  const isForeign = typeof value === 'object' && value !== null && ADK_APP in value;
  return isForeign ? "an App of @google/adk; import its class from 'holdfast' instead" : 'expected an App';
}

function invalid(field: string, problem: string): DefinitionError {
  return new DefinitionError({ owner: 'createWorker', field, problem });
}
