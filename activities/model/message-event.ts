import type { Content } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import { contentProblem } from '../../src/protocol/message-limits.ts';
import type { OpenStep } from '../../src/store/store.ts';
import { Unstorable } from '../../src/store/store-errors.ts';

export interface GivenMessage {
  invocationId: string;
  message?: string | Content;
  messageDigest?: string;
  stateDelta?: Record<string, unknown>;
}

/** @throws Unstorable naming the field of a message that no step could read: it would stand in the transcript for ever. */
export function checkedMessageOf(
  given: GivenMessage,
  customMetadata?: Record<string, unknown>,
): ReturnType<typeof messageOf> {
  const { message, stateDelta } = given;
  const problem = message === undefined ? undefined : contentProblem(message, stateDelta);
  if (problem !== undefined) throw new Unstorable(problem);
  return messageOf(given, customMetadata);
}

/**
 * What a first step is opened with; a message that is not given is in the store.
 *
 * @param customMetadata of the turn's run config.
 */
export function messageOf(
  { invocationId, message, messageDigest: digest, stateDelta }: GivenMessage,
  customMetadata?: Record<string, unknown>,
): Pick<OpenStep, 'message' | 'messageDigest'> {
  if (message === undefined) return digest === undefined ? {} : { messageDigest: digest };
  const content: Content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
  return {
    message: {
      invocationId,
      author: 'user',
      content: { ...content, role: 'user' },
      ...(customMetadata === undefined ? {} : { customMetadata }),
      actions: createEventActions({ stateDelta: stateDelta ?? {} }),
    },
    messageDigest: messageDigest(message, stateDelta),
  };
}
