import { randomUUID } from 'node:crypto';
import { type GatewayAbout, getAbout } from '../contract/about.ts';
import { getEvents } from '../contract/events.ts';
import { sendMessage } from '../contract/messages.ts';
import { OPERATOR } from '../contract/operation.ts';
import { retryTurn } from '../contract/sessions.ts';
import { getTurn } from '../contract/turns.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import { Artifacts } from './artifacts/artifacts.ts';
import { GatewayBytes } from './artifacts/gateway-bytes.ts';
import { overHttp } from './call.ts';
import { checkedInput } from './checked-input.ts';
import { GatewayError } from './client-errors.ts';
import { GatewayConnection, type GatewayConnectionOptions } from './gateway-connection.ts';
import { HoldfastApi, type SentMessage } from './holdfast-api.ts';
import { checkedMessage, type OutgoingMessage } from './messages/outgoing-message.ts';
import { Sessions } from './sessions/sessions.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import { gatewayStream } from './stream/gateway-stream.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import { gatewayTurn, storedEvents, type ToldTurn } from './turns/gateway-turn.ts';
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
export class GatewayClient extends HoldfastApi {
  readonly #connection: GatewayConnection;
  override readonly sessions: Sessions;
  override readonly artifacts: Artifacts;

  /** @throws TypeError for a url that is none. */
  constructor(options: GatewayClientOptions) {
    const connection = new GatewayConnection(options);
    super(overHttp(connection));
    this.#connection = connection;
    this.sessions = new Sessions(this.call, async (retry) =>
      gatewayTurn(connection, retry, (await this.call(retryTurn, retry, OPERATOR)) as ToldTurn),
    );
    this.artifacts = new Artifacts(this.call, new GatewayBytes(connection));
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
    const told = await this.#connection.call<ToldTurn>(sendMessage, message);
    // Answers to requests are for a turn that another message began.
    return gatewayTurn(this.#connection, message, told);
  }

  /** @throws InvalidTurn */
  async turn(message: SentMessage): Promise<TurnHandle | undefined> {
    const { app, userId, sessionId, messageId } = message;
    const input = checkedInput(getTurn, { app, userId, sessionId, messageId });
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
}
