import type { Content } from '../events/content.ts';
import type { ContextInit } from './context-init.ts';
import { State } from './state.ts';

/**
 * What instructions and predicates get to know of the invocation. Fields: `ReadonlyContext` of `@google/adk` 2.0.0,
 * without `invocationContext`, and `appName`.
 */
export class ReadonlyContext {
  readonly #init: ContextInit;

  constructor(init: ContextInit) {
    this.#init = init;
  }

  get appName(): string {
    return this.#init.appName;
  }

  get userId(): string {
    return this.#init.userId;
  }

  get sessionId(): string {
    return this.#init.sessionId;
  }

  get invocationId(): string {
    return this.#init.invocationId;
  }

  /** Name of the agent that acts. */
  get agentName(): string {
    return this.#init.agentName;
  }

  /** What the user said, which started this invocation. */
  get userContent(): Content | undefined {
    return this.#init.userContent;
  }

  /** The session's state; writing to it throws. */
  get state(): Readonly<State> {
    return new State(this.#init.state, Object.freeze({}));
  }
}
