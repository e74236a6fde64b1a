import type { StoredEvent } from '../../contract/events.ts';
import type { TurnUsage } from '../../contract/sessions.ts';
import type { Content } from '../../events/content.ts';
import type { Event } from '../../events/event.ts';
import type { ChainFence, RanAgent } from '../../protocol/agent-run.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type {
  PlannedCall,
  StepOutcome,
  TurnIdentity,
  UnsettledCall,
  WaitingMessage,
} from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { NewRequest } from '../approvals/approval-store.ts';
import type { SavedArtifact } from '../artifacts/artifact-store.ts';
import type { JobOfMessage } from '../jobs/job-store.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { DraftEvent } from '../sessions/session-store.ts';
import type { CallActions, SettleCall } from './call-store.ts';
import type { Remembered } from './remembered.ts';
import type { SessionUsage } from './usage.ts';

/** The terms of a turn. */
export interface AskedTurn {
  agent?: string;
  /** Of the tree whose agent is to be found, where none is named. */
  rootAgent?: string;
  runConfig?: TurnRunConfig;
}

export interface OpenStep {
  /** First step only: names the session, which is made where it is missing. */
  identity?: TurnIdentity;
  /** The store's internal id; from the second step on. */
  session?: string;
  invocationId: string;
  runKey: string;
  step: number;
  fence: ChainFence;
  /** When Temporal scheduled the attempt, milliseconds since the epoch: earlier attempts at the run begin no inline calls any more. */
  scheduledAt?: number;
  /** The transcript must reach this seq, else `StoreBehindHistory`. */
  seq: number;
  /** Acting agent; author of the merged responses. */
  agent?: string;
  /** First step only: the user's message, without id and timestamp. Without one it is taken from the inbox. */
  message?: Omit<Event, 'id' | 'timestamp'>;
  /** Of the message, sent along or in the inbox, so that its id with another content is found out. */
  messageDigest?: string;
  /**
   * From the second step on: appended in place of what the calls of the step before merge into, which `peekStep` gives. Its
   * `actions.stateDelta` is what is applied, `temp:` included.
   */
  responses?: DraftEvent;
  /** First step only: who sent the message, where somebody has attested it; the inbox has that of a queued one. */
  requester?: string;
  /** First step only: what the turn was asked to be. Kept at the first opening, unless the inbox has it already. */
  asked?: AskedTurn;
  /** An agent that another one has run: what the tree has used is told. */
  child?: true;
  /**
   * First step of an agent's tool: whose call it is. The new session begins with a copy of its state, reserved keys left out; what is
   * used is added to the caller's usage, and so on up to the root.
   */
  parent?: { session: string; runKey: string; callKey: string; path: readonly string[] };
  /** First step of an agent that runs in its parent's session: the run that has planned it. */
  plannedBy?: string;
  /** First step only: nothing is opened while messages wait that earlier chains accepted before this one. */
  mayGiveWay?: boolean;
  /**
   * Events after this seq are returned; the caller keeps those before. Counts only where `session` names the session
   * found: all events are returned where it was made again under its names. On the first step `session` is a guess.
   */
  knownSeq?: number;
}

