import { activityInfo } from '@temporalio/activity';
import type { KeepMessagesInput, KeepMessagesResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { MessageForInbox } from '../src/store/store.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { reportUnexpected } from './logging.ts';
import { requesterOf } from './requester.ts';

/** `holdfast.keepMessages`: puts messages that came while a turn runs where they outlive it. */
export function keepMessages(
  dependencies: ActivityDependencies,
): (input: KeepMessagesInput) => Promise<KeepMessagesResult> {
  const keep = async ({ v: _v, ...given }: KeepMessagesInput): Promise<KeepMessagesResult> => {
    const messages = await Promise.all(
      given.messages.map((message) => withRequester(dependencies, given, message)),
    );
    return { v: PROTOCOL_VERSION, messages: await dependencies.store.keepMessages({ ...given, messages }) };
  };
  return (input) =>
    attempt(
      () => keep(input),
      reportUnexpected(dependencies, { app: input.app, sessionId: input.sessionId }),
    );
}

async function withRequester(
  dependencies: ActivityDependencies,
  { app, userId, sessionId }: Omit<KeepMessagesInput, 'v'>,
  message: MessageForInbox,
): Promise<MessageForInbox> {
  const { attestation, requester: _claimed, ...kept } = message;
  const attested = { app, userId, sessionId, messageId: message.messageId, messageDigest: message.digest };
  // The activity is scheduled as soon as the message has come.
  const { scheduledTimestampMs } = activityInfo();
  const requester = await requesterOf(dependencies, attested, attestation, scheduledTimestampMs);
  return { ...kept, ...(requester === undefined ? {} : { requester }) };
}
