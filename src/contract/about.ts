/** What a gateway says of itself. */
export interface GatewayAbout {
  v: 1;
  /** Holdfast's version. */
  version: string;
  namespace: string;
  taskQueue: string;
  /** Base of the Temporal UI, without a slash at its end, where it is known. */
  uiUrl?: string;
  store: 'embedded' | 'postgres';
  /** Names of the apps and agents that workers of the gateway's process serve; empty where it has none. */
  apps: string[];
  agents: string[];
}
