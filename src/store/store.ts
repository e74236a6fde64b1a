import type { Event } from '../events/event.ts';
import type { ChainFence, InvocationStatus, RanAgent } from '../protocol/agent-run.ts';
import type {
  KeepMessagesInput,
  KeptMessage,
  MessageToKeep,
  PlannedCall,
  StepOutcome,
  UnsettledCall,
} from '../protocol/step.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import type { ApprovalStore, NewRequest } from './approvals/approval-store.ts';
import type { StoreClock } from './engine/store-clock.ts';
import type { JobStore } from './jobs/job-store.ts';
import type { ApiKeyStore } from './keys/api-key-store.ts';
import type { DenialStore } from './keys/denial-store.ts';
import type { PageStore } from './keys/page-store.ts';
import type { LiveNotice, StoreNotice } from './live/store-notice.ts';
import type { InboxRow, UploadMessage } from './messages/inbox-row.ts';
import type { SlackStore } from './messages/slack-store.ts';
import type { WebhookStore } from './messages/webhook-store.ts';
import type { KeptNoticeStore } from './notices/kept-notice-store.ts';
import type { SessionNames } from './sessions/session-names.ts';
import type { SessionStore } from './sessions/session-store.ts';
import type {
  BeginCall,
  BegunCall,
  CallActions,
  CallAsPlanned,
  KnownCall,
  SettleCall,
  SettledCall,
} from './turns/call-store.ts';
import type { ChildStore } from './turns/child-store.ts';
import type { LimitStore } from './turns/limit-store.ts';
import type { Remembered } from './turns/remembered.ts';
import type { OpenedStep, OpenStep, PeekedStep, StepToPeek } from './turns/step-opening.ts';

export type {
  ApprovalRow,
  ApprovalStore,
  ApprovalTerms,
  AuditedRequest,
  BeginAnsweredCall,
  BegunAnsweredCall,
  Evidence,
  ListApprovals,
  NewRequest,
  SealedCredential,
  SignedDecision,
  StoredCredential,
  StoredSignature,
  SuspendCall,
} from './approvals/approval-store.ts';
export type {
  EndedJob,
  EndJob,
  JobAddress,
  JobClaims,
  JobOfMessage,
  JobOutcome,
  JobRow,
  JobStore,
  ListJobs,
  NewJob,
} from './jobs/job-store.ts';
export type {
  ApiKeyRow,
  ApiKeyStore,
  Grant,
  GrantRole,
  KnownApiKey,
  NewApiKey,
} from './keys/api-key-store.ts';
export type { Denial, DenialStore, DeniedKind } from './keys/denial-store.ts';
export type {
  LiveNotice,
  PartialText,
  StoreNotice,
  ToolChunk,
} from './live/store-notice.ts';
export type { InboxRow, UploadMessage } from './messages/inbox-row.ts';
export type { StoredThread } from './messages/slack-store.ts';
export type { DeadNotice, DeadNoticePlace, KeptNoticeStore } from './notices/kept-notice-store.ts';
export type { SessionNames } from './sessions/session-names.ts';
export type {
  BeginCall,
  BegunCall,
  CallActions,
  CallAsPlanned,
  KnownCall,
  SettleCall,
  SettledCall,
} from './turns/call-store.ts';
export type { CallOfAgentFound, ChildOutcome, ChildStore } from './turns/child-store.ts';
export type { LimitStore, TurnSlot } from './turns/limit-store.ts';
export type { AskedTurn, OpenedStep, OpenStep, PeekedStep, StepToPeek } from './turns/step-opening.ts';

/**
 * What an event is in the transcript. `responses` answers the calls of the same run and step. `rewind` hides the events
 * between `hidesAfter` and itself. `callback` is said by user code for its agent: a callback's answer or state, what a
 * plugin or a processor adds. `request` asks people, by calls with reserved names.
 */
export type EventKind = 'message' | 'model' | 'responses' | 'error' | 'rewind' | 'callback' | 'request';

/** An event with its place in the session. */
export interface StoredEvent {
  /** From 1, gapless within a session. */
  seq: number;
  kind: EventKind;
  runKey: string;
  step: number;
  /** Of a `rewind`: events with a greater seq, up to this one, are no part of what agents see. */
  hidesAfter?: number;
  event: Event;
}

