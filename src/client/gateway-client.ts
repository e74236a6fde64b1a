import { randomUUID } from 'node:crypto';
import { type GatewayAbout, getAbout } from '../contract/about.ts';
import { getEvents } from '../contract/events.ts';
import { sendMessage } from '../contract/messages.ts';
import {
  type CallToCancel,
  cancelCall,
  getStatus,
  getTurn,
  type InterruptOptions,
  interruptTurn,
  type ListTurns,
  listTurns,
  type TurnRow,
} from '../contract/turns.ts';
import type { CancelReceipt, InterruptReceipt } from '../protocol/message.ts';
import type { TurnStatus } from '../protocol/turn.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import { GatewayApprovals } from './approvals/gateway-approvals.ts';
import { GatewayArtifacts } from './artifacts/gateway-artifacts.ts';
import { checkedInput } from './checked-input.ts';
import { GatewayError } from './client-errors.ts';
import { GatewayCredentials } from './credentials/gateway-credentials.ts';
import { GatewayConnection, type GatewayConnectionOptions } from './gateway-connection.ts';
import type { HoldfastApi, SentMessage } from './holdfast-api.ts';
import { GatewayJobs } from './jobs/gateway-jobs.ts';
import { GatewayMemories } from './memories/gateway-memories.ts';
import { checkedMessage, type OutgoingMessage } from './messages/outgoing-message.ts';
import { GatewaySessions } from './sessions/gateway-sessions.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import { gatewayStream } from './stream/gateway-stream.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import { checkedCall, checkedInterrupt } from './turns/checked-order.ts';
import { answerQuery, gatewayTurn, storedEvents, type ToldTurn } from './turns/gateway-turn.ts';
import type { AnswerOptions, Confirmed } from './turns/steering.ts';
import type { TurnHandle } from './turns/turn-handle.ts';
import { sessionNamesOf } from './turns/turn-names.ts';

/** Options of {@link GatewayClient}. */
export type GatewayClientOptions = GatewayConnectionOptions;

/**
 * Turns and sessions through the HTTP gateway: the same methods as `HoldfastClient`, with the same errors, without Temporal and
 * store at hand. Awaiting and following a turn survive a gateway that restarts; a single request doesn't wait for it.
 *
 * @throws GatewayUnreachable of each method, where the gateway can't be reached.
 * @throws GatewayError of each method, for an answer that has no class of its own: a wrong token, a body that is too large.
 * @example
 * const client = new GatewayClient({ url: 'http://127.0.0.1:8471', token });
 * const turn = await client.sendMessage({ app: 'shop', userId: 'ada', sessionId: 's1', message: 'Where is my order?' });
 * const { status, text } = await turn.result();
 */
export class GatewayClient implements HoldfastApi {
  readonly #connection: GatewayConnection;
  readonly sessions: GatewaySessions;
  readonly approvals: GatewayApprovals;
  readonly credentials: GatewayCredentials;
  readonly jobs: GatewayJobs;
  readonly artifacts: GatewayArtifacts;
  /** Memories of users: searched, added, deleted. */
  readonly memories: GatewayMemories;

  /** @throws TypeError for a url that is none. */
  constructor(options: GatewayClientOptions) {
    this.#connection = new GatewayConnection(options);
    this.sessions = new GatewaySessions(this.#connection);
    this.approvals = new GatewayApprovals(this.#connection);
    this.credentials = new GatewayCredentials(this.#connection);
    this.jobs = new GatewayJobs(this.#connection);
    this.artifacts = new GatewayArtifacts(this.#connection);
    this.memories = new GatewayMemories(this.#connection);
  }

  /** Version, operations and served agents of the gateway. */
  async about(options: { signal?: AbortSignal } = {}): Promise<GatewayAbout> {
    return await this.#connection.call<GatewayAbout>(getAbout, {}, { signal: options.signal });
  }

  /**
   * As `HoldfastClient.sendMessage`. Sent again, under the same id, while the gateway can't be reached, a few times.
   *
   * @throws MessageRejected, NoAnswer, InvalidTurn
   * @throws RequestNotPending, RequestNotFound, AmbiguousRequest, DecisionRefused where it answers requests.
   */
  async sendMessage(given: OutgoingMessage): Promise<TurnHandle> {
    const message = { messageId: randomUUID(), ...checkedMessage(given) };
    const told = await this.#connection.callWithRetry<ToldTurn>(sendMessage, message);
    // Answers to requests are for a turn that another message began.
    return gatewayTurn(this.#connection, message, told);
  }

  /** @throws InvalidTurn */
  async turn(message: SentMessage): Promise<TurnHandle | undefined> {
    const { app, userId, sessionId, messageId } = message;
    const { input } = checkedInput(getTurn, { app, userId, sessionId, messageId });
    try {
      return gatewayTurn(this.#connection, input, await this.#connection.call<ToldTurn>(getTurn, input));
    } catch (error) {
      if (error instanceof SessionNotFound) return undefined;
      if (error instanceof GatewayError && error.code === 'HOLDFAST_GATEWAY_NO_SUCH_TURN') return undefined;
      throw error;
    }
  }

  /** @throws InvalidTurn */
  follow(names: SessionNames, options: FollowOptions = {}): AsyncIterable<FollowedEvent> {
    const input = sessionNamesOf(names, 'follow');
    return storedEvents(this.#connection, {
      ...options,
      operation: getEvents,
      input: { ...input },
      partial: false,
    });
  }

  /** @throws InvalidTurn, FollowerTooSlow */
  stream(names: SessionNames, options: FollowOptions = {}): AsyncIterable<StreamItem> {
    const input = sessionNamesOf(names, 'stream');
    return gatewayStream(this.#connection, {
      ...options,
      operation: getEvents,
      input: { ...input },
      partial: true,
    });
  }

  /** @throws InvalidTurn */
  async turns(list: ListTurns = {}): Promise<TurnRow[]> {
    const { input } = checkedInput(listTurns, list);
    return (await this.#connection.call<{ turns: TurnRow[] }>(listTurns, input)).turns;
  }

  /** @throws UnknownCall, InvalidTurn */
  async cancelCall(names: SessionNames, call: CallToCancel): Promise<Confirmed<CancelReceipt>> {
    return await this.#connection.call(cancelCall, { ...checkedCall(names, call), ...answerQuery(call) });
  }

  /** @throws InvalidTurn */
  async interrupt(names: SessionNames, options: InterruptOptions = {}): Promise<Confirmed<InterruptReceipt>> {
    const order = { ...checkedInterrupt(names, options), ...answerQuery(options) };
    return await this.#connection.call(interruptTurn, order);
  }

  /** @throws NoAnswer, InvalidTurn */
  async status(names: SessionNames, options: AnswerOptions = {}): Promise<TurnStatus | undefined> {
    const input = { ...sessionNamesOf(names, getStatus.name), ...answerQuery(options) };
    const { status } = await this.#connection.call<{ status: TurnStatus | null }>(getStatus, input);
    return status ?? undefined;
  }
}
