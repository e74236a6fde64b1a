import type { Content } from '../events/content.ts';
import {
  type ContextInit,
  InvocationContext,
  isInvocationContext,
  type ToolCallRecord,
  TranscriptNotLoaded,
} from './invocation-context.ts';
import { State } from './state.ts';

/**
 * The invocation as instructions and predicates see it. Fields: `ReadonlyContext` of `@google/adk` 2.0.0; ours
 * are `appName`, `branch` and `turnToolCalls`.
 */
export class ReadonlyContext {
  readonly #init: ContextInit;

  readonly invocationContext: InvocationContext;

  /** @param init an invocation's context, as in ADK programs, or everything that a context is made of. */
  constructor(init: ContextInit | InvocationContext) {
    const isInvocation = isInvocationContext(init);
    this.#init = isInvocation ? InvocationContext.initOf(init) : init;
    this.invocationContext = isInvocation ? init : (init.invocation ?? new InvocationContext(init));
  }

  /** Path of agent names; undefined outside of workflow agents. */
  get branch(): string | undefined {
    return this.#init.branch;
  }

  /**
   * The calls of this invocation that have their outcome, in call order. Reading them runs nothing again.
   *
   * @throws TranscriptNotLoaded in a tool without `needsTranscript`.
   */
  get turnToolCalls(): readonly ToolCallRecord[] {
    if (this.#init.transcript === undefined) throw new TranscriptNotLoaded();
    return this.#init.transcript.toolCalls();
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

  /** The user's message that started this invocation. */
  get userContent(): Content | undefined {
    return this.#init.userContent;
  }

  /** The session's state with the step's changes so far; writing to it throws. */
  get state(): Readonly<State> {
    const { state, eventActions } = this.#init;
    return State.over(stateWith(state, eventActions), Object.freeze({}));
  }
}

/** A state as those see it who come after these actions. */
export function stateWith(
  state: ContextInit['state'],
  actions: ContextInit['eventActions'],
): ContextInit['state'] {
  const delta = actions?.stateDelta ?? {};
  return Object.keys(delta).length === 0 ? state : { ...state, ...delta };
}