/** An event without what the store gives. */
export type DraftEvent = Omit<Event, 'id' | 'timestamp'>;

export interface StepUsage {
  modelCalls: number;
  promptTokens: number;
  outputTokens: number;
  totalTokens: number;
  cost?: number;
  /** Attempts that ended without a word, among `modelCalls`. */
  unknownCalls?: number;
}

export interface SessionUsage extends StepUsage {
  /** Wall time of the session's ended invocations, milliseconds. */
  time: number;
}

/** A call whose content the ledger keeps from the start: arguments by reference, or an answer without a run. */
export interface PlannedRow {
  callKey: string;
  index: number;
  callId: string;
  tool: string;
  args?: Record<string, unknown>;
  response?: Record<string, unknown>;
  /** What before-tool callbacks did when the call was planned; with a response they are the outcome's, else its run begins with them. */
  actions?: CallActions;
}

/** Of a step's events the first one's branch is that of its merged responses. */
export interface NewEvent {
  kind: 'model' | 'error' | 'callback' | 'request';
  event: DraftEvent;
}

export interface CommitStep {
  /** What people are asked before calls of this step run; their events are among `events`. */
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
  usage: StepUsage;
  /** Of the run's tools from now on, where this step has changed them. */
  toolEdits?: Remembered['toolEdits'];
  /** User code has ended the invocation: the step's calls run, and no model is asked about them. */
  ends?: boolean;
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

/** A message for the inbox, and who sent it where an attestation of it holds: the turn's requester later on. */
export interface MessageForInbox extends MessageToKeep {
  requester?: string;
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
    /** What open calls are answered with. */
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

/** What became of an invocation. */
export interface RecordedInvocation {
  session: string;
  invocationId: string;
  messageId: string;
  status: InvocationStatus;
  from: number;
  to: number;
  outcome?: InvocationOutcome;
  /** Attested sender of its message. */
  requester?: string;
}

export interface ReadEvents extends SessionNames {
  /** Events after this seq. Defaults to 0: from the start. */
  after?: number;
  /** Defaults to 1,000. */
  limit?: number;
}

/**
 * Sessions, events and the ledger. Every write carries a dedupe key: repeating one changes nothing and returns what
 * was recorded first.
 *
 * @throws Fenced, StoreBehindHistory, StoreUnavailable, MessageConflict, Unstorable, StoreFailed
 */
export interface Store
  extends SessionStore,
    ApprovalStore,
    ChildStore,
    JobStore,
    KeptNoticeStore,
    SlackStore,
    LimitStore,
    PageStore,
    ApiKeyStore,
    DenialStore,
    WebhookStore,
    StoreClock {
  /**
   * Opens a model step: gives back a recorded outcome, or raises the fences, appends the step's input (the message, or
   * the merged responses of the step before) and returns the transcript. One round trip.
   */
  openStep(step: OpenStep): Promise<OpenedStep>;
  /**
   * What `openStep` would append, so that plugins see it first; changes nothing. One round trip. `identity` or `session` as for
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
  /** @throws AttemptReplaced where an attempt that was scheduled later has begun. */
  beginCall(call: BeginCall): Promise<BegunCall>;
  settleCall(call: SettleCall): Promise<SettledCall>;
  /**
   * Records that the running attempt failed by the tool's own doing, so that the next one doesn't find its outcome
   * unknown. Returns how many failures count now; `counts: false` (a poll that says *not yet*) adds none.
   */
  recordCallFailure(call: {
    session: string;
    callKey: string;
    error: string;
    /** Defaults to true. */
    counts?: boolean;
    /** As it was answered when the attempt began, so that repeating this changes nothing. Defaults to the newest one. */
    attempt?: number;
  }): Promise<number>;
  /** Records a `once` result of a call, or of a step by its key; returns the one recorded first. */
  recordOnce(call: { session: string; callKey: string; key: string; value: unknown }): Promise<unknown>;
  /**
   * What `recordOnce` has under this key by now; undefined where there is nothing. Asked right before what would be recorded happens.
   *
   * @param call `attempt`: as it was answered when the attempt of the call began; left out by those who are none.
   * @throws AttemptReplaced where that attempt isn't the call's newest, or the call is settled.
   */
  askOnce(call: { session: string; callKey: string; key: string; attempt?: number }): Promise<unknown>;
  settleStep(step: SettleStep): Promise<SettledStep>;

  /**
   * Writes accepted messages, and notes on rejected ones, into the session's inbox, where the session's next turn finds
   * those that were never answered. Makes the session where it is missing. A message that can't be stored is answered
   * with `refused` and holds up no other. One round trip.
   */
  keepMessages(
    keep: Omit<KeepMessagesInput, 'v' | 'messages'> & { messages: readonly MessageForInbox[] },
  ): Promise<KeptMessage[]>;
  /**
   * Puts a message's content into the inbox before the message is sent, for one that is too large to travel. Another
   * content replaces it as long as nobody has accepted the message, and changes nothing later. Dropped after 30 days
   * without its message.
   */
  uploadMessage(upload: UploadMessage): Promise<{ digest: string; bytes: number }>;
  /** Deletes the content of a message that was not sent after all; nothing where it was accepted, or is not there. */
  forgetUpload(names: SessionNames, messageId: string): Promise<void>;
  /** What waits in a session's inbox, in order, and what was rejected, the newest 100; 1,000 rows at most. */
  readInbox(names: SessionNames): Promise<InboxRow[]>;
  /** An invocation's row in the inbox, whatever its status; none where it has begun or was never heard of. */
  findWaiting(names: SessionNames, invocationId: string): Promise<InboxRow | undefined>;

  findSession(
    names: SessionNames,
  ): Promise<{ session: string; seq: number; lastAgent: string | undefined } | undefined>;
  /** The newest chain that has written to a session. */
  newestFence(names: SessionNames): Promise<ChainFence | undefined>;
  findInvocation(names: SessionNames, invocationId: string): Promise<RecordedInvocation | undefined>;
  /** In seq order. Empty where there is no such session. */
  readEvents(read: ReadEvents): Promise<StoredEvent[]>;
  /** Changes nothing. Undefined for a call that was not begun, and whose arguments the ledger doesn't keep. */
  findCall(call: { session: string; callKey: string }): Promise<KnownCall | undefined>;
  /** A call as its step has planned it; undefined for one that nobody has planned, or that was answered when it was. */
  findPlannedCall(call: { session: string; callKey: string }): Promise<CallAsPlanned | undefined>;
  /** What `recordOnce` has of a call, or of a step. */
  readOnce(call: { session: string; callKey: string }): Promise<Record<string, unknown>>;
  /**
   * A call's arguments as a person has changed them, or was shown them last; else as they were planned, which before-callbacks have
   * had by then where its tool has a gate. Undefined where none is planned.
   */
  callArguments(call: { session: string; callKey: string }): Promise<Record<string, unknown> | undefined>;
  /** A call's recorded response or arguments, or an invocation's outcome content, by its reference's key. */
  readReference(names: SessionNames, key: string): Promise<unknown>;

  /**
   * Tells followers, here and in processes that listen, at once and without waiting: what can't be told is lost, and no
   * caller learns of it. `text` is at most 7 KiB of UTF-8 (`MOST_TEXT_BYTES`), a chunk as much JSON, and told to nobody where
   * it is longer: who tells it splits it. A NUL in text becomes U+001A, a lone surrogate U+FFFD. How often it tells is the
   * caller's affair.
   */
  tell(notice: LiveNotice): void;
  /** Called for what this process does to the store, and tells, until the returned function is called. */
  onNotice(listener: (notice: StoreNotice) => void): () => void;
  /**
   * As `onNotice` for one session, and for what other processes do to it and tell, where the store listens: in PostgreSQL
   * with `listen`. A notice may come twice or not at all. Of other processes it is heard from shortly after this returns:
   * then, and whenever notices were missed, `appended` comes with the session's last seq, whoever appended it.
   */
  watch(session: string, listener: (notice: StoreNotice) => void): () => void;
  /**
   * Called when a turn begins in the session of these names, and where that may have been missed: for who waits for a
   * session that isn't there, or may be made again. Hears of other processes as `watch` does.
   */
  watchTurns(names: SessionNames, listener: () => void): () => void;
  /**
   * Whether `watch` hears of other processes: PostgreSQL while its listening connection is up, and the embedded store of
   * the process that owns it. Without it followers poll and get no partial text of other processes.
   */
  readonly listens: boolean;
  close(): Promise<void>;
}
