import type { BaseAgent } from '../agents/base-agent.ts';
import type { Content } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import type { EventActions, ToolConfirmation } from '../events/event-actions.ts';
import type { TurnRunConfig } from '../protocol/run-terms.ts';
import type { CallQuestions } from './call-questions.ts';
import type { InvocationContext, TranscriptView } from './invocation-context.ts';

/** Where a call's `once` results are kept over its attempts. */
export interface OnceRecords {
  /** What {@link OnceRecords.put} got for this key in this or an earlier attempt, else undefined; may be a promise. */
  get(key: string): unknown;
  /**
   * @param value JSON.
   * @returns what counts: this value, or the one that another attempt recorded first.
   */
  put(key: string, value: unknown): Promise<unknown>;
}

/** The job that a call has, or may come to have while its tool runs. */
export interface JobInit {
  id: string;
  /** Milliseconds since the epoch: its deadline. */
  until: number;
  /** Of a job in process: the last details of the attempt before. */
  details?: unknown;
  /** Whether the call goes on after its run: at first what the tool is declared as, later what the tool has said while it ran. */
  longRunning: boolean;
  /** Undefined where nobody has said where the gateway is. */
  callbackUrl: () => string | undefined;
  /** Undefined where there is no key to sign it with. */
  token: () => string | undefined;
  progress: (value: number, message?: string) => Promise<void>;
}

/** The function call that a context belongs to. */
export interface CallInit {
  /** Id on the wire. */
  callId: string;
  /** Holdfast's name of the call, unique for ever. */
  callKey: string;
  /** From 1. */
  attempt: number;
  once: OnceRecords;
  heartbeat: (details?: unknown) => void;
  /** Registers what runs when the call is cancelled; see `Context.task`. */
  onCancel?: (handler: () => unknown) => void;
  /** What the call asks people while it runs: new for each run. */
  questions?: CallQuestions;
  /** Left out where the tool can have none: `execution: 'local'`. */
  job?: JobInit;
}

/** A run of an agent by its parent's `runAsyncImpl`: yields its events once it has finished. */
export type RunSubAgent = (
  agent: BaseAgent,
  parentContext: InvocationContext,
) => AsyncGenerator<Event, void, void>;

/** Everything that a context is made of. */
export interface ContextInit {
  appName: string;
  userId: string;
  sessionId: string;
  invocationId: string;
  agentName: string;
  /** Keys with their prefixes; never changed by the context. */
  state: Readonly<Record<string, unknown>>;
  /** What started the invocation. */
  userContent?: Content;
  /** Fires when the call or the turn is cancelled, or the worker shuts down. */
  abortSignal?: AbortSignal;
  /** Gets the effects; a fresh one by default. */
  eventActions?: EventActions;
  toolConfirmation?: ToolConfirmation;
  /** Left out outside of tool calls. */
  call?: CallInit;
  agent?: BaseAgent;
  /** How often the turn was handed on by now. Defaults to 0. */
  handedOn?: number;
  /** Where the `runAsyncImpl` of a ported agent runs: what becomes of the runs of its sub-agents. */
  runSubAgent?: RunSubAgent;
  branch?: string;
  runConfig?: TurnRunConfig;
  /** Left out where it was not loaded. */
  transcript?: TranscriptView;
  /** Shared by the contexts of one step; made of this by default. */
  invocation?: InvocationContext;
}
