import { type MessagePolicy, sendMessage } from '../../contract/messages.ts';
import type { Content } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';
import { confirmationReplyOf } from '../../protocol/replies.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { checkedInput } from '../checked-input.ts';
import { InvalidTurn } from '../client-errors.ts';
import { checkState } from '../turns/turn-names.ts';
import { RESERVED_NAMES } from './reply-parts.ts';

/** A message to a session; what {@link HoldfastClient.sendMessage} takes. */
export interface OutgoingMessage extends SessionNames {
  /**
   * A string means one user text part. Over 64 KiB of JSON, `stateDelta` included, it goes to the client's store first.
   * Objects and lists are nested in at most 100 levels, here and in `stateDelta`. Parts may be function responses: late ones of
   * long-running tools, those of calls that the client answers (`runConfig.pauseOnToolCalls`), and answers to requests, in ADK's
   * form. Of nothing but such answers no turn begins: the one that waits goes on. A secret in them is kept encrypted by the
   * store, and travels as a reference.
   */
  message: string | Content;
  /**
   * One message id is one turn, for ever, however often it is sent. At most 1,000 characters, like `agent`. Defaults to a
   * random one.
   */
  messageId?: string;
  /**
   * Decides about a message that comes while the session answers another one: it waits, ends the other turn, or is refused.
   * Defaults to `enqueue`.
   */
  policy?: MessagePolicy;
  /** The agent that answers: any agent that the worker serves, sub-agents included. Defaults to the agent of the tree that goes on. */
  agent?: string;
  /**
   * Root agent of the tree that answers if no `agent` is named. The transcript decides which of its agents answers, as in ADK. Defaults
   * to the app's.
   */
  rootAgent?: string;
  /** State that the message's event carries. Not allowed in a message that only answers a waiting turn, which is no event. */
  stateDelta?: Record<string, unknown>;
  /** Fields that Holdfast doesn't know are left out. */
  runConfig?: TurnRunConfig;
  /**
   * Proves the sender: a compact JWS of an issuer that the app names. Without one the sender is unverified, and nobody may decide
   * about a call with `notRequester`.
   */
  attestation?: string;
  /**
   * Which of several turns' work the workers do first: Temporal's priority key, from 1 (first) to 5, of the turn's model calls, tools
   * and jobs.
   *
   * @default 3
   */
  priority?: number;
}

/**
 * A message with its known fields only.
 *
 * @throws InvalidTurn
 */
export function checkedMessage(given: OutgoingMessage): OutgoingMessage {
  const message = checkedInput(sendMessage, given) as OutgoingMessage;
  checkState({ stateDelta: message.stateDelta }, sendMessage.name);
  checkConfirmations(message.message);
  return message;
}

/** A malformed one decides nothing, and its sender is to know it. */
function checkConfirmations(message: string | Content): void {
  if (typeof message === 'string') return;
  for (const [index, { functionResponse }] of (message.parts ?? []).entries()) {
    const { name, response } = functionResponse ?? {};
    if (name !== RESERVED_NAMES.confirmation || !isRecord(response)) continue;
    const reply = confirmationReplyOf(response);
    if (!('problem' in reply)) continue;
    const field = `message.parts[${index}].functionResponse.${reply.field}`;
    throw new InvalidTurn(`${sendMessage.name}: ${field}: ${reply.problem}`);
  }
}
