import type { BaseArtifactService, SessionArtifactService } from '../artifacts/base-artifact-service.ts';
import { sessionArtifacts } from '../artifacts/context-artifacts.ts';
import { ServiceArtifacts } from '../artifacts/service-artifacts.ts';
import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import type { EventActions, ToolConfirmation } from '../events/event-actions.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import { ServiceMemory } from '../memory/user-memory.ts';
import { defined } from '../protocol/json.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import type { CallQuestions } from './call-questions.ts';
import type { ContextServices } from './context-services.ts';
import { ToolError } from './tool-error.ts';

/** A call of the turn that has its outcome. It is never run again: guards, counters and audits read it. */
export interface ToolCallRecord {
  /** Holdfast's name of the call, unique for ever. */
  callKey: string;
  /** Id on the wire; `''` for code that the model wrote. */
  callId: string;
  /** The tool's name. */
  name: string;
  /** Name of the agent that called it. */
  agent: string;
  /** The model's. */
  args: Record<string, unknown>;
  /** The response that the model got. */
  response: Record<string, unknown>;
  /** The response is an error. */
  failed: boolean;
  /** Number of the model step, from 1. */
  step: number;
}

/** An agent as those see it who are given a context. {@link isLlmAgent} tells whether it is an `LlmAgent`. */
export interface AgentView {
  readonly name: string;
  readonly description: string;
  readonly subAgents: readonly AgentView[];
  /** The agent that this one is a sub-agent of. */
  readonly parentAgent?: AgentView;
  /** The top of the tree; the agent itself where it has no parent. */
  readonly rootAgent: AgentView;
  /** Its own schema of the session's state. */
  readonly stateSchema?: SchemaLike;
  /** This agent or one below it, by name. */
  findAgent(name: string): AgentView | undefined;
  /** An agent below this one, by name. */
  findSubAgent(name: string): AgentView | undefined;
}

/** Types of rooms above that contexts show: `src/agents` adds its own, as in ADK, by declaration merging. */
// biome-ignore lint/suspicious/noEmptyInterface: it is filled by declaration merging.
export interface ContextTypes {}

/** The agent of a context: a `BaseAgent`. */
type ContextAgent = ContextTypes extends { agent: infer Agent } ? Agent : AgentView;

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

/** The agent that reads a transcript, and the part that it sees. */
export interface Perspective {
  /** Name of the agent: what others said is told to it as context. */
  agent: string;
  /** Events of branches beside it are left out. */
  branch?: string | undefined;
  /** `'none'`: from the latest message, or the latest event of another agent. */
  include: 'default' | 'none';
}

/** The transcript as a context gives it, where it was loaded. */
export interface TranscriptView {
  events(): readonly Event[];
  /** The contents for a model: a new array of frozen contents. Replace them, don't edit them. */
  contents(perspective: Perspective): Content[];
  /** Tool calls of this invocation, in call order, those of the last step included. */
  toolCalls(): readonly ToolCallRecord[];
  /**
   * From now on the contents are those of these events. Events stand in the place of those of their ids; others are new ones. What
   * {@link TranscriptView.events} gives stays. Left out where no request is made of it.
   */
  revise?(events: readonly Event[]): void;
}

/** Where `once` results of a call or a step are kept over its attempts. */
export interface OnceRecords {
  /** The value that {@link OnceRecords.put} recorded for this key in this or an earlier attempt, else undefined; may be a promise. */
  get(key: string): unknown;
  /**
   * @param value JSON.
   * @returns what counts: this value, or the one that another attempt recorded first.
   */
  put(key: string, value: unknown): Promise<unknown>;
}

/** The job that a call has, or may get while its tool runs. */
export interface JobInit {
  id: string;
  /** Milliseconds since the epoch: its deadline. */
  until: number;
  /** For a job in process: the last details of the attempt before. */
  details?: unknown;
  /** Whether the call goes on after its run: at first what the tool is declared as, later what the tool has said while it ran. */
  longRunning: boolean;
  /** Milliseconds until the next poll, if a poll has said it. */
  pollAfter?: number;
  /** Undefined where the worker has no address of the gateway. */
  callbackUrl: () => string | undefined;
  /** Undefined where there is no key to sign it with. */
  token: () => string | undefined;
  progress: (value: number, message?: string) => Promise<void>;
}

