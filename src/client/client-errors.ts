import type { DecisionReceipt, RequestStatus } from '../protocol/gate.ts';
import type { MessageReceipt } from '../protocol/message.ts';

/** What was given names no turn, session or call that could exist, or no message. Nothing was sent. */
export class InvalidTurn extends TypeError {
  readonly code = 'HOLDFAST_INVALID_TURN';
  override readonly name = 'InvalidTurn';
}

/** A message is too large to travel, and there is no store to keep it. */
export class MessageTooLarge extends Error {
  readonly code = 'HOLDFAST_MESSAGE_TOO_LARGE';
  override readonly name = 'MessageTooLarge';
}

/** A message was not taken: the session answers another one, its queue is full, or the message id is used. */
export class MessageRejected extends Error {
  readonly code = 'HOLDFAST_MESSAGE_REJECTED';
  override readonly name = 'MessageRejected';
  /** What the turn that runs said to it, where it was asked. */
  readonly receipt: MessageReceipt | undefined;

  constructor(message: string, receipt?: MessageReceipt) {
    super(message);
    this.receipt = receipt;
  }
}

/** What was asked for is in the store, and the client has none. */
export class StoreNeeded extends Error {
  readonly code = 'HOLDFAST_STORE_NEEDED';
  override readonly name = 'StoreNeeded';
}

/** A turn of the session runs, and what was asked for would take its ground away. */
export class TurnRunning extends Error {
  readonly code = 'HOLDFAST_TURN_RUNNING';
  override readonly name = 'TurnRunning';
}

/** No worker has answered in time. */
export class NoAnswer extends Error {
  readonly code = 'HOLDFAST_NO_ANSWER';
  override readonly name = 'NoAnswer';
}

/** A reader has not kept up with what is told live. What is stored is not lost: read on after {@link after}. */
export class FollowerTooSlow extends Error {
  readonly code = 'HOLDFAST_FOLLOWER_TOO_SLOW';
  override readonly name = 'FollowerTooSlow';
  /**
   * The last seq that the reader was given, or began after; a place where agents of calls were under way. What is followed again
   * goes on `after` it.
   */
  readonly after: number | string;

  constructor(after: number | string) {
    super(
      `the reader has fallen too far behind what is told live, and is cut off: resume with \`after: ${JSON.stringify(after)}\``,
    );
    this.after = after;
  }
}

/** The turn runs no such call, or no turn runs. */
export class UnknownCall extends Error {
  readonly code = 'HOLDFAST_UNKNOWN_CALL';
  override readonly name = 'UnknownCall';
}

/** How a request has ended. */
export interface EndedRequest {
  requestId: string;
  status: Exclude<RequestStatus, 'pending'>;
  /** Milliseconds since the epoch; absent where it is not recorded. */
  at?: number;
}

/** A request has ended, by an answer or without one: nothing was changed. */
export class RequestNotPending extends Error {
  readonly code = 'HOLDFAST_REQUEST_NOT_PENDING';
  override readonly name = 'RequestNotPending';
  /** What became of it, where that is known. */
  readonly request: EndedRequest | undefined;

  constructor(message: string, request?: EndedRequest) {
    super(message);
    this.request = request;
  }
}

/** There is no such request. */
export class RequestNotFound extends Error {
  readonly code = 'HOLDFAST_REQUEST_NOT_FOUND';
  override readonly name = 'RequestNotFound';
}

/** Several pending requests fit what was named. */
export class AmbiguousRequest extends Error {
  readonly code = 'HOLDFAST_AMBIGUOUS_REQUEST';
  override readonly name = 'AmbiguousRequest';
  /** Of those that fit. */
  readonly requestIds: readonly string[];

  constructor(message: string, requestIds: readonly string[] = []) {
    super(message);
    this.requestIds = requestIds;
  }
}

/** A decision doesn't count; the message says why, and the request is as it was. */
export class DecisionRefused extends Error {
  readonly code = 'HOLDFAST_DECISION_REFUSED';
  override readonly name = 'DecisionRefused';
  readonly receipt: DecisionReceipt | undefined;

  constructor(message: string, receipt?: DecisionReceipt) {
    super(message);
    this.receipt = receipt;
  }
}
