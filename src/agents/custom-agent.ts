import type { Event } from '../events/event.ts';
import type { RanAgent } from '../protocol/agent-run.ts';
import type { Context } from '../tools/context.ts';
import { assertNotScripted, BaseAgent, type BaseAgentConfig, ownerOf, runByWorkflow } from './base-agent.ts';

const CUSTOM_AGENT = Symbol.for('holdfast.customAgent');

/** The next action of a {@link CustomAgent}: it runs agents and is asked again, has finished, or fails. */
export type NextOfAgent<State = unknown> =
  | {
      /** One, or several at the same time: at most 100, each once. Sub-agents of it, at any depth. */
      run: BaseAgent | BaseAgent[];
      /** JSON, at most 256 KiB: given to the next call. Left out, there is none. */
      state?: State;
    }
  | {
      /** Its own events, appended to the transcript. */
      done: Event[];
    }
  | {
      /** Its run fails with this error. `code` is 100 characters long at most, `message` 4,000. */
      error: { code: string; message: string };
    };

/**
 * An agent that decides by a function what runs next. `next` is called in an activity between the runs; a crash may call it once
 * more, but what it answered counts once. Ours.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * class Escalation extends CustomAgent<{ tried: number }> {
 *   constructor(readonly clerk: LlmAgent, readonly expert: LlmAgent) {
 *     super({ name: 'desk', subAgents: [clerk, expert] });
 *   }
 *   override next(context: Context, state = { tried: 0 }): NextOfAgent<{ tried: number }> {
 *     if (context.state.get('solved') === true || state.tried === 2) return { done: [] };
 *     return { run: state.tried === 0 ? this.clerk : this.expert, state: { tried: state.tried + 1 } };
 *   }
 * }
 */
export abstract class CustomAgent<
  State = unknown,
  TConfig extends BaseAgentConfig = BaseAgentConfig,
> extends BaseAgent<TConfig> {
  readonly [CUSTOM_AGENT] = true;

  constructor(config: TConfig) {
    super(config);
    assertNotScripted(ownerOf(this), this, CustomAgent);
  }

  /**
   * Returns the agent's next action.
   *
   * @param context its state and actions are those of the agent's events.
   * @param state the state that the previous call returned; undefined at first.
   * @param ran outcomes of the agents of the previous call, in the order in which they ended; empty at first.
   */
  abstract next(
    context: Context,
    state: State | undefined,
    ran: readonly RanAgent[],
  ): NextOfAgent<State> | Promise<NextOfAgent<State>>;

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

/** Whether `value` is a {@link CustomAgent}, of this or of another copy of the package. */
export function isCustomAgent(value: unknown): value is CustomAgent {
  return typeof value === 'object' && value !== null && CUSTOM_AGENT in value && value[CUSTOM_AGENT] === true;
}
