import type { BaseAgent } from '../src/agents/base-agent.ts';
import type { App } from '../src/app/app.ts';
import { type AppSettings, DEFAULT_APP_SETTINGS } from '../src/app/app-settings.ts';
import { gatewayIssuer } from '../src/approvals/gateway-issuer.ts';
import type { Issuer } from '../src/approvals/issuer.ts';
import type { CredentialKeys } from '../src/credentials/credential-keys.ts';
import { PluginManager } from '../src/plugins/plugin-manager.ts';
import type { AppTerms } from '../src/protocol/run-terms.ts';

/** The trees of agents that a worker runs, and the apps whose settings it knows. */
export interface Deployment {
  /** Root of the tree that answers where the turn, the session and the app name no agent. */
  rootAgent: string;
  /** Roots of the trees of agents, by name. */
  roots: ReadonlyMap<string, BaseAgent>;
  apps: ReadonlyMap<string, App>;
  /** By the name of their app. */
  plugins: ReadonlyMap<string, PluginManager>;
}

export const NO_PLUGINS = new PluginManager();

/** The agent that answers in an app where neither the turn nor the session names one. */
export function rootAgentOf({ apps, rootAgent }: Deployment, app: string): string {
  return apps.get(app)?.rootAgent.name ?? rootAgent;
}

/**
 * The defaults for an app that is named by its turns only.
 *
 * @param terms of the app where the turn was begun, if that is elsewhere: they win, and its prices go before those known here.
 */
export function settingsOf({ apps }: Deployment, app: string, terms?: AppTerms): AppSettings {
  const own = apps.get(app)?.durable ?? DEFAULT_APP_SETTINGS;
  if (terms === undefined) return own;
  // The scheduler of an activity names them, so approvers and receivers of notices are never among them.
  const { budgets, runConfig } = terms;
  const prices = Object.entries(terms.prices).map(
    ([model, price]) => [model, { cacheWriteInput: price.input, ...price }] as const,
  );
  return { ...own, budgets, runConfig, prices: { ...own.prices, ...Object.fromEntries(prices) } };
}

/** The settings that go with an agent of another task queue. */
export function termsOfApp({ budgets, prices, runConfig }: AppSettings): AppTerms {
  const { customMetadata: _own, ...kept } = runConfig;
  return { budgets, prices, runConfig: kept };
}

/** Plugins of an app; an empty manager for one that is named by its turns only. */
export function pluginsOf({ plugins }: Deployment, app: string): PluginManager {
  return plugins.get(app) ?? NO_PLUGINS;
}

/**
 * The issuers whose attestations count in an app: those that it lists, and the gateway of this worker's keys unless the app says otherwise.
 */
export function trustedIssuers(
  { deployment, credentialKeys }: { deployment: Deployment; credentialKeys: CredentialKeys | undefined },
  app: string,
  attestation: string,
): readonly Issuer[] {
  const { approval } = settingsOf(deployment, app);
  const listed = approval?.issuers ?? [];
  const gateway = approval?.trustGateway === false ? undefined : gatewayIssuer(credentialKeys, attestation);
  return gateway === undefined ? listed : [...listed, gateway];
}
