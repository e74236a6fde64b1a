import { activityInfo, Context } from '@temporalio/activity';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { InvalidTurn, MessageRejected, MessageTooLarge } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { ErrorCode } from '../../src/contract/error-codes.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { defined } from '../../src/protocol/json.ts';
import type { AwaitTurnInput } from '../../src/protocol/own-workflow.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { type Attempt, retryLater } from '../attempt.ts';
import { afterTime } from '../deadline.ts';
import type { ActivityDependencies } from '../dependencies.ts';

/** How long one attempt waits: turns that wait for people take no place of a worker's activities meanwhile. Milliseconds. */
const LOOK = 10_000;
/** Until the next one, at most. Milliseconds. */
const LONGEST_PAUSE = 30_000;

/**
 * `holdfast.awaitTurn`: gives a message to a session that answers another one, as a client does, and waits for its turn's end. A turn
 * that takes long is looked at by one attempt after another, which adds nothing to a history. Its cancellation ends the turn.
 */
export async function awaitTurn(
  dependencies: ActivityDependencies,
  input: AwaitTurnInput,
  current: Attempt,
): Promise<TurnResult> {
  const turn = await sent(dependencies, input);
  const time = afterTime(LOOK);
  try {
    return await resultOf(turn, AbortSignal.any([current.signal, time.signal]));
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    if (!time.signal.aborted) throw refusalIn(error);
    const delay = Math.min(1_000 * activityInfo().attempt, LONGEST_PAUSE);
    throw retryLater('HOLDFAST_TURN_PENDING', 'the turn goes on', { delay, benign: true });
  } finally {
    time.clear();
  }
}

/** A message that an earlier attempt has sent is not sent again: it would be one event more in its run's history. */
async function sent(
  dependencies: ActivityDependencies,
  { turn, policy }: AwaitTurnInput,
): Promise<TurnHandle> {
  const client = clientHere(dependencies);
  const { app, userId, sessionId, messageId, v: _v, ...message } = turn;
  const names = { app, userId, sessionId, messageId };
  try {
    const known = activityInfo().attempt === 1 ? undefined : await client.turn(names);
    if (known !== undefined) return known;
    const outgoing = { ...names, ...message, ...defined({ policy }) };
    return await client.sendMessage(outgoing as OutgoingMessage);
  } catch (error) {
    throw refusalIn(error);
  }
}

async function resultOf(turn: TurnHandle, signal: AbortSignal): Promise<TurnResult> {
  try {
    return await turn.result({ signal });
  } catch (error) {
    if (!(error instanceof WorkflowFailedError) || error.cause instanceof ApplicationFailure) throw error;
    return {
      v: PROTOCOL_VERSION,
      invocationId: turn.invocationId,
      status: 'interrupted',
      error: endOf(error.cause),
      events: { from: 0, to: 0 },
      usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    };
  }
}

function endOf(cause: Error | undefined): { code: ErrorCode; message: string } {
  if (cause instanceof TimeoutFailure)
    return { code: 'TIMED_OUT', message: 'the run of the turn has timed out' };
  const code = cause instanceof CancelledFailure ? 'CANCELLED' : 'TERMINATED';
  return { code, message: 'the run of the turn was ended from outside' };
}

/** Its turns run where this activity does. */
function clientHere({ store, searchAttributes }: ActivityDependencies): HoldfastClient {
  const { client: temporal } = Context.current();
  return new HoldfastClient({ temporal, store, searchAttributes, taskQueue: activityInfo().taskQueue });
}

/** A refusal isn't retried: it would be refused again. */
function refusalIn(error: unknown): unknown {
  const isRefusal =
    error instanceof MessageRejected || error instanceof InvalidTurn || error instanceof MessageTooLarge;
  return isRefusal ? ApplicationFailure.nonRetryable(error.message, error.code) : error;
}
