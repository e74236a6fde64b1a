import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { GatewayAbout } from '../../src/contract/about.ts';
import { type Readiness, readiness } from '../../src/gateway/health/readiness.ts';
import { ownVersion } from '../../src/own-files.ts';
import { defined } from '../../src/protocol/json.ts';
import { DEFAULT_TASK_QUEUE } from '../../src/protocol/names.ts';
import { type LocalGateway, type LocalGatewayOptions, openLocalGateway } from '../local-gateway.ts';
import type { Environment } from './open-environment.ts';

/** Names no session: asking for it shows that the store answers. */
const NOBODY = { app: '-', userId: '-', sessionId: '-' };

/** Names of the apps and agents that workers of this process serve. */
export type Served = Pick<GatewayAbout, 'apps' | 'agents'>;

/** The gateway's description of its environment. */
export function aboutEnvironment(
  { server: { namespace, uiUrl }, isEmbedded }: Environment,
  taskQueue = DEFAULT_TASK_QUEUE,
  served: Served = { apps: [], agents: [] },
): GatewayAbout {
  return {
    v: 1,
    version: ownVersion(),
    ...{ namespace, taskQueue, ...defined({ uiUrl }) },
    store: isEmbedded ? 'embedded' : 'postgres',
    ...served,
  };
}

/** Whether Temporal, the store, and what else is asked for answer now. */
export function readinessOf(
  { temporal, store }: Environment,
  others: Readonly<Record<string, () => Promise<unknown>>> = {},
): () => Promise<Readiness> {
  return readiness({
    temporal: () => temporal.workflowService.getSystemInfo({}),
    store: () => store.sessions.find(NOBODY),
    ...others,
  });
}

export interface EnvironmentGatewayOptions
  extends Pick<LocalGatewayOptions, 'ownership' | 'settings' | 'logger' | 'port'> {
  client: HoldfastApi;
  /** Defaults to that of `HoldfastClient`. */
  taskQueue?: string;
  served: () => Served;
  /** Defaults to whether Temporal and the store answer. */
  ready?: () => Promise<Readiness>;
}

/** The gateway of a folder's owner, on this machine. */
export async function openEnvironmentGateway(
  environment: Environment,
  { taskQueue, served, ready, ...options }: EnvironmentGatewayOptions,
): Promise<LocalGateway> {
  const { store, credentialKeys } = environment;
  return await openLocalGateway({
    ...options,
    about: () => aboutEnvironment(environment, taskQueue, served()),
    ready: ready ?? readinessOf(environment),
    records: store,
    credentialKeys,
  });
}
