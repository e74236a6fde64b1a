import type { WaitingMessage } from '../../src/protocol/step.ts';

/** A message that waits for the end of those before it; its content is in the store. */
export interface QueuedMessage extends WaitingMessage {
  traceparent?: string;
  /** Milliseconds since the epoch. */
  cameAt?: number;
  /** Temporal's priority key of the activities of its turn. */
  priority?: number;
  /** Root of the tree that answers where the message names no agent. */
  rootAgent?: string;
}

/** What the store doesn't keep of a message that was sent again. */
export function arrivalOf({
  traceparent,
  cameAt,
  priority,
  rootAgent,
}: Partial<QueuedMessage> = {}): Partial<QueuedMessage> {
  return {
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(cameAt === undefined ? {} : { cameAt }),
    ...(priority === undefined ? {} : { priority }),
    ...(rootAgent === undefined ? {} : { rootAgent }),
  };
}

/** A message's id, for people. */
export function shown(messageId: string): string {
  return messageId.length <= 40 ? messageId : `${messageId.slice(0, 40).toWellFormed()}…`;
}
