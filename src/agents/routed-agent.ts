import { HoldfastError } from '../contract/error.ts';
import type { Event } from '../events/event.ts';
import type { RanAgent } from '../protocol/agent-run.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { Context } from '../tools/context.ts';
import type { InvocationContext } from '../tools/invocation-context.ts';
import { agentOwner, type BaseAgent, type BaseAgentConfig, isBaseAgent } from './base-agent.ts';
import { CallbackFailed } from './callbacks.ts';
import { CustomAgent, type NextOfAgent } from './custom-agent.ts';
import { noRoute, type RouteErrors, routesByKey } from './routed-llm.ts';

/**
 * Chooses an agent, by its key. Asked again when the chosen one has failed: undefined, or a key that has failed, lets the routed
 * agent fail with the same error. Semantics: `AgentRouter` of `@google/adk` 2.0.0.
 */
export type AgentRouter = (
  agents: Readonly<Record<string, BaseAgent>>,
  context: InvocationContext,
  errorContext?: RouteErrors,
) => Promise<string | undefined> | string | undefined;

/** Options of {@link RoutedAgent}. */
export interface RoutedAgentConfig extends BaseAgentConfig {
  /** By key. In a list, each agent's name is its key. They are the agent's sub-agents. */
  agents: Readonly<Record<string, BaseAgent>> | BaseAgent[];
  /** Chooses an agent, by its key. */
  router: AgentRouter;
}

/** The ledger's memory of a routed agent from one run to the next. */
interface RouteState {
  /** Keys, in the order in which they were tried. */
  tried: string[];
  /** Events of the session before the last one ran. */
  events: number;
}

const ROUTED_AGENT = Symbol.for('google.adk.routedAgent');

/**
 * Runs one of several agents, chosen by a function. Another one runs when the chosen one fails before it has said anything, as often
 * as the router names one. Each choice stands in the ledger before the agent runs, so that a crash changes none. Semantics: `RoutedAgent`
 * of `@google/adk` 2.0.0, where the failure of an LlmAgent's model has no other route.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new RoutedAgent({
 *   name: 'desk',
 *   agents: { quick, thorough },
 *   router: (_agents, context, errors) =>
 *     errors !== undefined || context.session.state.isHard === true ? 'thorough' : 'quick',
 * });
 */
export class RoutedAgent extends CustomAgent<RouteState, RoutedAgentConfig> {
  readonly [ROUTED_AGENT] = true;
  readonly #agents: Readonly<Record<string, BaseAgent>>;
  readonly #router: AgentRouter;

  constructor(config: RoutedAgentConfig) {
    const owner = agentOwner('RoutedAgent', isRecord(config) ? config.name : '');
    const agents = routesByKey(isRecord(config) ? config.agents : undefined, {
      ...{ owner, noun: 'agent', expected: 'an agent' },
      isRoute: isBaseAgent,
      nameOf: ({ name }: BaseAgent) => name,
    });
    if (typeof config?.router !== 'function') {
      throw new DefinitionError({
        owner,
        field: 'router',
        problem: `expected a function, got ${kindOf(config?.router)}`,
      });
    }
    super({ ...config, subAgents: [...new Set(Object.values(agents))] });
    this.#agents = agents;
    this.#router = config.router;
  }

  /** The agents are cloned too, unless `overrides` brings others; their keys stay. */
  override clone(overrides: Partial<RoutedAgentConfig> = {}): this {
    if (Object.hasOwn(overrides, 'agents')) return super.clone(overrides);
    const cloned = Object.entries(this.#agents).map(([key, agent]) => [key, agent.clone()] as const);
    return super.clone({ ...overrides, agents: Object.fromEntries(cloned) });
  }

  override async next(
    { invocationContext }: Context,
    state: RouteState | undefined,
    [last]: readonly RanAgent[],
  ): Promise<NextOfAgent<RouteState>> {
    if (state === undefined) {
      const key = await this.#router(this.#agents, invocationContext);
      if (!key) throw this.#wrong(noRoute(undefined, this.#agents));
      return this.#running(invocationContext, key, []);
    }
    if (last === undefined || last.status === 'completed') return { done: [] };
    const { code, message } = last.error ?? { code: 'SUB_AGENT_FAILED', message: `it was ${last.status}` };
    const error = { code, message: `failed to run sub-agent ${JSON.stringify(last.name)}: ${message}` };
    if (last.status !== 'failed' || this.#hasSaid(invocationContext, last.name, state)) return { error };
    const failure = new HoldfastError(code, message);
    const errors = { failedKeys: new Set(state.tried), lastError: failure };
    const key = await this.#router(this.#agents, invocationContext, errors);
    if (key === undefined || key === null || state.tried.includes(key)) return { error };
    return this.#running(invocationContext, key, state.tried);
  }

  #running({ session }: InvocationContext, key: string, tried: readonly string[]): NextOfAgent<RouteState> {
    const run = Object.hasOwn(this.#agents, key) ? this.#agents[key] : undefined;
    if (run === undefined) throw this.#wrong(noRoute(key, this.#agents));
    return { run, state: { tried: [...tried, key], events: session.events.length } };
  }

  /** Asked again, the router would choose the same. */
  #wrong(problem: string): CallbackFailed {
    return new CallbackFailed({ agent: this.name, callback: 'router', problem, retryable: false });
  }

  /** Whether the agent, or one below it, has written anything but its failure: it may have had effects. */
  #hasSaid({ session, invocationId }: InvocationContext, name: string, { events }: RouteState): boolean {
    const agent = this.findSubAgent(name);
    return session.events
      .slice(events)
      .some(
        (event: Event) =>
          event.invocationId === invocationId &&
          agent?.findAgent(event.author ?? '') !== undefined &&
          (event.content?.parts?.length ?? 0) > 0,
      );
  }
}

/** Whether `value` is a {@link RoutedAgent}, of this or of another copy of the package. */
export function isRoutedAgent(value: unknown): value is RoutedAgent {
  return typeof value === 'object' && value !== null && ROUTED_AGENT in value && value[ROUTED_AGENT] === true;
}
