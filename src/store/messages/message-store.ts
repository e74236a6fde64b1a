import type { Content } from '../../events/content.ts';
import type { KeepMessagesInput, KeptMessage, MessageToKeep, WaitingMessage } from '../../protocol/step.ts';
import type { SessionNames } from '../sessions/session-names.ts';

/** A message for the inbox, and who sent it where an attestation of it holds: the turn's requester later on. */
export interface MessageForInbox extends MessageToKeep {
  requester?: string;
}

/** A message of the inbox, for operators and clients. */
export interface InboxRow extends WaitingMessage {
  /** `uploaded`: content put here before its message was sent. */
  status: 'uploaded' | 'waiting' | 'rejected';
  /** Why it was rejected. */
  reason?: string;
  createdAt: number;
}

export interface UploadMessage extends SessionNames {
  messageId: string;
  message: string | Content;
  stateDelta?: Record<string, unknown>;
}

/** A thread of a channel such as Slack. */
export interface ChannelThread {
  channel: string;
  /** Unique in the channel. */
  thread: string;
}

/** The answer that a sender got. */
export interface DeliveryAnswer {
  status: number;
  /** JSON; absent for none. */
  body?: unknown;
}

/** A request that came in by a channel. */
export interface ChannelDelivery {
  /** Such as `slack`, or `webhook:` and the name of a source. */
  channel: string;
  /** The sender's: the same for each attempt. */
  id: string;
}

/** Messages that wait for their turn, and requests of channels, so that each counts once. */
export interface MessageStore {
  /**
   * Writes accepted messages, and notes on rejected ones, into the session's inbox, where the session's next turn finds
   * those that were never answered. Makes the session where it is missing. A message that can't be stored is answered
   * with `refused` and holds up no other. One round trip.
   */
  keep(
    keep: Omit<KeepMessagesInput, 'v' | 'messages'> & { messages: readonly MessageForInbox[] },
  ): Promise<KeptMessage[]>;
  /**
   * Puts a message's content into the inbox before the message is sent, for one that is too large to travel. Another
   * content replaces it as long as nobody has accepted the message, and changes nothing later. Dropped after 30 days
   * without its message.
   */
  upload(upload: UploadMessage): Promise<{ digest: string; bytes: number }>;
  /** Deletes the content of a message that was not sent after all; nothing where it was accepted, or is not there. */
  forgetUpload(names: SessionNames, messageId: string): Promise<void>;
  /** Messages that wait in a session's inbox, in order, and the newest 100 that were rejected; 1,000 rows at most. */
  readInbox(names: SessionNames): Promise<InboxRow[]>;
  /** An invocation's row in the inbox, with any status; no row if it has begun or isn't known. */
  findWaiting(names: SessionNames, invocationId: string): Promise<InboxRow | undefined>;
  /** A thread is a session from now on. */
  keepThread(thread: ChannelThread, names: SessionNames): Promise<void>;
  /** Undefined for a thread that is no session. */
  findThread(thread: ChannelThread): Promise<SessionNames | undefined>;
  /**
   * Takes a delivery to handle it. No other attempt gets it until it is given back or its time is over, and none after its answer.
   * Repeating it changes nothing. A delivery is remembered for 30 days.
   *
   * @param take `holder`: random, of this one attempt; `time`: milliseconds. Default: for ever.
   */
  takeDelivery(
    take: ChannelDelivery & { holder: string; time?: number },
  ): Promise<{ kind: 'taken' } | { kind: 'busy' } | { kind: 'answered'; answer: DeliveryAnswer }>;
  /** It was handled: a repeated delivery gets this answer. */
  answerDelivery(answer: ChannelDelivery & { holder: string; answer: DeliveryAnswer }): Promise<void>;
  /** It was not handled, and may be taken again. */
  releaseDelivery(give: ChannelDelivery & { holder: string }): Promise<void>;
}
