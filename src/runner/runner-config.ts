import { assertAgents } from '../agents/agents-of-tree.ts';
import type { BaseAgent } from '../agents/base-agent.ts';
import { App, isApp, noRootAgent, type ResumabilityConfig } from '../app/app.ts';
import type { BaseArtifactService } from '../artifacts/base-artifact-service.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import type { BasePlugin } from '../plugins/base-plugin.ts';
import { defined } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { BaseSessionService } from './base-session-service.ts';
import type { Served } from './session-access.ts';

/** Semantics: `createResumabilityConfig` of `@google/adk` 2.0.0. */
export function createResumabilityConfig(params: ResumabilityConfig = {}): ResumabilityConfig {
  return { isResumable: false, ...params };
}

/** Options of a {@link Runner}. Fields: `RunnerConfig` of `@google/adk` 2.0.0; `client` is ours. */
export interface RunnerConfig {
  /** Brings `appName`, `agent` and its plugins. */
  app?: App;
  /** App name of the runner's sessions. Required without `app`. */
  appName?: string;
  /** Required without `app`. */
  agent?: BaseAgent;
  /** They come after the app's plugins. Refused with `client`, whose workers have their own. */
  plugins?: BasePlugin[];
  /**
   * An `InMemorySessionService`, whose environment then runs the turns; or, with `client`, a `HoldfastSessionService` of that
   * client.
   *
   * @default with `client` the client's, else required
   */
  sessionService?: BaseSessionService;
  /** Taken and without effect: every turn goes on after a crash, and a pending call keeps its place. */
  resumabilityConfig?: ResumabilityConfig;
  /**
   * Turns go to the workers that this client reaches, which have the agent and its plugins; nothing runs in this process.
   * Defaults to an environment of this process.
   */
  client?: HoldfastApi;
  /**
   * Keeps the artifacts of the runner's turns, in place of the app's `durable.artifactService`. Refused with `client`, whose workers have the
   * service of their app.
   *
   * @default the store
   */
  artifactService?: BaseArtifactService;
  /**
   * Keeps what the runner's turns remember, in place of the app's `durable.memory`: programs add sessions to it themselves. Refused with
   * `client`, whose workers have the service of their app.
   *
   * @default that of the app
   */
  memoryService?: BaseMemoryService;
  /** Not in this release: refused. */
  credentialService?: undefined;
}

/** The agent or app of a runner. */
export interface RunnerParts {
  /** Undefined where none was given: 2.0.0 says so with the first run. */
  appName: string | undefined;
  agent: BaseAgent;
  plugins: readonly BasePlugin[];
  /**
   * The definitions that a worker serves with these plugins.
   *
   * @throws DefinitionError where there are plugins and the app's name is none that `App` takes.
   */
  served: (plugins: readonly BasePlugin[]) => Served;
}

const FIELDS = [
  'app',
  'appName',
  'agent',
  'plugins',
  'sessionService',
  'resumabilityConfig',
  'client',
  'artifactService',
  'memoryService',
] satisfies (keyof RunnerConfig)[];

/** @throws DefinitionError naming the field. */
export function runnerParts(owner: string, config: RunnerConfig): RunnerParts {
  const given: unknown = config;
  assertKnownFields(owner, given, FIELDS, {
    unsupported: ['credentialService'],
  });
  const { app } = config;
  if (app !== undefined && !isApp(app)) {
    throw new DefinitionError({ owner, field: 'app', problem: `expected an App, got ${kindOf(app)}` });
  }
  const appName = app?.name ?? config.appName;
  const agent = app?.rootAgent ?? config.agent;
  if (agent === undefined || agent === null) {
    throw new DefinitionError({
      owner,
      field: 'agent',
      problem: 'agent must be provided in runner constructor (or via app.rootAgent)',
    });
  }
  const problem = noRootAgent(agent);
  if (problem !== undefined) throw new DefinitionError({ owner, field: 'agent', problem });
  assertAgents([agent]);
  if (config.client !== undefined && (config.plugins?.length ?? 0) > 0) {
    throw new DefinitionError({
      owner,
      field: 'plugins',
      problem: "the workers of `client` run the app's plugins: give them to the App that these workers have",
    });
  }
  const services = servicesOf(config);
  const [service] = Object.keys(services);
  if (config.client !== undefined && service !== undefined) {
    const option = service === 'memory' ? 'memory: { service }' : service;
    const problem = `the workers of \`client\` have the service of their app: give it to \`durable.${option}\` there`;
    throw new DefinitionError({ owner, field: service === 'memory' ? 'memoryService' : service, problem });
  }
  return {
    appName,
    agent,
    plugins: [...(app?.plugins ?? []), ...(config.plugins ?? [])],
    served: (plugins) =>
      app === undefined && plugins.length === 0 && service === undefined
        ? { agent }
        : { agent, app: appWith({ plugins, services }, app, appName, agent) },
  };
}

/** As an app has them. */
function servicesOf({ artifactService, memoryService }: RunnerConfig) {
  const memory = memoryService === undefined ? undefined : { service: memoryService };
  return defined({ artifactService, memory });
}

/** The app itself where it has just these plugins, and these services. */
function appWith(
  { plugins, services }: { plugins: readonly BasePlugin[]; services: ReturnType<typeof servicesOf> },
  app: App | undefined,
  name: string | undefined,
  rootAgent: BaseAgent,
): App {
  if (app === undefined) return new App({ name: name as string, rootAgent, plugins, durable: services });
  if (plugins.length === app.plugins.length && Object.keys(services).length === 0) return app;
  const { durable } = app;
  return new App({
    name: app.name,
    rootAgent,
    plugins,
    durable: { ...durable, ...services, toolFactories: Object.fromEntries(durable.toolFactories) },
  });
}
