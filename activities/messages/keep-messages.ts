import { messageDigest } from '../../src/protocol/message.ts';
import type { KeepMessagesInput, KeepMessagesResult } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { MessageForInbox } from '../../src/store/store.ts';
import { attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
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

/** What a message says counts, not what is said of it: its digest is that of its content wherever that is here. */
async function withRequester(
  dependencies: ActivityDependencies,
  { app, userId, sessionId }: Omit<KeepMessagesInput, 'v'>,
  given: MessageForInbox,
): Promise<MessageForInbox> {
  const { attestation, requester: _claimed, ...kept } = given;
  const { messageId, invocationId, message, stateDelta, stored, rejected } = kept;
  // Nobody sends what was rejected.
  if (rejected !== undefined) return kept;
  const digest = message === undefined || stored ? kept.digest : messageDigest(message, stateDelta);
  const arrived = { app, userId, sessionId, messageId, messageDigest: digest, invocationId, attestation };
  const requester = await requesterOf(dependencies, arrived);
  return { ...kept, digest, ...(requester === undefined ? {} : { requester }) };
}
