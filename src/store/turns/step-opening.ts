import type { Content } from '../../events/content.ts';
import type { Event } from '../../events/event.ts';
import type { ChainFence } from '../../protocol/agent-run.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type { StepOutcome, TurnIdentity, WaitingMessage } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { JobOfMessage } from '../jobs/job-store.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { DraftEvent, SessionUsage, StepUsage, StoredEvent } from '../store.ts';
import type { Remembered } from './remembered.ts';

/** What a turn was asked to be. */
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
      /** What earlier attempts have recorded under the step's key by `recordOnce`. */
      once: Record<string, unknown>;
      /** What earlier steps of the invocation used. */
      usage: StepUsage;
      /** What the invocation was asked to be, by its message's row in the inbox or by its first opening. */
      asked: AskedTurn;
      /** Of a child: what the whole tree has used in its turn, up to the root. Absent for the root, whose `usage` it is. */
      treeUsage?: StepUsage;
      /** Of the root's session, where that is another one. */
      root?: { session: string; names: SessionNames };
      /** Accepted messages that no turn has answered, in order; first step only. */
      inbox: WaitingMessage[];
      /** Milliseconds since the invocation began; of a child, its root's. */
      age: number;
      /** Milliseconds since the invocation of the session began; of a child. */
      ownAge?: number;
      /** What the session used before this step, this invocation included; of a child, its root's. */
      sessionUsage: SessionUsage;
      /**
       * Models that are not to be asked for so long, milliseconds by limit key, 0 for those that have not answered since; absent
       * where there are none.
       */
      limits?: Readonly<Record<string, number>>;
      /** Jobs that the message has ended, or has an update of: whoever waits for them is to be told. First step only. */
      jobs?: JobOfMessage[];
    };

/** What `openStep` is asked about before it is called; `mayGiveWay`, what it goes by, and `message` on a first step only. */
export type StepToPeek = Pick<OpenStep, 'identity' | 'session' | 'invocationId' | 'runKey' | 'step'> &
  Partial<Pick<OpenStep, 'fence' | 'messageDigest' | 'mayGiveWay' | 'message'>>;

/** What `openStep` would append, before it does. */
export interface PeekedStep {
  names: SessionNames;
  /** Nothing: `openStep` would answer this. */
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
  /** Whose calls the responses answer: of a retry, the step that it goes back to. */
  answers?: Pick<StoredEvent, 'runKey' | 'step'>;
  /** What the invocation was asked to be; where it has begun. */
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
