import type { LocalGateway } from '../../../worker/local-gateway.ts';
import { describeError } from '../cli-error.ts';
import { gatewaySettingsFor } from '../environment/places.ts';
import { loadGateway } from '../gateway-of-exports.ts';
import type { LoadedAgents } from './child-messages.ts';

/** Has the gateway of `holdfast dev` configured as the agents file says now: it answers in this process, and not in the worker's. */
export class DevGateway {
  readonly #path: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #problem: (text: string) => void;
  #isConfigured = false;
  #version = 0;

  constructor(path: string, env: NodeJS.ProcessEnv, problem: (text: string) => void) {
    this.#path = path;
    this.#env = env;
    this.#problem = problem;
  }

  /** A file that is refused leaves the gateway as it was. */
  async follow(gateway: Pick<LocalGateway, 'reconfigure'>, loaded: LoadedAgents): Promise<void> {
    if (!loaded.gateway && !this.#isConfigured) return;
    this.#version += 1;
    const version = this.#version;
    try {
      const given = loaded.gateway ? await loadGateway(this.#path, version) : undefined;
      if (version !== this.#version) return;
      gateway.reconfigure(gatewaySettingsFor(this.#env, given));
      this.#isConfigured = loaded.gateway;
    } catch (error) {
      this.#problem(`the gateway stays as it was: ${describeError(error)}`);
    }
  }
}
