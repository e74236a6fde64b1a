import type { JobProgress } from '../contract/jobs.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import type { Content } from '../events/content.ts';
import type { ChildEnd, ChildStart, InvocationStatus } from './agent-run.ts';
import type { WaitingRequest } from './gate.ts';
import type { WaitingJob } from './job.ts';
import type { StoredMessage } from './message.ts';
import type { TurnRunConfig } from './run-terms.ts';
import type { Carried, Reference } from './sizes.ts';

/** Temporal's own, of 1 to 5. */
export const DEFAULT_PRIORITY = 3;

/** Start arguments of the workflow `agentTurn`; unknown fields are ignored. */
export interface AgentTurnStart {
  v?: number;
  app: string;
  userId: string;
  sessionId: string;
  /** A string means one user text part. At most 64 KiB; larger content goes to the store first. */
  message?: string | Content;
  /** In place of `message`: its content is in the store's inbox. */
  stored?: StoredMessage;
  /** In place of `message`: the turn goes on where `HoldfastClient` has cut this invocation off. */
  retryOf?: { invocationId: string; generation: number };
  /** One message id is one turn, for ever. Defaults to the first run's id. */
  messageId?: string;
  /** Defaults to the session's last acting agent, then to the worker's root agent. */
  agent?: string;
  /**
   * Name of the root agent whose tree answers where `agent` names nobody: who of it acts follows from the transcript, as with ADK's
   * `Runner`. Defaults to the app's.
   */
  rootAgent?: string;
  /** State that the message's event carries. */
  stateDelta?: Record<string, unknown>;
  runConfig?: TurnRunConfig;
  /** The W3C's Trace Context of the span above the turn's own span. A malformed one is ignored. */
  traceparent?: string;
  /**
   * Proof of the sender: a compact JWS of an issuer that the app names, over app, user, session, message id, message digest
   * and principal. Without one the requester is unverified, and `notRequester` refuses every decision.
   */
  attestation?: string;
  /** Temporal's priority key of the turn's activities, 1 (first) to 5. Defaults to 3. */
  priority?: number;
  /** Set by the workflow that runs this one as a child; never by clients. */
  child?: ChildStart;
  /** The turn is this call of its agent, whose model is not asked. Set by users' own workflows; never by clients. */
  ownCall?: OwnCall;
}

/** A call that no model has asked for. */
export interface OwnCall {
  tool: string;
  args: Record<string, unknown>;
  /** The question to people, for a call that is nothing but a question. */
  question?: Record<string, unknown>;
}

export interface TurnError {
  code: string;
  message: string;
  /** The message must not be told where it is not encoded. */
  concealed?: true;
}

/** The outcome of one invocation, without its place in the transcript. */
export interface InvocationOutcome {
  status: Exclude<InvocationStatus, 'running'>;
  /** The final answer; a reference where it is over 4 KiB. */
  text?: string | Reference;
  /**
   * The value of an answer by an output schema; `text` is its JSON. A reference goes with the text's reference; clients with a
   * store, and those of a gateway, get the value. For a turn that is one call of its own: the response.
   */
  output?: Carried;
  error?: TurnError;
  usage: TurnUsage;
}

/** Result of a run of `agentTurn`. */
export interface TurnResult extends InvocationOutcome, ChildEnd {
  v: number;
  invocationId: string;
  /** First and last seq of the invocation's events. */
  events: { from: number; to: number };
  /** Outcomes of the messages that were queued meanwhile, in order; absent without any. */
  others?: OtherInvocation[];
}

export interface OtherInvocation {
  invocationId: string;
  status: InvocationOutcome['status'];
  events: { from: number; to: number };
}

export interface RunningCall {
  callKey: string;
  tool: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** Progress of its job, where the job has reported it. */
  progress?: JobProgress;
}

/** How a turn stands; of several waits the first of approval, credential, input, job. `running` while any call runs. */
export type TurnState =
  | InvocationStatus
  | 'waiting_approval'
  | 'waiting_credential'
  | 'waiting_input'
  | 'waiting_job';

/** A request, or a job, that an agent of a tree waits for. */
export interface AgentWait {
  runKey: string;
  workflowId: string;
  /** Names of the agents from the root to the one that waits. */
  path: readonly string[];
  /** For people, or for a job. */
  status: Exclude<TurnState, InvocationStatus>;
  tool: string;
  /** Id of the waiting call, as its model or Holdfast has named it. */
  callId?: string;
  /** Absent where it is a job. */
  requestId?: string;
  /** Milliseconds since the epoch. */
  since: number;
}

/** Payload of {@link CHILD_STATE}, from a child to the workflow that runs it: it waits, or goes on, or what waits below it has changed. */
export interface ChildState {
  runKey: string;
  path: readonly string[];
  status: TurnState;
  /** Milliseconds since the epoch. */
  since: number;
  /** The first waits of the agent and of the agents below it. */
  waits?: readonly AgentWait[];
  /** How many waits are not told. */
  more?: number;
}

/** A child as the query `status` of the workflow that runs it tells. */
export interface RunningChild extends ChildState {
  agent: string;
  workflowId: string;
  /** The tool whose call it waits for itself. */
  tool?: string;
}

/** Answer of the query `status`. */
export interface TurnStatus {
  v: number;
  status: TurnState;
  agent: string | undefined;
  step: number;
  invocationId: string;
  /** When the invocation began, milliseconds since the epoch; absent before one has. */
  since?: number;
  running: RunningCall[];
  /** Requests that people have not answered yet. */
  waiting: WaitingRequest[];
  /** Jobs that calls of the turn wait for. */
  jobs: WaitingJob[];
  /** Agents that run as its children; what they and those below them wait for is in their `waits`. */
  children?: RunningChild[];
  /** Messages that wait for this one's end. */
  queued: number;
  usage: TurnUsage;
}