/** The function call that a context belongs to. */
export interface CallInit {
  /** Id on the wire. */
  callId: string;
  /** Holdfast's name of the call, unique in its session. */
  callKey: string;
  /** The store's id of that session: another one where the session was deleted and made again. */
  session: string;
  /** From 1. */
  attempt: number;
  once: OnceRecords;
  heartbeat: (details?: unknown) => void;
  /** Registers what runs when the call is cancelled; see `Context.task`. */
  onCancel?: (handler: () => unknown) => void;
  /** Questions of the call to people while it runs: new for each run. */
  questions?: CallQuestions;
  /** Left out where the call can have none: it runs inline. */
  job?: JobInit;
}

/** A run of an agent by its parent's `runAsyncImpl`: yields its events once it has finished. */
type RunSubAgent = (agent: AgentView, parentContext: InvocationContext) => AsyncGenerator<Event, void, void>;

/** Everything that a context is made of. */
export interface ContextInit extends ContextServices {
  appName: string;
  userId: string;
  sessionId: string;
  invocationId: string;
  agentName: string;
  /** Keys with their prefixes; never changed by the context. */
  state: Readonly<Record<string, unknown>>;
  /** The message that started the invocation. */
  userContent?: Content;
  /** Fires when the call or the turn is cancelled, or the worker shuts down. */
  abortSignal?: AbortSignal;
  /** Gets the effects; a fresh one by default. */
  eventActions?: EventActions;
  toolConfirmation?: ToolConfirmation;
  /** Left out outside of tool calls. */
  call?: CallInit;
  agent?: ContextAgent;
  /** Number of transfers of the turn by now. Defaults to 0. */
  transfers?: number;
  /** Where the `runAsyncImpl` of a ported agent runs: what becomes of the runs of its sub-agents. */
  runSubAgent?: RunSubAgent;
  branch?: string;
  runConfig?: TurnRunConfig;
  /** Left out where it was not loaded. */
  transcript?: TranscriptView;
  /** Results of a model step, left out outside of one. */
  stepOnce?: OnceRecords;
  /** Shared by the contexts of one step; made of this by default. */
  invocation?: InvocationContext;
  /** The session and the calls of an invocation that no turn runs. */
  handMade?: HandMade;
}

/** An invocation that was made by hand, to test a tool or a callback. It is in memory, and nothing of it is stored. */
interface HandMade {
  /** Its state gets what contexts write, as in ADK. */
  session: SessionView;
  /** The call of an id: every context of it has the same results of `once`. */
  callOf(callId: string): CallInit;
}

/** An invocation that is made by hand. Fields: `InvocationContextParams` of `@google/adk` 2.0.0. */
export interface InvocationContextParams {
  invocationId: string;
  session: SessionView;
  agent?: ContextAgent;
  userContent?: Content;
  branch?: string;
  runConfig?: TurnRunConfig;
  abortSignal?: AbortSignal;
  /** @default false */
  endInvocation?: boolean;
  /** For artifacts of contexts, such as an `InMemoryArtifactService`. */
  artifactService?: Pick<BaseArtifactService, 'saveArtifact' | 'loadArtifact' | 'listArtifactKeys'>;
  /** For searches of contexts, such as an `InMemoryMemoryService`. */
  memoryService?: BaseMemoryService;
  /** Never read: the session above is the one that contexts have. */
  sessionService?: unknown;
  /** Never read: credentials are kept by the store. */
  credentialService?: unknown;
  /** Never read: plugins run in turns only. */
  pluginManager?: unknown;
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
 * without the live ones. It is made anew in each activity: only `endInvocation` says something back.
 */
export class InvocationContext {
  readonly #init: ContextInit;
  /** Set it, and no model is asked any more: the invocation ends with this step's calls, without after-agent callbacks. */
  endInvocation = false;

  declare readonly [INIT]: ContextInit;

