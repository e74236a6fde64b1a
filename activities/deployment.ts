import type { App } from '../src/agents/app.ts';
import { type AppSettings, DEFAULT_APP_SETTINGS } from '../src/agents/app-settings.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { PluginManager } from '../src/plugins/plugin-manager.ts';
import { NotDeployedHere } from './not-deployed-here.ts';

/** The agents that a worker runs, and the apps whose settings it knows. */
export interface Deployment {
  /** Answers where neither the turn, nor the session, nor the app names an agent. */
  rootAgent: string;
  agents: ReadonlyMap<string, LlmAgent>;
  apps: ReadonlyMap<string, App>;
  /** By the name of their app. */
  plugins: ReadonlyMap<string, PluginManager>;
}

export const NO_PLUGINS = new PluginManager();

export function agentOf({ agents }: Deployment, name: string): LlmAgent {
  const agent = agents.get(name);
  if (agent === undefined) throw new NotDeployedHere('agent', name, [...agents.keys()]);
  return agent;
}

/** The agent that answers in an app where neither the turn nor the session names one. */
export function rootAgentOf({ apps, rootAgent }: Deployment, app: string): string {
  return apps.get(app)?.rootAgent.name ?? rootAgent;
}

/** The defaults for an app that is named by its turns only. */
export function settingsOf({ apps }: Deployment, app: string): AppSettings {
  return apps.get(app)?.durable ?? DEFAULT_APP_SETTINGS;
}

/** Plugins of an app; an empty manager for one that is named by its turns only. */
export function pluginsOf({ plugins }: Deployment, app: string): PluginManager {
  return plugins.get(app) ?? NO_PLUGINS;
}
