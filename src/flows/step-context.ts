import type { BaseAgent } from '../agents/base-agent.ts';
import type { Content } from '../events/content.ts';
import { createEventActions, type EventActions } from '../events/event-actions.ts';
import { defined } from '../protocol/json.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { Context } from '../tools/context.ts';
import type { ContextServices } from '../tools/context-services.ts';
import type { ContextInit } from '../tools/invocation-context.ts';
import { InvocationContext, type OnceRecords, type TranscriptView } from '../tools/invocation-context.ts';
import { stateWith } from '../tools/readonly-context.ts';

/** The arguments of a {@link StepContext}: the session, the agent and the state that user code of a model step sees. */
export interface StepContextInit {
  names: SessionNames;
  invocationId: string;
  agent: BaseAgent;
  /** Branch of its events. */
  branch?: string;
  /** State at the beginning of this step; its own writes come on top. */
  state: Record<string, unknown>;
  userContent: Content | undefined;
  runConfig: TurnRunConfig;
  abortSignal: AbortSignal;
  transcript: TranscriptView | undefined;
  services: ContextServices;
  /** Where results of the step are kept over its attempts. */
  stepOnce?: OnceRecords;
}

/** Shared by the contexts of one model step: the invocation, the current state, the actions of the model's event. */
export class StepContext {
  /** Actions of the model's event. */
  readonly actions: EventActions = createEventActions();
  readonly invocation: InvocationContext;
  /** Contexts that are made of it write into {@link StepContext.actions}. */
  readonly init: ContextInit;
  readonly #state: Record<string, unknown>;

  constructor({ names, agent, userContent, transcript, services, state, ...rest }: StepContextInit) {
    this.#state = state;
    const init: ContextInit = {
      ...rest,
      appName: names.app,
      userId: names.userId,
      sessionId: names.sessionId,
      agentName: agent.name,
      agent,
      state,
      eventActions: this.actions,
      ...services,
      ...defined({ userContent, transcript }),
    };
    this.invocation = new InvocationContext(init);
    this.init = { ...init, invocation: this.invocation };
  }

  /** A context whose effects are the model event's. */
  shared(): Context {
    return new Context(this.init);
  }

  /** A context whose effects are of an event of their own; they count for others once they are kept. */
  apart(): Context {
    const state = stateWith(this.init.state, this.actions);
    return new Context({ ...this.init, state, eventActions: createEventActions() });
  }

  /** Lays the state of an event that goes before the model's over what later contexts see. */
  keep({ stateDelta }: Pick<EventActions, 'stateDelta'>): void {
    applyStateDelta(this.#state, stateDelta);
  }

  /** Whether user code has written into the actions of the model's event. */
  get hasActed(): boolean {
    return hasActed(this.actions);
  }
}

export function hasActed(actions: EventActions): boolean {
  return Object.values(actions).some((action) =>
    typeof action === 'object' && action !== null ? Object.keys(action).length > 0 : action !== undefined,
  );
}

/** Writes changes into a state as assignments would; `__proto__` is a key like any other. */
export function applyStateDelta(
  state: Record<string, unknown>,
  stateDelta: Readonly<Record<string, unknown>>,
): void {
  for (const [key, value] of Object.entries(stateDelta)) {
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(state, key, { value, configurable: true, enumerable: true, writable: true });
  }
}
