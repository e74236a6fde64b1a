import { ApplicationFailure } from '@temporalio/common';
import type { ErrorCode } from '../contract/error-codes.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import { RESULTS } from '../protocol/activity-results.ts';
import { defined } from '../protocol/json.ts';
import { AGENT_TURN } from '../protocol/names.ts';
import type { TurnError, TurnResult } from '../protocol/turn.ts';
import { usable } from './activities.ts';

/** The end of a turn without an answer. */
export interface EndedTurn {
  invocationId: string;
  status: 'failed' | 'interrupted';
  error?: TurnError;
  /** Absent where the turn's run was ended from outside, before it could say. */
  usage?: TurnUsage;
  /** First and last seq of its events in its session; absent as `usage`. */
  events?: TurnResult['events'];
}

/**
 * The turn has failed: its model can't be asked, a budget is used up, its agent is not deployed. As each of these, it is not to be
 * retried, and fails the workflow where it escapes.
 */
export class AgentTurnFailed extends ApplicationFailure {
  readonly turn: EndedTurn;

  constructor(turn: EndedTurn) {
    super(messageOf(turn, 'the turn failed'), 'AgentTurnFailed' satisfies ErrorCode, true, [turn]);
    this.turn = turn;
  }
}

/** Somebody else has ended the turn: by a message that interrupts, by `interrupt`, by ending its workflow. */
export class AgentTurnInterrupted extends ApplicationFailure {
  readonly turn: EndedTurn;

  constructor(turn: EndedTurn) {
    super(messageOf(turn, 'the turn was interrupted'), 'AgentTurnInterrupted' satisfies ErrorCode, true, [
      turn,
    ]);
    this.turn = turn;
  }
}

/** The session has not taken the message: it answers another one, and the policy is `reject`, or its queue is full. */
export class AgentTurnRejected extends ApplicationFailure {
  constructor(message: string) {
    super(message, 'HOLDFAST_MESSAGE_REJECTED' satisfies ErrorCode, true);
  }
}

/** @throws AgentTurnFailed, AgentTurnInterrupted, and ApplicationFailure where it is no turn's result. */
export function assertCompleted(result: TurnResult): void {
  const turn = usable(`workflow ${AGENT_TURN}`, RESULTS.turn, result);
  const { invocationId, status, events, usage, error } = turn;
  if (status === 'completed') return;
  const ended = { invocationId, status, usage, events, ...defined({ error }) };
  throw status === 'failed' ? new AgentTurnFailed(ended) : new AgentTurnInterrupted(ended);
}

/** A failure's message is not encoded where its details are. */
function messageOf({ invocationId, error }: EndedTurn, otherwise: string): string {
  if (error === undefined) return `${otherwise}: ${invocationId}`;
  return error.concealed
    ? `${error.code}: see the details of this failure`
    : `${error.code}: ${error.message}`;
}

/** The failure of a refused turn, whether this workflow, the turn or its session refuses it. */
export function invalidTurn(message: string, ...details: unknown[]): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, 'InvalidTurn' satisfies ErrorCode, ...details);
}