export type OpenedStep =
  /** The message waits in the inbox, and others before it: nothing was written. */
  | {
      kind: 'behind';
      session: string;
      seq: number;
      /** Accepted messages of earlier chains in order, this one's among them. */
      inbox: WaitingMessage[];
    }
  | {
      kind: 'finished';
      session: string;
      seq: number;
      from: number;
      agent: string | undefined;
      outcome: InvocationOutcome;
      /** First step only. */
      inbox: WaitingMessage[];
    }
  | {
      kind: 'recorded';
      session: string;
      seq: number;
      from: number;
      agent: string | undefined;
      outcome: StepOutcome;
      inbox: WaitingMessage[];
      /** Of the fence that the run has from now on: this one, or a newer one that an earlier attempt had. */
      startedAt: number;
      /** Milliseconds since the invocation began. */
      age: number;
      sessionUsage: SessionUsage;
    }
  | {
      kind: 'open';
      session: string;
      names: SessionNames;
      /** Last seq of the transcript, with the input that this call appended. */
      seq: number;
      /** First seq of the invocation. */
      from: number;
      events: StoredEvent[];
      /** Session's, `app:` and `user:` state, with the invocation's `temp:`; keys carry their prefixes. */
      state: Record<string, unknown>;
      remembered: Remembered;
      /** The acting agent of the session's latest step, where there is one. */
      lastAgent: string | undefined;
      /** How often this step was opened, this time included. */
      attempt: number;
      /** Failures of the provider's own that earlier attempts recorded. */
      failures: number;
      /** Earlier attempts that ended without a word: each may have asked the model, and counts with this step's usage. */
      lost: number;
      /** Values that earlier attempts have recorded under the step's key by `recordOnce`. */
      once: Record<string, unknown>;
      /** The usage of earlier steps of the invocation. */
      usage: TurnUsage;
      /** The terms of the invocation, by its message's row in the inbox or by its first opening. */
      asked: AskedTurn;
      /** For a child: what the whole tree has used in its turn, up to the root. Absent for the root, whose `usage` it is. */
      treeUsage?: TurnUsage;
      /** Of the root's session, where that is another one. */
      root?: { session: string; names: SessionNames };
      /** Accepted messages that no turn has answered, in order; first step only. */
      inbox: WaitingMessage[];
      /** Milliseconds since the invocation began; of a child, its root's. */
      age: number;
      /** Milliseconds since the invocation of the session began; of a child. */
      ownAge?: number;
      /** The session's usage before this step, this invocation included; of a child, its root's. */
      sessionUsage: SessionUsage;
      /**
       * Models that are not to be asked for so long, milliseconds by limit key, 0 for those that have not answered since; absent
       * where there are none.
       */
      limits?: Readonly<Record<string, number>>;
      /** Jobs that the message has ended or updated: their waiting activities are to be told. First step only. */
      jobs?: JobOfMessage[];
    };

/** The arguments of `peekStep`; `mayGiveWay`, the fields that it goes by, and `message` on a first step only. */
export type StepToPeek = Pick<OpenStep, 'identity' | 'session' | 'invocationId' | 'runKey' | 'step'> &
  Partial<Pick<OpenStep, 'fence' | 'messageDigest' | 'mayGiveWay' | 'message'>>;

/** The events that `openStep` would append. */
export interface PeekedStep {
  names: SessionNames;
  /** `openStep` would append nothing, and answer this. */
  behind?: Extract<OpenedStep, { kind: 'behind' }>;
  /** The step has been opened before, or its invocation has ended: its input is in the transcript, and can't be changed. */
  begun: boolean;
  /**
   * First step: the content of the message in the inbox, or of one that is sent along and doesn't stay as it is, as it will be
   * appended: where a job has ended otherwise than the message says, with the outcome that counts.
   */
  message?: Content;
  /** Of the message in the inbox. */
  stateDelta?: Record<string, unknown>;
  /** Of the message in the inbox, as its sender computed it. */
  messageDigest?: string;
  /** Later steps: what the calls of the step before merge into; `temp:` included in its state delta. */
  responses?: DraftEvent;
  /** The step whose calls the responses answer: of a retry, the one that it goes back to. */
  answers?: Pick<StoredEvent, 'runKey' | 'step'>;
  /** The terms of the invocation, where it has begun. */
  asked?: AskedTurn;
  /** Session's, `app:` and `user:` state, with the invocation's `temp:`; without the input's delta. */
  state: Record<string, unknown>;
  remembered: Remembered;
  /** The content that started the invocation; from the second step on. */
  userContent?: Content;
  /** Last seq of the transcript; 0 where there is none yet. */
  seq: number;
  /** First seq of the invocation; 0 where it has not begun. */
  from: number;
}

/** A call whose content the ledger keeps from the start: arguments by reference, or an answer without a run. */
export interface PlannedRow {
  callKey: string;
  index: number;
  callId: string;
  tool: string;
  args?: Record<string, unknown>;
  response?: Record<string, unknown>;
  /** Effects of before-tool callbacks when the call was planned; with a response they are the outcome's, else its run begins with them. */
  actions?: CallActions;
}

