import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import type { ContextInit } from './context-init.ts';
import type { ToolCallRecord } from './tool-call-record.ts';
import { ToolError } from './tool-error.ts';

/** A session as user code sees it. Fields: `Session` of `@google/adk` 2.0.0. */
export interface SessionView {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  /** A copy: to write state, use the context's `state`. Keys carry their prefixes. */
  readonly state: Record<string, unknown>;
  /**
   * Frozen, in order; what a rewind hides is left out.
   *
   * @throws TranscriptNotLoaded in a tool without `needsTranscript`.
   */
  readonly events: readonly Event[];
  /** Milliseconds since the epoch. */
  readonly lastUpdateTime: number;
}

/** Who looks at a transcript, and at how much of it. */
export interface Perspective {
  /** Name of the agent: what others said is told to it as context. */
  agent: string;
  /** Events of branches beside it are left out. */
  branch?: string | undefined;
  /** `'none'`: from the latest message, or the latest event of another agent. */
  include: 'default' | 'none';
}

/** What a context can be asked about the transcript, where it was loaded. */
export interface TranscriptView {
  events(): readonly Event[];
  /** What a model sees: a new array of frozen contents, to be replaced and not edited. */
  contents(perspective: Perspective): Content[];
  /** Of this invocation, in call order, those of the last step included. */
  toolCalls(): readonly ToolCallRecord[];
}

/** The transcript was asked for in a tool that doesn't say that it needs it. */
export class TranscriptNotLoaded extends ToolError {
  override readonly name = 'TranscriptNotLoaded';

  constructor() {
    super("a tool's context has no events and no calls: give the tool `needsTranscript: true`", {
      code: 'HOLDFAST_TRANSCRIPT_NOT_LOADED',
      retryable: false,
    });
  }
}

const INIT = Symbol.for('holdfast.invocationContext');

/**
 * An invocation as its callbacks, plugins, processors and tools see it. Fields: `InvocationContext` of `@google/adk` 2.0.0,
 * without services and the live ones. It is made anew in each activity: only `endInvocation` says something back.
 */
export class InvocationContext {
  readonly #init: ContextInit;
  /** Set it, and no model is asked any more: the invocation ends with this step's calls, without after-agent callbacks. */
  endInvocation = false;

  declare readonly [INIT]: ContextInit;

  constructor(init: ContextInit) {
    this.#init = init;
    // Not private: processors and plugins may come from another copy of the package. Not enumerable: it is nobody's to log.
    Object.defineProperty(this, INIT, { value: init });
  }

  get appName(): string {
    return this.#init.appName;
  }

  get userId(): string {
    return this.#init.userId;
  }

  get invocationId(): string {
    return this.#init.invocationId;
  }

  /** Path of agent names; undefined outside of workflow agents. */
  get branch(): string | undefined {
    return this.#init.branch;
  }

  /** The agent that acts. */
  get agent(): ContextInit['agent'] {
    return this.#init.agent;
  }

  /** What the user said, which started this invocation. */
  get userContent(): Content | undefined {
    return this.#init.userContent;
  }

  get runConfig(): Readonly<TurnRunConfig> {
    return this.#init.runConfig ?? {};
  }

  get abortSignal(): AbortSignal | undefined {
    return this.#init.abortSignal;
  }

  /**
   * What a model sees of the transcript: a new array of frozen contents, to be replaced and not edited.
   *
   * @throws TranscriptNotLoaded in a tool without `needsTranscript`.
   */
  contents(perspective: Perspective): Content[] {
    if (this.#init.transcript === undefined) throw new TranscriptNotLoaded();
    return this.#init.transcript.contents(perspective);
  }

  /** What contexts of this invocation are made of. */
  static initOf(context: InvocationContext): ContextInit {
    return context[INIT];
  }

  get session(): SessionView {
    const init = this.#init;
    return {
      id: init.sessionId,
      appName: init.appName,
      userId: init.userId,
      get state() {
        return { ...structuredClone(init.state), ...init.eventActions?.stateDelta };
      },
      get events() {
        if (init.transcript === undefined) throw new TranscriptNotLoaded();
        return init.transcript.events();
      },
      get lastUpdateTime() {
        return init.transcript?.events().at(-1)?.timestamp ?? 0;
      },
    };
  }
}

/** Whether `value` is an {@link InvocationContext}, of this or of another copy of the package. */
export function isInvocationContext(value: unknown): value is InvocationContext {
  return typeof value === 'object' && value !== null && INIT in value;
}
