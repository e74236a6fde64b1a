import type { DecisionReceipt } from '../contract/approvals.ts';
import { codedError, HoldfastError, type HoldfastErrorOptions } from '../contract/error.ts';
import type { JobAnswer } from '../contract/jobs.ts';
import type { RequestStatus } from '../contract/requests.ts';
import type { MessageReceipt } from '../protocol/message.ts';

/** The input names no turn, session or call that could exist, or no message. Nothing was sent. */
export class InvalidTurn extends codedError('HOLDFAST_INVALID_TURN') {}

/** A message is too large to travel, and there is no store to keep it. */
export class MessageTooLarge extends codedError('HOLDFAST_MESSAGE_TOO_LARGE') {}

/** A message was not taken: the session answers another one, its queue is full, or the message id is used. */
export class MessageRejected extends codedError('HOLDFAST_MESSAGE_REJECTED') {
  declare readonly details?: { receipt?: MessageReceipt };

  /** The answer of the running turn, when it was asked. */
  get receipt(): MessageReceipt | undefined {
    return this.details?.receipt;
  }
}

/** The operation reads the store, and the client has no store. */
export class StoreNeeded extends codedError('HOLDFAST_STORE_NEEDED') {}

/** A turn of the session runs, and what was asked for would take its ground away. */
export class TurnRunning extends codedError('HOLDFAST_TURN_RUNNING') {}

/** No worker has answered in time. */
export class NoAnswer extends codedError('HOLDFAST_NO_ANSWER') {}

/** A reader was too slow for a live stream. Stored events are not lost: read on after {@link after}. */
export class FollowerTooSlow extends codedError('HOLDFAST_FOLLOWER_TOO_SLOW') {
  /**
   * The last seq that the reader was given, or began after; a place where agents of calls were under way. Another
   * follower goes on `after` it.
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
export class UnknownCall extends codedError('HOLDFAST_UNKNOWN_CALL') {}

/** How a request has ended. */
export interface EndedRequest {
  requestId: string;
  status: Exclude<RequestStatus, 'pending'>;
  /** Milliseconds since the epoch; absent where it is not recorded. */
  at?: number;
}

/** A request has ended, by an answer or without one: nothing was changed. */
export class RequestNotPending extends codedError('HOLDFAST_REQUEST_NOT_PENDING') {
  declare readonly details?: { request?: EndedRequest };

  /** Its receipt, if that is known. */
  get request(): EndedRequest | undefined {
    return this.details?.request;
  }
}

/** There is no such request. */
export class RequestNotFound extends codedError('HOLDFAST_REQUEST_NOT_FOUND') {}

/** Several pending requests fit what was named. */
export class AmbiguousRequest extends codedError('HOLDFAST_AMBIGUOUS_REQUEST') {
  declare readonly details?: { requestIds?: readonly string[] };

  /** Of those that fit. */
  get requestIds(): readonly string[] {
    return this.details?.requestIds ?? [];
  }
}

/** A decision doesn't count; the message says why, and the request is as it was. */
export class DecisionRefused extends codedError('HOLDFAST_DECISION_REFUSED') {
  declare readonly details?: { receipt?: DecisionReceipt };

  get receipt(): DecisionReceipt | undefined {
    return this.details?.receipt;
  }
}

/** There is no such job, or none any more: those of a deleted session are gone with it. */
export class JobNotFound extends codedError('HOLDFAST_JOB_NOT_FOUND') {}

/** The input about a job can't be taken: nothing was changed. */
export class InvalidJob extends codedError('HOLDFAST_INVALID_JOB') {}

/** The gateway's word for progress of a job that has ended; a `GatewayClient` gives the answer in it. */
export class JobHasEnded extends codedError('HOLDFAST_JOB_ENDED') {
  declare readonly details?: { job?: JobAnswer };

  get answer(): JobAnswer | undefined {
    return this.details?.job;
  }
}

/** Temporal doesn't answer, or refuses the client. Only a passing failure has this class. */
export class TemporalUnreachable extends codedError('HOLDFAST_TEMPORAL_UNREACHABLE') {
  /** Of the configured server, where a process that starts can't reach it. */
  declare readonly address?: string;

  constructor(
    message: string,
    { address, ...options }: HoldfastErrorOptions & { address?: string | undefined } = {},
  ) {
    super(message, options);
    if (address !== undefined) this.address = address;
  }
}

/** The gateway has answered with an error that has no class of its own. */
export class GatewayError extends HoldfastError {
  override readonly name = 'GatewayError';
  /** Of the HTTP answer; 0 where an event of a stream told it. */
  override readonly status: number;

  /** @param code as the gateway gave it. */
  constructor(code: string, message: string, status: number) {
    super(code, message);
    this.status = status;
  }
}

/** The gateway can't be reached, or something that is no gateway answers in its place. */
export class GatewayUnreachable extends codedError('HOLDFAST_GATEWAY_UNREACHABLE') {
  readonly url: string;

  constructor(url: string, reason: string, options?: ErrorOptions) {
    super(`the gateway at ${url} ${reason}`, options);
    this.url = url;
  }
}
