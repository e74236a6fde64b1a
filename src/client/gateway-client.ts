import { randomUUID } from 'node:crypto';
import type { GatewayAbout } from '../contract/about.ts';
import { getEvents } from '../contract/events.ts';
import { depthProblem } from '../contract/message-limits.ts';
import type { CancelReceipt, InterruptReceipt } from '../protocol/message.ts';
import type { TurnStatus } from '../protocol/turn.ts';
import type { SessionNames } from '../store/sessions/session-names.ts';
import { SessionNotFound } from '../store/store-errors.ts';
import { GatewayApprovals } from './approvals/gateway-approvals.ts';
import { GatewayError, InvalidTurn } from './client-errors.ts';
import { GatewayCredentials } from './credentials/gateway-credentials.ts';
import { GatewayConnection, type GatewayConnectionOptions } from './gateway-connection.ts';
import { sessionPath, turnPath, withQuery } from './gateway-paths.ts';
import type { HoldfastApi, SentMessage } from './holdfast-api.ts';
import { GatewayJobs } from './jobs/gateway-jobs.ts';
import type { OutgoingMessage } from './messages/outgoing-turn.ts';
import { GatewaySessions } from './sessions/gateway-sessions.ts';
import type { FollowOptions } from './stream/follow-events.ts';
import { gatewayStream } from './stream/gateway-stream.ts';
import type { FollowedEvent, StreamItem } from './stream/stream-item.ts';
import { answerQuery, gatewayTurn, storedEvents, type ToldTurn } from './turns/gateway-turn.ts';
import type { AnswerOptions, CallToCancel, Confirmed, InterruptOptions } from './turns/steering.ts';
import type { TurnHandle } from './turns/turn-handle.ts';
import { sessionNamesOf } from './turns/turn-names.ts';

/** Options of {@link GatewayClient}. */
export type GatewayClientOptions = GatewayConnectionOptions;

/**
 * Turns and sessions through the HTTP gateway: the same methods as `HoldfastClient`, with the same errors, without Temporal and
 * store at hand. What awaits or follows a turn survives a gateway that restarts; what asks once doesn't wait for it.
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

  /** @throws TypeError for a url that is none. */
  constructor(options: GatewayClientOptions) {
    this.#connection = new GatewayConnection(options);
    this.sessions = new GatewaySessions(this.#connection);
    this.approvals = new GatewayApprovals(this.#connection);
    this.credentials = new GatewayCredentials(this.#connection);
    this.jobs = new GatewayJobs(this.#connection);
  }

  /** What the gateway says of itself. */
  async about(options: { signal?: AbortSignal } = {}): Promise<GatewayAbout> {
    return await this.#connection.ask<GatewayAbout>('/v1/about', { signal: options.signal });
  }

  /**
   * As `HoldfastClient.sendMessage`. Sent again, under the same id, while the gateway can't be reached, a few times.
   *
   * @throws MessageRejected, NoAnswer, InvalidTurn
   * @throws RequestNotPending, RequestNotFound, AmbiguousRequest, DecisionRefused where it answers requests.
   */
  async sendMessage(given: OutgoingMessage): Promise<TurnHandle> {
    const { app, userId, sessionId, message, policy, agent, rootAgent, stateDelta, runConfig } = given;
    const { attestation, priority } = given;
    const names = { app, userId, sessionId };
    const messageId = given.messageId ?? randomUUID();
    turnPath(names, messageId, 'sendMessage');
    checkDepth({ message, stateDelta });
    const body = {
      ...{ messageId, message, policy, agent, rootAgent, stateDelta, runConfig, attestation, priority },
    };
    const sent = `${sessionPath(names, 'sendMessage')}/messages`;
    const told = await this.#connection.askAgain<ToldTurn>(sent, { method: 'POST', body });
    // What answers requests is for a turn that another message began.
    return gatewayTurn(this.#connection, names, told);
  }

  /** @throws InvalidTurn */
  async turn({ messageId, ...names }: SentMessage): Promise<TurnHandle | undefined> {
    const path = turnPath(names, messageId, 'turn');
    try {
      return gatewayTurn(this.#connection, names, await this.#connection.ask<ToldTurn>(path));
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

  /** @throws UnknownCall, InvalidTurn */
  async cancelCall(names: SessionNames, call: CallToCancel): Promise<Confirmed<CancelReceipt>> {
    const { callKey, callId, reason } = call;
    const path = withQuery(`${sessionPath(names, 'cancelCall')}/cancel-call`, answerQuery(call));
    return await this.#connection.ask(path, { method: 'POST', body: { callKey, callId, reason } });
  }

  /** @throws InvalidTurn */
  async interrupt(names: SessionNames, options: InterruptOptions = {}): Promise<Confirmed<InterruptReceipt>> {
    const { reason, invocationId } = options;
    const path = withQuery(`${sessionPath(names, 'interrupt')}/interrupt`, answerQuery(options));
    return await this.#connection.ask(path, { method: 'POST', body: { reason, invocationId } });
  }

  /** @throws NoAnswer, InvalidTurn */
  async status(names: SessionNames, options: AnswerOptions = {}): Promise<TurnStatus | undefined> {
    const path = withQuery(`${sessionPath(names, 'status')}/status`, answerQuery(options));
    const { status } = await this.#connection.ask<{ status: TurnStatus | null }>(path);
    return status ?? undefined;
  }
}

/** What can't be written as JSON is found before it is tried. */
function checkDepth(fields: Record<string, unknown>): void {
  for (const [field, value] of Object.entries(fields)) {
    const problem = depthProblem(value);
    if (problem !== undefined) throw new InvalidTurn(`sendMessage: ${field}: ${problem}`);
  }
}
