import type { Part } from '../../events/content.ts';
import type { Event } from '../../events/event.ts';
import type { PlannedCall, StepOutcome } from '../../protocol/step.ts';
import type { SavedArtifact } from '../artifacts/artifact-store.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { Remembered } from './remembered.ts';

export interface BeginCall {
  session: string;
  runKey: string;
  callKey: string;
  callId: string;
  tool: string;
  /** SHA-256 of the canonical arguments. */
  argsDigest: string;
  /** Asks for the arguments that the ledger keeps. */
  wantArgs: boolean;
  /**
   * For a call that runs when no other of its step does: the state that it gets back has the state deltas of the step's
   * settled calls laid over it, merged in call order as the step will merge them. One round trip more. Defaults to false:
   * the state knows nothing of the step's calls until all of them have settled.
   */
  seesSiblings?: boolean;
  /**
   * When Temporal scheduled the attempt, milliseconds since the epoch by its clock. One that begins after another which was scheduled later
   * stood still meanwhile, and is refused. Left out where no server has scheduled it.
   */
  scheduledAt?: number;
  /** The attempt is one at its step: refused once a later attempt at the run has begun. Defaults to false. */
  isInline?: boolean;
  /** UUID of this beginning: sent again, it is no other attempt. Defaults to a new one. */
  token?: string;
  /**
   * Its tool runs again where nobody knows whether it has run, and nobody is asked: a crash of the database server may forget that the call
   * has begun. Defaults to false.
   */
  isRepeatable?: boolean;
}

export type BegunCall =
  | { kind: 'settled'; response: Record<string, unknown>; failed: boolean; actions: CallActions }
  | {
      kind: 'started';
      names: SessionNames;
      invocationId: string;
      /** The content that started the invocation. */
      userContent: Event['content'];
      state: Record<string, unknown>;
      remembered: Remembered;
      args?: Record<string, unknown>;
      /** How often this call was begun, this time included. */
      attempt: number;
      /** Failures of the tool's own that earlier attempts recorded. */
      failures: number;
      /** Text of the last one that was recorded, where any counts. */
      lastError?: string;
      /** An earlier attempt began and recorded neither failure nor outcome. */
      unknown: boolean;
      once: Record<string, unknown>;
      /** Effects of before-tool callbacks when the call was planned. */
      prepared?: CallActions;
    };

/** A call as its step has planned it, and which agent it was. */
export interface CallAsPlanned extends PlannedCall {
  by: Pick<Extract<StepOutcome, { kind: 'calls' }>, 'agent' | 'root' | 'place'>;
}

/** A call as the ledger has it. */
export interface KnownCall {
  settled: boolean;
  /** How often it was begun. */
  attempts: number;
  /** One of them has recorded neither failure nor outcome, unless the call is settled. */
  unknown: boolean;
  once: Record<string, unknown>;
  /** Effects of before-callbacks when the call was planned. */
  prepared?: CallActions;
}

/** Actions of a call that leave a trace in its ledger row. */
export interface CallActions {
  stateDelta?: Record<string, unknown>;
  artifactDelta?: Record<string, number>;
  /** Versions of artifacts that are recorded when the call settles. */
  artifacts?: readonly SavedArtifact[];
  skipSummarization?: boolean;
  transferToAgent?: string;
  escalate?: boolean;
  /** The response's part is marked as trusted. */
  trusted?: true;
}

export interface SettleCall {
  session: string;
  callKey: string;
  response: Record<string, unknown>;
  failed: boolean;
  actions: CallActions;
  /** Sent after the response: `inlineData` of a result that is media. */
  parts?: Part[];
  /** The response is what is known by now: the call's job goes on, and will have another one. */
  willContinue?: true;
  /** For the operator; never given to the model. */
  stack?: string;
  /** UUID of this outcome: sent again, it is still the first one where it was. Defaults to a new one. */
  token?: string;
}

/** The outcome that counts: this one, or the one that settled first. */
export interface SettledCall {
  first: boolean;
  response: Record<string, unknown>;
  failed: boolean;
  actions: CallActions;
}

export interface AskedOnce {
  session: string;
  callKey: string;
  key: string;
  /** As it was answered when the attempt of the call began; left out by those who are none. */
  attempt?: number;
}

/** The ledger of calls. The first outcome wins. */
export interface CallStore {
  /** @throws HOLDFAST_ATTEMPT_REPLACED where an attempt that was scheduled later has begun. */
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
   * The value that `recordOnce` has under this key by now, if any. Asked right before the action whose result would be recorded.
   *
   * @throws HOLDFAST_ATTEMPT_REPLACED where the attempt isn't the call's newest, or the call is settled.
   */
  askOnce(asked: AskedOnce): Promise<unknown>;
  /** All values that `recordOnce` has of a call, or of a step. */
  readOnce(call: { session: string; callKey: string }): Promise<Record<string, unknown>>;
  /** Changes nothing. Undefined for a call that was not begun, and whose arguments the ledger doesn't keep. */
  findCall(call: { session: string; callKey: string }): Promise<KnownCall | undefined>;
  /** A call as its step has planned it; undefined for one that nobody has planned, or that was answered when it was. */
  findPlannedCall(call: { session: string; callKey: string }): Promise<CallAsPlanned | undefined>;
  /**
   * A call's arguments as a person has changed them, or was shown them last; else as they were planned, which before-callbacks have
   * had by then where its tool has a gate. Undefined where none is planned.
   */
  callArguments(call: { session: string; callKey: string }): Promise<Record<string, unknown> | undefined>;
  /** A call's recorded response or arguments, or an invocation's outcome content, by its reference's key. */
  readReference(names: SessionNames, key: string): Promise<unknown>;
  /** Ids of calls in the newest 100 events that no worker runs: the session's client answers them. */
  findClientCalls(names: SessionNames): Promise<string[]>;
}
