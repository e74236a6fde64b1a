import { activityInfo } from '@temporalio/activity';
import type { AttestedMessage } from '../../src/approvals/message-attestation.ts';
import { verifyMessageAttestation } from '../../src/approvals/message-attestation.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import type { OwnCall } from '../../src/protocol/turn.ts';
import { believedIssuers } from '../approvals/believed-issuers.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';

/** A message that has come, and what Temporal says that it begins. */
export interface ArrivedMessage extends AttestedMessage {
  invocationId: string;
  attestation?: string | undefined;
  ownCall?: OwnCall | undefined;
}

/**
 * Who sent a message, where an attestation of it holds. One that doesn't is no attestation: the message is answered all the same,
 * and the operator told.
 *
 * It came when Temporal was told to run this activity, all attempts of it: a turn may wait for its slot longer than an attestation
 * lasts, and nobody can have an activity scheduled in the past, whatever its input says.
 */
export async function requesterOf(
  dependencies: ActivityDependencies,
  { invocationId, attestation, ownCall, ...message }: ArrivedMessage,
): Promise<string | undefined> {
  if (attestation === undefined) return undefined;
  const { app, userId, sessionId, messageId } = message;
  const unproven = (reason: string): undefined => {
    callLogger(dependencies, { app, sessionId }).warn('nobody is known to have sent a message', {
      message: messageId,
      reason,
    });
  };
  if (invocationId !== invocationIdOf(app, userId, sessionId, messageId)) {
    return unproven('the turn is not that of the message');
  }
  if (ownCall !== undefined) return unproven('the turn is a call, which the attestation says nothing of');
  const issuers = believedIssuers(dependencies, app, attestation);
  const { scheduledTimestampMs } = activityInfo();
  const attested = await verifyMessageAttestation(attestation, message, issuers, scheduledTimestampMs);
  return attested.ok ? attested.by.principal : unproven(attested.reason);
}
