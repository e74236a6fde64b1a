import { activityInfo } from '@temporalio/activity';
import { type AttestedMessage, verifyMessageAttestation } from '../../src/approvals/message-attestation.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import type { KeepMessagesInput, KeepMessagesResult } from '../../src/protocol/step.ts';
import type { OwnCall } from '../../src/protocol/turn.ts';
import type { MessageForInbox } from '../../src/store/messages/message-store.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { trustedIssuers } from '../deployment.ts';
import { callLogger } from '../logging.ts';

/** `holdfast.keepMessages`: puts messages that came while a turn runs where they outlive it. */
export async function keepMessages(
  dependencies: ActivityDependencies,
  { v: _v, ...given }: KeepMessagesInput,
): Promise<KeepMessagesResult> {
  const messages = await Promise.all(
    given.messages.map((message) => withRequester(dependencies, given, message)),
  );
  return { v: PROTOCOL_VERSION, messages: await dependencies.store.messages.keep({ ...given, messages }) };
}

/** The digest of a message is computed from its content wherever the content is here: a given digest is only a claim. */
async function withRequester(
  dependencies: ActivityDependencies,
  { app, userId, sessionId }: Omit<KeepMessagesInput, 'v'>,
  given: MessageForInbox,
): Promise<MessageForInbox> {
  const { attestation, requester: _claimed, ...kept } = given;
  const { messageId, invocationId, message, stateDelta, stored, rejected } = kept;
  // A rejected message has no sender.
  if (rejected !== undefined) return kept;
  const digest = message === undefined || stored ? kept.digest : messageDigest(message, stateDelta);
  const arrived = { app, userId, sessionId, messageId, messageDigest: digest, invocationId, attestation };
  const requester = await requesterOf(dependencies, arrived);
  return { ...kept, digest, ...defined({ requester }) };
}

/** A message that has come, and what Temporal says that it begins. */
interface ArrivedMessage extends AttestedMessage {
  invocationId: string;
  attestation?: string | undefined;
  ownCall?: OwnCall | undefined;
}

/**
 * The sender of a message, if an attestation of it holds. Otherwise the message is answered all the same, and the operator told.
 *
 * The time of the message is the time at which Temporal scheduled this activity, for all of its attempts. A turn may wait for its
 * slot longer than an attestation lasts, and no input can have an activity scheduled in the past.
 */
export async function requesterOf(
  dependencies: ActivityDependencies,
  { invocationId, attestation, ownCall, ...message }: ArrivedMessage,
): Promise<string | undefined> {
  if (attestation === undefined) return undefined;
  const { app, userId, sessionId, messageId } = message;
  const unproven = (reason: string): undefined => {
    callLogger(dependencies, { app, sessionId }).warn('the sender of a message is not proven', {
      message: messageId,
      reason,
    });
  };
  if (invocationId !== invocationIdOf(app, userId, sessionId, messageId)) {
    return unproven('the turn is not that of the message');
  }
  if (ownCall !== undefined) return unproven('the turn is a call, which the attestation says nothing of');
  const issuers = trustedIssuers(dependencies, app, attestation);
  const { scheduledTimestampMs } = activityInfo();
  const attested = await verifyMessageAttestation(attestation, message, issuers, scheduledTimestampMs);
  return attested.ok ? attested.by.principal : unproven(attested.reason);
}
