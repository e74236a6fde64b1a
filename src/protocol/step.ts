import type { TurnUsage } from '../contract/sessions.ts';
import type { Content } from '../events/content.ts';
import type {
  ActingAgent,
  AgentPlan,
  AgentToolPlan,
  CallOfAgent,
  ChainFence,
  EndedAgent,
  RanAgent,
} from './agent-run.ts';
import type { AuditEntry, Gate } from './gate.ts';
import type { AwaitedJob, JobTask } from './job.ts';
import type { ToolSchedule, TurnRunConfig } from './run-terms.ts';
import type { Carried } from './sizes.ts';
import type { InvocationOutcome, OwnCall } from './turn.ts';

/** The app, user and session of a turn; sent with its first step only, later ones name the store's session. */
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
  /** Trace of the message, where its client is traced. */
  traceparent?: string;
}

export interface CallModelInput extends StepPosition, ActingAgent {
  agent?: string;
  /** Step of a transferred turn: the agents that have transferred it, the first one first. Their closing callbacks are asked at the end. */
  handedOnBy?: readonly string[];
  /** First step of this agent's since the turn was transferred to it, or since its run began. */
  enters?: true;
  /** First step of an agent of a workflow agent: the run that has planned it. */
  plannedBy?: string;
  /** First step of an agent's tool: the session is made, from the caller's. */
  call?: CallOfAgent;
  /** Later steps of a workflow agent: outcomes of the agents of its latest plan, in the order in which they ended. */
  ran?: readonly RanAgent[];
  /** First step only: of the start arguments. */
  rootAgent?: string;
  /** First step only. */
  identity?: TurnIdentity;
  /** First step only; without one the message is in the store: in the inbox, or written by a retry. */
  message?: string | Content;
  /** Digest of a message in the inbox, as far as its client said it. */
  messageDigest?: string;
  stateDelta?: Record<string, unknown>;
  runConfig?: TurnRunConfig;
  /** First step only: when the message came, milliseconds since the epoch. */
  cameAt?: number;
  /** First step only: where messages that were accepted before this one still wait, the answer is {@link SupersededStep}. */
  mayGiveWay?: true;
  /** First step only: who sent the message, signed. */
  attestation?: string;
  /** The workflow that waits where the step asks a person. */
  workflowId?: string;
  /** A call in the place of the model's answer. */
  ownCall?: OwnCall;
}

/** One function call of a step that an activity carries out. */
export interface PlannedCall {
  callKey: string;
  callId: string;
  tool: string;
  args: Carried<Record<string, unknown>>;
  summary?: string;
  /** Before-tool callbacks have been asked when it was planned: `args` are what they made of them. */
  prepared?: true;
  /** It runs once this request is approved, which stands in the store with the step. */
  gate?: Gate;
  /** A child runs it. */
  runs?: AgentToolPlan;
}

/** A message that waits in the store for its turn. */
export interface WaitingMessage {
  messageId: string;
  invocationId: string;
  agent?: string;
  runConfig?: TurnRunConfig;
  /** Its place among those that wait; lower ones come first. */
  place: number;
  digest: string;
  /** JSON bytes of its content. */
  bytes: number;
}

/** Result of a first step beside its outcome. */
export interface FirstStep {
  searchAttributes?: true;
  /** Messages of earlier chains that were accepted and never answered. */
  inbox?: WaitingMessage[];
  /** Rest of the invocation's wall time, milliseconds. */
  timeLeft?: number;
  /** The start of the chain as its fence has it from now on: the clock was set back since the session's last turn. */
  startedAt?: number;
  /** Page on which people read the session's transcript. */
  transcript?: string;
  /** The app remembers what is said: the session is added to the memory once the run has ended. */
  remembers?: true;
}

/** The acting agent, as far as the workflow could not know. */
export interface Entered {
  /** Root of the tree that the agent is in. */
  root?: string;
  /** One of the step's events has `escalate` set. */
  escalated?: true;
  /** The step that the outcome is of, where the activity has gone on with later steps than the one that it was asked for. */
  step?: number;
}

/** The outcome of a step. `finished` is the recorded outcome of an invocation that ended before. */
export type StepOutcome =
  | ({
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
      /** Once it has run all calls, the activity goes on with the next step. */
      chain?: true;
      /** Outcomes of the calls that the activity has run itself, by call key. */
      ran?: Record<string, InlineResult>;
      /** SHA-256 of {@link ActingAgent.within}; absent where no call is prepared, and in what older releases wrote. */
      place?: string;
    } & Entered &
      FirstStep)
  /** A workflow agent: these run, then it is asked again. */
  | ({
      v: number;
      kind: 'agents';
      session: string;
      seq: number;
      agent: string;
      plan: AgentPlan;
      usage: TurnUsage;
      model?: undefined;
    } & Entered &
      FirstStep)
  | ({
      v: number;
      kind: 'final' | 'failed' | 'finished';
      session: string;
      seq: number;
      agent: string;
      model?: string;
      from: number;
      outcome: InvocationOutcome;
    } & Entered &
      FirstStep);

/** A first step that has not begun: messages that were accepted before its own still wait. */
export interface SupersededStep {
  v: number;
  kind: 'behind';
  session: string;
  /** Messages of earlier chains that wait, in order, its own among them. */
  inbox: WaitingMessage[];
}

