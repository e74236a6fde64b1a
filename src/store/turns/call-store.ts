import type { Part } from '../../events/content.ts';
import type { Event } from '../../events/event.ts';
import type { PlannedCall, StepOutcome } from '../../protocol/step.ts';
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
  /** UUID of this beginning: sent again, it is no other attempt. Defaults to a new one. */
  token?: string;
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
      /** What before-tool callbacks did when the call was planned. */
      prepared?: CallActions;
    };

/** A call as its step has planned it, and which agent it was. */
export interface CallAsPlanned extends PlannedCall {
  by: Pick<Extract<StepOutcome, { kind: 'calls' }>, 'agent' | 'root' | 'place'>;
}

/** What the ledger has of a call by now. */
export interface KnownCall {
  settled: boolean;
  /** How often it was begun. */
  attempts: number;
  once: Record<string, unknown>;
  /** What before-callbacks did when the call was planned. */
  prepared?: CallActions;
}

/** Actions of a call that leave a trace in its ledger row. */
export interface CallActions {
  stateDelta?: Record<string, unknown>;
  artifactDelta?: Record<string, number>;
  skipSummarization?: boolean;
  transferToAgent?: string;
  escalate?: boolean;
}

export interface SettleCall {
  session: string;
  callKey: string;
  response: Record<string, unknown>;
  failed: boolean;
  actions: CallActions;
  /** Sent behind the response: `inlineData` of a result that is media. */
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