/** Of a step's events the first one's branch is that of its merged responses. */
export interface NewEvent {
  kind: 'model' | 'error' | 'callback' | 'request';
  event: DraftEvent;
}

export interface CommitStep {
  /** Requests to people before calls of this step run; their events are among `events`. */
  requests?: readonly NewRequest[];
  session: string;
  invocationId: string;
  runKey: string;
  step: number;
  fence: ChainFence;
  agent: string;
  events: NewEvent[];
  /**
   * Every call of the step in call order, for the merge of its responses. One without a `callId` (`''`) is code that the model
   * wrote: its response is a `codeExecutionResult` part.
   */
  calls: Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>[];
  rows: PlannedRow[];
  usage: TurnUsage;
  /** Of the run's tools from now on, where this step has changed them. */
  toolEdits?: Remembered['toolEdits'];
  /** User code has ended the invocation: the step's calls run, and no model is asked about them. */
  ends?: boolean;
  /** Versions of artifacts that user code of the step has saved. */
  artifacts?: readonly SavedArtifact[];
  /** Recorded as this step's outcome; `seq` and `from` are filled in by the store. */
  outcome: StepOutcome;
  /** Ends the invocation. */
  ending?: InvocationOutcome;
}

/** The outcome that counts: this one, or the one that an earlier attempt recorded. */
export interface CommittedStep {
  kind: 'committed' | 'recorded';
  seq: number;
  from: number;
  outcome: StepOutcome;
}

export interface SettleStep {
  session: string;
  invocationId: string;
  runKey: string;
  step: number;
  fence: ChainFence;
  /** The transcript must reach this seq, else `StoreBehindHistory`. Defaults to 0. */
  seq?: number;
  agent: string;
  /** Agents that this run has run in its session, and that have ended without a word: what they have left running is ended first. */
  lost?: readonly Pick<RanAgent, 'runKey'>[];
  /** Settled with the error, or with what callbacks made of it. */
  unsettled: (UnsettledCall & Partial<Pick<SettleCall, 'response' | 'failed' | 'actions' | 'parts'>>)[];
  /** Appends the step's merged responses, then `events`, and ends the invocation. */
  ending?: {
    outcome: InvocationOutcome;
    /** Appended in place of the merged responses. Its `actions.stateDelta` is what is applied, `temp:` included. */
    responses?: DraftEvent;
    /** In order; their state deltas are applied. */
    events?: NewEvent[];
    /** The response of open calls. */
    cutOff?: string;
  };
}

export interface SettledStep {
  seq: number;
  from: number;
  /** The invocation's recorded outcome, which may be an earlier one. */
  outcome?: InvocationOutcome;
  /** Calls of the step that were cut off, now or before, and whose jobs have no outcome of their own. */
  cutOff?: Pick<UnsettledCall, 'callKey' | 'callId'>[];
}

/** Model steps: what a run reads and writes between two of its calls. */
export interface StepStore {
  /**
   * Opens a model step: gives back a recorded outcome, or raises the fences, appends the step's input (the message, or
   * the merged responses of the step before) and returns the transcript. One round trip.
   */
  openStep(step: OpenStep): Promise<OpenedStep>;
  /**
   * The events that `openStep` would append, so that plugins see them first; changes nothing. One round trip. `identity` or `session` as for
   * `openStep`; a session that isn't there yet has the state of its app and user.
   *
   * @throws StoreBehindHistory where calls of the step before have no outcome.
   */
  peekStep(step: StepToPeek): Promise<PeekedStep>;
  /** Appends the step's events and records its outcome under both fences. One round trip. */
  commitStep(step: CommitStep): Promise<CommittedStep>;
  /**
   * Records that the running attempt failed by the provider's own doing, so that it doesn't count as one of unknown
   * outcome. Returns how many failures count now; `counts: false` (a provider that says *wait*) adds none.
   */
  recordStepFailure(step: {
    session: string;
    runKey: string;
    step: number;
    error: string;
    /** Defaults to true. */
    counts?: boolean;
    /** As it was answered when the attempt began, so that repeating this changes nothing. Defaults to the newest one. */
    attempt?: number;
  }): Promise<number>;
  settleStep(step: SettleStep): Promise<SettledStep>;
}
