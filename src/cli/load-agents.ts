import { existsSync, statSync } from 'node:fs';
import { basename, extname, resolve } from 'node:path';
import { agentsOfTree } from '../agents/agents-of-tree.ts';
import { type BaseAgent, isBaseAgent, notARoot } from '../agents/base-agent.ts';
import type { App } from '../app/app.ts';
import { validateAppName } from '../app/app-name.ts';
import type { GatewayDefinition } from '../gateway/gateway-settings.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { didYouMean, nearestName } from '../schema/known-fields.ts';
import type { GeminiScript } from '../testing/mock-gemini.ts';
import { appOfSettings, exportedApp } from './app-of-exports.ts';
import { CliError, UsageError } from './cli-error.ts';
import { gatewayOfExports } from './gateway-of-exports.ts';
import { importFile } from './import-file.ts';

/** Exports of an agents file. */
export interface AgentsFile {
  /** The app's name: that of the export `app`, else the file's without its ending. */
  app: string;
  /** The export `app`, or what the exports `plugins` and `runConfig` stand for, where there are any. */
  apps: App[];
  /** Roots of trees. */
  agents: BaseAgent[];
  /** The app's, the export `rootAgent`, or the only agent. */
  rootAgent: BaseAgent | undefined;
  /** The export `geminiScript`: answers of the mock Gemini server while there is no key. */
  geminiScript: GeminiScript | undefined;
  /** The export `gateway`. */
  gateway: GatewayDefinition | undefined;
}

/** @throws CliError where there is no such file. */
export function agentsPath(file: string): string {
  const path = resolve(file);
  if (!existsSync(path)) throw new CliError(`${file}: no such file; name a file that exports your agents`);
  if (statSync(path).isDirectory())
    throw new CliError(`${file} is a folder; name a file that exports your agents`);
  return path;
}

/** Loads a TypeScript or JavaScript file as it is; every exported agent is registered, with its tree, and the app's. */
export async function loadAgents(file: string): Promise<AgentsFile> {
  const path = agentsPath(file);
  const exported = await importFile(file, path);
  const names = 'module.exports' in exported ? [] : Object.keys(exported);
  const app = exportedApp(file, exported);
  const rootOfApp = app === undefined ? [] : [app.rootAgent];
  const roots = Object.values(exported)
    .filter(isBaseAgent)
    .map((agent) => agent.rootAgent);
  const agents = [...new Set([...rootOfApp, ...roots])];
  if (agents.length === 0) {
    const foreign = Object.entries(exported).find(([, value]) => isForeignAgent(value))?.[0];
    if (foreign !== undefined) {
      throw new CliError(
        `${file}: ${foreign} is an agent of another package: import LlmAgent from 'holdfast' instead`,
      );
    }
    throw new CliError(
      `${file} exports no agent (it exports ${names.join(', ') || 'nothing'}): ` +
        'write "export const rootAgent = new LlmAgent({ … })"',
    );
  }
  for (const [index, { name }] of agents.entries()) {
    if (agents.findIndex((agent) => agent.name === name) !== index) {
      throw new CliError(`${file} exports two agents named ${JSON.stringify(name)}: give each its own name`);
    }
  }
  const { rootAgent, geminiScript } = exported;
  if (rootAgent !== undefined && !isBaseAgent(rootAgent)) {
    throw new CliError(`${file}: the export rootAgent is no agent, but ${typeof rootAgent}`);
  }
  const below = rootAgent === undefined ? undefined : notARoot(rootAgent);
  if (below !== undefined) throw new CliError(`${file}: the export rootAgent: ${below}`);
  if (app !== undefined && rootAgent !== undefined && rootAgent !== app.rootAgent) {
    throw new CliError(`${file}: the exports app and rootAgent name two root agents: leave rootAgent out`);
  }
  const name = basename(path, extname(path));
  const root = app?.rootAgent ?? rootAgent ?? (agents.length === 1 ? agents[0] : undefined);
  const settled = app ?? appOfSettings(file, exported, { name, rootAgent: root });
  return {
    app: settled?.name ?? name,
    apps: settled === undefined ? [] : [settled],
    agents,
    rootAgent: root,
    geminiScript: isScript(geminiScript) ? geminiScript : undefined,
    gateway: gatewayOfExports(file, exported),
  };
}

/** One of those that the file exports, or that is below them. @throws CliError naming near names for an unknown agent. */
export function chooseAgent(
  file: string,
  { agents, rootAgent }: AgentsFile,
  name: string | undefined,
): BaseAgent {
  const names = agents.map((agent) => agent.name);
  if (name === undefined) {
    if (rootAgent !== undefined) return rootAgent;
    throw new UsageError(
      `${file} exports several agents and no rootAgent: choose one with --agent ${names.join('|')}`,
    );
  }
  const roots = [...(rootAgent === undefined ? [] : [rootAgent]), ...agents];
  const below = roots.flatMap(agentsOfTree);
  const agent = [...agents, ...below].find((candidate) => candidate.name === name);
  if (agent !== undefined) return agent;
  const all = [...new Set([...names, ...below.map((each) => each.name)])];
  const near = nearestName(name, all);
  throw new UsageError(
    `${file} has no agent ${JSON.stringify(name)}${near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`} ` +
      `It has ${all.join(', ')}.`,
  );
}

/**
 * The app that a turn of the file is of. A file that exports an App has that one alone: its plugins and settings hold for no other.
 *
 * @throws CliError for a name that no app can have, and for another one than that of the App.
 */
export function chooseApp(
  file: string,
  { app, isExported }: { app: string; isExported: boolean },
  given: string | undefined,
): string {
  if (given === undefined || given === app) return app;
  try {
    validateAppName(given);
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    throw new UsageError(`--app ${JSON.stringify(given)}: ${error.problem} The app of ${file} is ${app}`);
  }
  if (!isExported) return given;
  throw new UsageError(
    `--app: ${file} has no app ${JSON.stringify(given)}${didYouMean(given, [app])}; it has ${app}`,
  );
}

/** An agent of ADK has another class, though it is made of the same words. */
function isForeignAgent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && /Agent$/.test(value.constructor?.name ?? '');
}

function isScript(value: unknown): value is GeminiScript {
  return typeof value === 'function' || Array.isArray(value);
}