/** Input of a call's activity, whose type is the tool's name. */
export interface ToolCallInput extends ActingAgent {
  /** How often the turn was transferred by now; absent for never. */
  handedOn?: number;
  v: number;
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  agent: string;
  args: Carried<Record<string, unknown>>;
  /** No other call of the step runs meanwhile. */
  exclusive?: true;
  traceparent?: string;
  /** As in the plan. */
  prepared?: true;
  /** The call has asked a person: the end of its latest request, recorded before anything else. */
  answered?: AnsweredGate;
  /** Its tool has run: what is left is its job. */
  job?: JobTask;
  /** Its agent has run: what is left is its outcome. */
  ran?: EndedAgent;
}

/** How a request of a call has ended. */
export interface AnsweredGate {
  requestId: string;
  /** Those that no activity has recorded yet, in their order. */
  entries: AuditEntry[];
}

/** Input of `holdfast.closeCall`: the call's, with what kept it from running. */
export interface CloseCallInput extends ToolCallInput {
  tool: string;
  answered: AnsweredGate;
  why: 'rejected' | 'expired';
  /** The person's words. */
  reason?: string;
}

/** Result of a call's activity: the part that the history shows, and the part that the workflow acts on. */
export type ToolCallResult =
  | {
      v: number;
      response: Carried<Record<string, unknown>>;
      /** The response is an error. */
      failed?: true;
      skipSummarization?: true;
      /** The response is an intermediate one: this job goes on without the turn. */
      detached?: AwaitedJob;
      /** The turn is transferred to this agent, once all calls of the step have ended. */
      transferToAgent?: string;
      escalate?: true;
    }
  /** The call is not settled: it may go on, as a child. */
  | { v: number; runs: true; args?: Carried<Record<string, unknown>> }
  /** The call is not settled: it waits for its job. */
  | { v: number; parks: AwaitedJob }
  /** The call is not settled: it waits for this request, and is run again once that is answered. */
  | { v: number; asks: Gate };

/** How a call stands that the activity of its step has run. */
export type InlineResult =
  | Extract<ToolCallResult, { response: unknown } | { asks: unknown }>
  /**
   * It goes on as an activity of its own, `after` this time; it has `spent` some of its total timeout. Milliseconds. `error` is the tool's,
   * for a call without time for another attempt.
   */
  | { v: number; goesOn: { after: number; spent: number; error?: string } }
  /** Somebody has cancelled it. */
  | { v: number; cancelled: true };

/** Calls that the activity of a step runs, as it tells its turn. */
export interface InlineCallsTold {
  step: number;
  /** `since`: milliseconds since the epoch. */
  calls: (Pick<PlannedCall, 'callKey' | 'callId' | 'tool'> & { since: number })[];
}

/** A call whose activity settled nothing, and the model's text about it. */
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
  /** Response to calls that are still open. Defaults to a text that says that their turn has ended. */
  cutOff?: string;
  /** Output of a turn that is one call of its own. */
  output?: Carried;
  usage: TurnUsage;
}

export interface SettleStepInput extends StepPosition, ActingAgent {
  /** Ended without a word, as far as the workflow knows: what they left open is ended with this step. */
  lost?: readonly RanAgent[];
  handedOnBy?: readonly string[];
  /** Where no step has answered yet, in place of `session`; with the message where it isn't in the store. */
  identity?: TurnIdentity;
  message?: string | Content;
  messageDigest?: string;
  stateDelta?: Record<string, unknown>;
  cameAt?: number;
  agent: string;
  unsettled: UnsettledCall[];
  /** Ends the invocation: responses are appended, then the error event where there is one. */
  ending?: StepEnding;
  /** With an ending, for metrics and traces: whose the invocation is, and when it began, milliseconds since the epoch. */
  ended?: { app: string; userId: string; sessionId: string; beganAt?: number };
}

export interface SettleStepResult {
  v: number;
  seq: number;
  from: number;
  /** Present with an ending. */
  outcome?: InvocationOutcome;
}

/** One message that a chain of runs keeps in the store, so that it outlives them. */
export interface MessageToKeep {
  messageId: string;
  invocationId: string;
  place: number;
  /** Of `messageDigest`. */
  digest: string;
  bytes: number;
  message?: string | Content;
  /** The content is in the inbox already. */
  stored?: true;
  stateDelta?: Record<string, unknown>;
  agent?: string;
  runConfig?: TurnRunConfig;
  attestation?: string;
  /** The sender, if the activity found the attestation valid. */
  requester?: string;
  /** Why the message was not taken: only this is kept, for an operator to read. */
  rejected?: string;
}

export interface KeepMessagesInput {
  v: number;
  app: string;
  userId: string;
  sessionId: string;
  /** Start of the chain that accepts them: messages of older chains come first. */
  startedAt: number;
  messages: MessageToKeep[];
}

/**
 * `known`: an invocation of this message has begun or ended. `reset`: this very chain has begun it, before it was reset to
 * where the message was yet to come. `duplicate`: one message id with two contents. `missing`: its
 * content was said to be in the store, and is not.
 */
export type KeptMessage =
  | { messageId: string; kind: 'kept' | 'known' | 'reset' | 'duplicate' | 'missing' }
  | { messageId: string; kind: 'refused'; reason: string };

export interface KeepMessagesResult {
  v: number;
  /** In the order of the input. */
  messages: KeptMessage[];
}
