import type { AttestedMessage } from '../src/approvals/message-attestation.ts';
import { verifyMessageAttestation } from '../src/approvals/message-attestation.ts';
import { believedIssuers } from './believed-issuers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { callLogger } from './logging.ts';

/**
 * Who sent a message, where an attestation of it holds. One that doesn't is no attestation: the message is answered all the same,
 * and the operator told.
 *
 * @param cameAt milliseconds since the epoch, when the message came; an attestation may have expired since.
 */
export async function requesterOf(
  dependencies: ActivityDependencies,
  message: AttestedMessage,
  attestation: string | undefined,
  cameAt: number,
): Promise<string | undefined> {
  if (attestation === undefined) return undefined;
  const { app, sessionId } = message;
  const issuers = believedIssuers(dependencies, app, attestation);
  const attested = await verifyMessageAttestation(attestation, message, issuers, cameAt);
  if (attested.ok) return attested.by.principal;
  callLogger(dependencies, { app, sessionId }).warn('nobody is known to have sent a message', {
    message: message.messageId,
    reason: attested.reason,
  });
  return undefined;
}
