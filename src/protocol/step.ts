import type { Content } from '../events/content.ts';
import type { Carried } from './carried.ts';
import type { InvocationOutcome, TurnRunConfig, TurnUsage } from './turn.ts';

/** Which invocation of which chain of runs writes: each new invocation raises it, and older ones can't append. */
export interface ChainFence {
  /** Start of the chain's first run, milliseconds since the epoch. */
  startedAt: number;
  /** Number of the invocation within the chain, from 1. */
  invocation: number;
}

/** Who a turn belongs to; sent with its first step only, later ones name the store's session. */
export interface TurnIdentity {
  app: string;
  userId: string;
  sessionId: string;
  messageId: string;
}

/** Where a step stands: sent with every activity of the turn. */
export interface StepPosition {
  v: number;
  /** The store's internal id of the session; absent until the first step has answered. */
  session?: string;
  invocationId: string;
  runKey: string;
  /** From 1. */
  step: number;
  /** Lower bound of the transcript's last seq. */
  seq: number;
  fence: ChainFence;
}

export interface CallModelInput extends StepPosition {
  agent?: string;
  /** First step only. */
  identity?: TurnIdentity;
  message?: string | Content;
  stateDelta?: Record<string, unknown>;
  runConfig?: TurnRunConfig;
}

/** How the workflow runs the calls of one tool: milliseconds, from the tool's durable options. */
export interface ToolSchedule {
  /** One attempt, with a margin in which the worker ends the attempt by itself. */
  startToClose: number;
  /** All attempts, with the waiting for a worker. */
  scheduleToClose: number;
  heartbeat: number;
  /** Runs as a local activity. */
  local?: true;
  /** Runs alone, one after another. */
  exclusive?: true;
}

/** One function call of a step that an activity carries out. */
export interface PlannedCall {
  callKey: string;
  callId: string;
  tool: string;
  args: Carried<Record<string, unknown>>;
  summary?: string;
}

/** What a step came to. `finished` is the recorded outcome of an invocation that ended before. */
export type StepOutcome =
  | {
      v: number;
      kind: 'calls';
      session: string;
      seq: number;
      agent: string;
      model: string;
      /** Calls that need a run, in call order; the others were answered when the step was recorded. */
      calls: PlannedCall[];
      schedules: Record<string, ToolSchedule>;
      maxParallelCalls: number;
      usage: TurnUsage;
      searchAttributes?: true;
    }
  | {
      v: number;
      kind: 'final' | 'failed' | 'finished';
      session: string;
      seq: number;
      agent: string;
      model?: string;
      from: number;
      outcome: InvocationOutcome;
      searchAttributes?: true;
    };

/** Input of a call's activity, whose type is the tool's name. */
export interface ToolCallInput {
  v: number;
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  agent: string;
  args: Carried<Record<string, unknown>>;
}

/** Result of a call's activity: what the history shows and what the workflow must act on. */
export interface ToolCallResult {
  v: number;
  response: Carried<Record<string, unknown>>;
  /** The response is an error. */
  failed?: true;
  skipSummarization?: true;
}

/** A call whose activity settled nothing, and what the model is told instead. */
export interface UnsettledCall {
  callKey: string;
  callId: string;
  tool: string;
  error: string;
}

/** How an invocation ends without another model call. */
export interface StepEnding {
  status: 'completed' | 'failed' | 'interrupted';
  /** Kept as an error event. */
  error?: { code: string; message: string };
  usage: TurnUsage;
}

export interface SettleStepInput extends StepPosition {
  session: string;
  agent: string;
  unsettled: UnsettledCall[];
  /** Ends the invocation: responses are appended, then the error event where there is one. */
  ending?: StepEnding;
}

export interface SettleStepResult {
  v: number;
  seq: number;
  from: number;
  /** Present with an ending. */
  outcome?: InvocationOutcome;
}
