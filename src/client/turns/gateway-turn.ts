import { followTurn } from '../../contract/events.ts';
import { getReceipt } from '../../contract/messages.ts';
import { OPERATOR, requestOf } from '../../contract/operation.ts';
import { getTurn } from '../../contract/turns.ts';
import type { TurnResult } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { overHttp } from '../call.ts';
import { GatewayUnreachable } from '../client-errors.ts';
import { type GatewayConnection, isPassing, retryAfter } from '../gateway-connection.ts';
import type { SentMessage } from '../holdfast-api.ts';
import type { Receipt } from '../messages/message-receipt.ts';
import type { FollowOptions } from '../stream/follow-events.ts';
import { type GatewayStream, gatewayStream } from '../stream/gateway-stream.ts';
import type { FollowedEvent, StreamItem } from '../stream/stream-item.ts';
import type { TurnHandle } from './turn-handle.ts';

/** The fields of a gateway's turn that this client reads. Further fields are ignored. */
export type ToldTurn = Pick<
  TurnHandle,
  'workflowId' | 'runId' | 'invocationId' | 'messageId' | 'taskQueue' | 'attached' | 'disposition'
> & {
  /** For a message that answers requests: its receipts. */
  receipt?: Receipt;
};

/** How long one poll waits, seconds. */
const WAIT = 30;

/** A poll that comes back sooner without a result was ended by its gateway, milliseconds. */
const SOON = 1_000;

/** The turn of a message to a session of these names. */
export function gatewayTurn(connection: GatewayConnection, names: SessionNames, told: ToldTurn): TurnHandle {
  const { workflowId, runId, invocationId, messageId, taskQueue, attached, disposition } = told;
  const { app, userId, sessionId } = names;
  const message = { app, userId, sessionId, messageId };
  const events = (partial: boolean, options: FollowOptions = {}): GatewayStream => ({
    ...options,
    operation: followTurn,
    input: message,
    partial,
  });
  return {
    ...{ workflowId, runId, invocationId, messageId, taskQueue, attached, disposition },
    receipt: async (options) =>
      told.receipt ??
      ((await overHttp(connection)(getReceipt, { ...message, ...options }, OPERATOR)) as Receipt),
    result: (options) => awaitTurn(connection, message, options?.signal),
    events: (options) => storedEvents(connection, events(false, options)),
    stream: (options) => gatewayStream(connection, events(true, options)),
  };
}

/** As {@link gatewayStream}, of what is stored. */
export function storedEvents(
  connection: GatewayConnection,
  options: GatewayStream,
): AsyncGenerator<FollowedEvent, void, undefined> {
  return eventsOf(gatewayStream(connection, options));
}

async function* eventsOf(items: AsyncIterable<StreamItem>): AsyncGenerator<FollowedEvent, void, undefined> {
  for await (const item of items) {
    if (item.type !== 'event') continue;
    const { type: _type, ...stored } = item;
    yield stored;
  }
}

/** Polls, however often, until the turn has ended. */
async function awaitTurn(
  connection: GatewayConnection,
  message: SentMessage,
  signal: AbortSignal | undefined,
): Promise<TurnResult> {
  const { path } = requestOf(getTurn, { ...message, wait: WAIT });
  const backoff = connection.backoff();
  for (;;) {
    signal?.throwIfAborted();
    const began = Date.now();
    let wait = 0;
    try {
      const answer = await connection.send(path, { signal });
      wait = retryAfter(answer);
      if (!isPassing(answer) || backoff.isSpent()) {
        const told = await connection.read(answer, signal);
        const body = connection.checked<{ result?: TurnResult }>(getTurn, told);
        backoff.reset();
        if (body.result !== undefined) return body.result;
        if (Date.now() - began > SOON) continue;
      } else {
        await answer.body?.cancel();
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof GatewayUnreachable) || backoff.isSpent()) throw error;
    }
    await backoff.wait(signal, wait);
  }
}
