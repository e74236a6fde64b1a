import type { GateKind } from '../../contract/requests.ts';
import type { ChainFence, InvocationStatus } from '../../protocol/agent-run.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { CallStore } from './call-store.ts';
import type { ChildStore } from './child-store.ts';
import type { StepStore } from './step-store.ts';

/** How many turns may run at the same time; what is left out is not limited. */
export interface TurnQuota {
  perApp?: number;
  perUser?: number;
}

/** `full`: how many run of the turn's app and of its user. */
export type TurnSlot = { kind: 'taken' } | { kind: 'full'; ofApp: number; ofUser: number };

/** The turns of an app that wait for people or for jobs. A turn may wait for several kinds. */
export interface WaitingTurns {
  app: string;
  kind: GateKind | 'job';
  turns: number;
  /** How long the oldest of their waits has lasted, milliseconds. */
  longestMs: number;
}

/** The outcome of an invocation. */
export interface RecordedInvocation {
  session: string;
  invocationId: string;
  messageId: string;
  /** Of its message as it was sent. */
  messageDigest?: string;
  status: InvocationStatus;
  from: number;
  to: number;
  outcome?: InvocationOutcome;
  /** Attested sender of its message. */
  requester?: string;
}

/** Turns: their steps, their calls, the agents below them, and how many may run. */
export interface TurnStore extends StepStore, CallStore, ChildStore {
  findInvocation(names: SessionNames, invocationId: string): Promise<RecordedInvocation | undefined>;
  waiting(): Promise<WaitingTurns[]>;
  /** The newest chain that has written to a session. */
  newestFence(names: SessionNames): Promise<ChainFence | undefined>;
  /** The newest step that a run has begun; 0 for a run that is not in the store. */
  latestStep(run: { session: string; runKey: string }): Promise<number>;
  /**
   * Has a turn run that is about to begin, unless as many run of its app or of its user as may. One that is under way, or has
   * ended, may always go on. A turn's slot is freed with its end; it lapses where nothing has happened in the turn for 10
   * minutes. Repeating it changes nothing.
   */
  takeSlot(take: SessionNames & { invocationId: string; quota: TurnQuota }): Promise<TurnSlot>;
  /** Frees the slot of a turn that the store will hear no more of. */
  freeSlot(free: SessionNames & { invocationId: string }): Promise<void>;
  /**
   * Records that a model's provider has refused a request because there were too many. Until the model may be asked again
   * `openStep` tells everybody so. Where the provider names no time it is 1 second after the first refusal in a row, twice as
   * long after each further one, 60 seconds at most; refusals of requests that were under way by then count as one.
   *
   * @returns how long from now on, milliseconds.
   */
  limitModel(limit: { key: string; retryAfterMs?: number | undefined }): Promise<number>;
  /** A model that was limited has answered again: its next refusal is the first in a row. */
  modelAnswered(key: string): Promise<void>;
}
