import type { BaseAgent } from '../agents/base-agent.ts';
import type { App } from '../app/app.ts';
import type { HoldfastApi } from '../client/holdfast-api.ts';

/** The agent, settings and plugins of a worker's turns. It serves the agent in every app, the rest in its own app. */
export interface Served {
  agent: BaseAgent;
  app?: App;
}

/** A way to turns and sessions that is open. */
export interface OpenAccess {
  api: HoldfastApi;
  /** Aborted where turns are answered no more, with the reason. */
  lost?: AbortSignal;
  /** A turn waits for people: what is served the same later is answered where that turn is. */
  keepQueue?: (() => void) | undefined;
}

/** How a session service, and runners that share it, reach the store and the workers. */
export interface SessionAccess {
  /**
   * Keeps the way open until the returned function is called, and opens it where it isn't.
   *
   * @param served whose turns are to be answered; left out, sessions are reached only.
   */
  hold(served?: Served): Promise<OpenAccess & { release: () => void }>;
  close(): Promise<void>;
}
