import type { Call, MethodsOf } from '../contract/operation.ts';
import { OPERATOR } from '../contract/operation.ts';
import {
  type CallToCancel,
  cancelCall,
  getStatus,
  type InterruptOptions,
  interruptTurn,
  type ListTurns,
  listTurns,
  type STEERING,
  type TURNS,
  type TurnRow,
} from '../contract/turns.ts';
import type { CancelReceipt, InterruptReceipt } from '../protocol/message.ts';
import type { TurnStatus } from '../protocol/turn.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { Approvals } from './approvals/approvals.ts';
import type { Artifacts } from './artifacts/artifacts.ts';
import { Corpora } from './corpora/corpora.ts';
import { Credentials } from './credentials/credentials.ts';
import { Jobs } from './jobs/jobs.ts';
import { Memories } from './memories/memories.ts';
import type { OutgoingMessage } from './messages/outgoing-message.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import type { AnswerOptions, Confirmed } from './turns/steering.ts';
import type { TurnHandle } from './turns/turn-handle.ts';

/** A message that was sent before, by whomever. */
export interface SentMessage extends SessionNames {
  messageId: string;
}

/**
 * Turns and sessions, whichever way they are reached: `HoldfastClient` speaks to Temporal and the store, `GatewayClient` to
 * the HTTP gateway.
 *
 * @throws StoreNeeded of each method of a `HoldfastClient` without a store, but for messages, turns and orders to them.
 */
export abstract class HoldfastApi implements MethodsOf<typeof TURNS & typeof STEERING> {
  /** Performs an operation by its contract, as the methods do. @internal */
  readonly call: Call;
  /** Create, get, list, delete, fork, rewind and retry. */
  abstract readonly sessions: Sessions;
  /** Requests to people: listed, answered, proved. */
  readonly approvals: Approvals;
  /** Secrets of users, for tools. */
  readonly credentials: Credentials;
  /** Jobs of long-running calls: listed, ended, told of. */
  readonly jobs: Jobs;
  /** Files that agents and users save: listed, read, saved, deleted. */
  abstract readonly artifacts: Artifacts;
  /** Memories of users: searched, added, deleted. */
  readonly memories: Memories;
  /** Documents of apps that agents search: loaded, listed, searched, removed. */
  readonly corpora: Corpora;

  constructor(call: Call) {
    this.call = call;
    this.approvals = new Approvals(call);
    this.credentials = new Credentials(call);
    this.jobs = new Jobs(call);
    this.memories = new Memories(call);
    this.corpora = new Corpora(call);
  }

  abstract sendMessage(message: OutgoingMessage): Promise<TurnHandle>;
  /** Undefined where nobody has heard of the message. Sends nothing. */
  abstract turn(message: SentMessage): Promise<TurnHandle | undefined>;
  abstract follow(names: SessionNames, options?: FollowOptions): AsyncIterable<FollowedEvent>;
  abstract stream(names: SessionNames, options?: FollowOptions): AsyncIterable<StreamItem>;

  /**
   * Turns of sessions, the newest first: all that have not ended, or those that stand as `status` says. The server must know Holdfast's
   * search attributes, which come a moment late and are labels: whoever reaches the namespace can write them.
   *
   * @throws InvalidTurn
   * @example
   * const waiting = await client.turns({ app: 'shop', status: 'waiting_approval' });
   */
  async turns(list: ListTurns = {}): Promise<TurnRow[]> {
    return [...(await this.call(listTurns, list, OPERATOR)).turns];
  }

  /**
   * Cancels one call of the turn that runs; the turn goes on, and its model is told. With no worker up the order is kept
   * for the next one, and is not confirmed.
   *
   * @param call `callKey`, or `callId` where one open call only has it.
   * @throws UnknownCall where no turn runs, or it has no such call.
   * @example
   * await client.cancelCall(names, { callKey, reason: 'takes too long' });
   */
  async cancelCall(names: SessionNames, call: CallToCancel): Promise<Confirmed<CancelReceipt>> {
    return (await this.call(cancelCall, { ...call, ...names }, OPERATOR)) as Confirmed<CancelReceipt>;
  }

  /**
   * Ends the turn that runs, politely: its open calls are answered, its status is `interrupted`, and messages that wait come
   * next. The receipt names no invocation where none was running. With no worker up the order is kept for the next one, and
   * is not confirmed.
   *
   * @param options `invocationId`, a turn handle's, ends this turn only, and nothing where another one runs by then. Defaults
   * to whichever turn runs.
   * @throws InvalidTurn
   * @example
   * await client.interrupt(names, { invocationId: turn.invocationId, reason: 'the customer has hung up' });
   */
  async interrupt(names: SessionNames, options: InterruptOptions = {}): Promise<Confirmed<InterruptReceipt>> {
    return (await this.call(
      interruptTurn,
      { ...options, ...names },
      OPERATOR,
    )) as Confirmed<InterruptReceipt>;
  }

  /**
   * How the turn of a session stands; undefined where none runs.
   *
   * @throws NoAnswer where no worker answers in time; it says whether one polls the task queue.
   * @example
   * const status = await client.status(names);
   */
  async status(names: SessionNames, options: AnswerOptions = {}): Promise<TurnStatus | undefined> {
    const { status } = await this.call(getStatus, { ...options, ...names }, OPERATOR);
    return (status ?? undefined) as TurnStatus | undefined;
  }
}
