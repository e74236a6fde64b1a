import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { Content } from '../../events/content.ts';
import { findEventByFunctionCallId } from '../../events/request-calls.ts';
import { callKeyOfRequest } from '../../protocol/gate.ts';
import type { SendMessage } from '../../protocol/message.ts';
import { PAYLOAD_LIMIT } from '../../protocol/sizes.ts';
import type { AgentTurnStart } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { activeTrace } from '../active-trace.ts';
import { answeredRequest } from '../approvals/find-request.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn, MessageTooLarge } from '../client-errors.ts';
import type { TurnNames } from '../turns/turn-names.ts';
import type { OutgoingMessage } from './outgoing-message.ts';
import { replyParts } from './reply-parts.ts';
import { sealedReplies } from './seal-replies.ts';

/** Events among which the call is looked for that a response answers. */
const RECENT_EVENTS = 200;

/** A turn in the forms in which it crosses Temporal. */
export interface OutgoingTurn {
  names: TurnNames;
  start: AgentTurnStart & { messageId: string };
  /** Payload of signal and update; a retry has no message of its own. */
  message?: SendMessage;
  /** Its content was put into the store for this sending, where there was none of it. */
  uploaded?: boolean;
}

/**
 * Puts a message that is too large to travel into the store, and the secrets of those that answer requests for credentials.
 *
 * @throws InvalidTurn, MessageTooLarge, and what `credentials.put` throws.
 */
export async function outgoingTurn(
  context: ClientContext,
  names: TurnNames,
  given: OutgoingMessage,
): Promise<OutgoingTurn> {
  const { store } = context;
  const { session, messageId } = names;
  const { app: _app, userId: _user, sessionId: _session, messageId: _id, ...said } = given;
  const { message: plain, stateDelta, policy, ...terms } = said;
  const message = await sealedReplies(context, session, plain);
  const withDelta = stateDelta === undefined ? {} : { stateDelta };
  const bytes = messageBytes([message, stateDelta]);
  let content: Pick<SendMessage, 'message' | 'stored' | 'stateDelta'> = { message, ...withDelta };
  let uploaded = false;
  // The turn that waits takes what travels for answers to its requests; what the store keeps is the message of a turn.
  const answersOwnCode = await answersCallsOfOwnCode(store, session, message);
  if (bytes > PAYLOAD_LIMIT || answersOwnCode) {
    if (replyParts(message).length > 0 && !answersOwnCode) {
      throw invalid(
        'message',
        'what answers requests goes in a message of its own, of at most 64 KiB of JSON',
      );
    }
    if (store === undefined) throw tooLarge(bytes);
    uploaded = !(await isKept(store, names));
    content = { stored: await store.messages.upload({ ...session, messageId, message, ...withDelta }) };
  }
  const common = {
    v: PROTOCOL_VERSION,
    messageId,
    ...content,
    ...terms,
    ...activeTrace(),
  };
  return {
    names,
    start: { ...common, ...session },
    message: policy === undefined ? common : { ...common, policy },
    uploaded,
  };
}

/**
 * Whether all that looks like answers to requests answers calls of such names that an agent's own code has yielded: no request of ours
 * waits, and as in ADK the next turn is the agent's, which reads the responses itself.
 */
async function answersCallsOfOwnCode(
  store: Store | undefined,
  names: SessionNames,
  message: string | Content,
): Promise<boolean> {
  const ids = replyParts(message).map(({ id = '' }) => id);
  if (store === undefined || ids.length === 0 || ids.some((id) => callKeyOfRequest(id) !== undefined))
    return false;
  const { events = [] } = (await store.sessions.get({ ...names, numRecentEvents: RECENT_EVENTS })) ?? {};
  const ofOwnCode = events.filter(({ kind }) => kind === 'callback').map(({ event }) => event);
  if (ids.some((id) => findEventByFunctionCallId(ofOwnCode, id) === undefined)) return false;
  const requests = await Promise.all(ids.map((id) => answeredRequest(store, names, id)));
  return requests.every((request) => request === undefined);
}

/** Somebody else has sent a message of this id, or is about to, and needs its content. */
async function isKept(store: Store, { session, invocationId }: TurnNames): Promise<boolean> {
  const row = await store.messages.findWaiting(session, invocationId);
  return row?.status === 'waiting' || row?.status === 'uploaded';
}

function messageBytes(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    const problem = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
    throw invalid('message', `expected JSON: ${problem}`);
  }
}

function invalid(field: string, problem: string): InvalidTurn {
  return new InvalidTurn(`sendMessage: ${field}: ${problem}`);
}

function tooLarge(bytes: number): MessageTooLarge {
  return new MessageTooLarge(
    `the message has ${bytes} bytes of JSON with its stateDelta, at most ${PAYLOAD_LIMIT} travel through Temporal: give ` +
      'HoldfastClient the workers’ store as its option `store`, which then keeps the message, or send less',
  );
}