  /** @param init by hand, for a test of a tool or a callback: the params of ADK. */
  constructor(init: ContextInit | InvocationContextParams) {
    this.#init = 'session' in init ? initByHand(init) : init;
    if ('session' in init) this.endInvocation = init.endInvocation ?? false;
    // Not private: processors and plugins may come from another copy of the package. Not enumerable: it is nobody's to log.
    Object.defineProperty(this, INIT, { value: this.#init });
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
  get agent(): ContextAgent | undefined {
    return this.#init.agent;
  }

  /** The user's message that started this invocation. */
  get userContent(): Content | undefined {
    return this.#init.userContent;
  }

  get runConfig(): Readonly<TurnRunConfig> {
    return this.#init.runConfig ?? {};
  }

  get abortSignal(): AbortSignal | undefined {
    return this.#init.abortSignal;
  }

  /** The artifacts of the session and its user: as `Context.saveArtifact` saves them, without an `artifactDelta`. */
  get artifactService(): SessionArtifactService | undefined {
    const { artifacts } = this.#init;
    return artifacts && sessionArtifacts(artifacts);
  }

  /** The memory of the app, its own service if it has one; undefined without `durable.memory`. */
  get memoryService(): BaseMemoryService | undefined {
    return this.#init.memoryService;
  }

  /**
   * The transcript as a model sees it: a new array of frozen contents, to be replaced and not edited.
   *
   * @throws TranscriptNotLoaded in a tool without `needsTranscript`.
   */
  contents(perspective: Perspective): Content[] {
    if (this.#init.transcript === undefined) throw new TranscriptNotLoaded();
    return this.#init.transcript.contents(perspective);
  }

  static initOf(context: InvocationContext): ContextInit {
    return context[INIT] ?? initByHand(context);
  }

  get session(): SessionView {
    const init = this.#init;
    if (init.handMade !== undefined) return init.handMade.session;
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

/** Whether `value` is an {@link InvocationContext}, of this or of another copy of the package, or what a test has in place of one. */
export function isInvocationContext(value: unknown): value is InvocationContext {
  return typeof value === 'object' && value !== null && (INIT in value || 'session' in value);
}

const NO_SESSION: SessionView = { id: '', appName: '', userId: '', state: {}, events: [], lastUpdateTime: 0 };

/** Tests bring objects in place of an invocation that lack some of this. */
function initByHand(given: Partial<InvocationContextParams>): ContextInit {
  const { session = NO_SESSION, invocationId = '', artifactService, memoryService, agent } = given;
  const { branch, userContent, runConfig, abortSignal } = given;
  const { appName, userId, id: sessionId, state = {} } = session;
  const names = { app: appName, userId, sessionId };
  const signal = abortSignal ?? new AbortController().signal;
  const calls = new Map<string, CallInit>();
  return {
    ...{ appName, userId, sessionId, invocationId, state, agentName: agent?.name ?? '' },
    ...defined({ agent, branch, userContent, runConfig, abortSignal }),
    ...(artifactService && {
      artifacts: new ServiceArtifacts({
        service: artifactService as BaseArtifactService,
        names: async () => names,
      }),
    }),
    ...(memoryService && {
      memory: new ServiceMemory(memoryService, names, signal, () => undefined),
      memoryService,
    }),
    transcript: {
      events: () => session.events,
      contents: () => onlyInTurns('contents'),
      toolCalls: () => onlyInTurns('turnToolCalls'),
    },
    handMade: {
      session,
      callOf(callId) {
        const call = calls.get(callId) ?? callByHand(sessionId, callId, `${invocationId}.${callId}`);
        calls.set(callId, call);
        return call;
      },
    },
  };
}

function callByHand(session: string, callId: string, callKey: string): CallInit {
  const once = new Map<string, unknown>();
  const job = {
    ...{ id: callKey, until: Number.POSITIVE_INFINITY, longRunning: false },
    callbackUrl: () => undefined,
    token: () => undefined,
    progress: async () => undefined,
  };
  const put = async (key: string, value: unknown) => once.set(key, value).get(key);
  return {
    ...{ callId, callKey, session, attempt: 1, job, heartbeat: () => undefined },
    once: { get: (key) => once.get(key), put },
  };
}

function onlyInTurns(member: string): never {
  throw new ToolError(`${member}: a context made by hand has none; run the agent by createTestEnvironment`, {
    retryable: false,
  });
}
