import type { Decided } from '../../client/approvals/approvals.ts';
import { RequestNotFound, RequestNotPending } from '../../client/client-errors.ts';
import type { PutCredential } from '../../contract/credentials.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { errorAnswer } from '../error-answer.ts';
import type { GatewayOptions } from '../gateway-options.ts';

/**
 * Stores a secret and answers a request with its reference. Where the answer is refused, the credential that the user had before is
 * theirs again.
 *
 * @throws InvalidCredential, CredentialKeyMissing, StoreNeeded, RequestNotPending, RequestNotFound, DecisionRefused
 */
export async function giveCredential(
  { client, records, credentialKeys, logger }: GatewayOptions,
  { requestId, session, argsDigest, app, userId, authConfig }: ApprovalRow,
  credential: PutCredential['credential'],
): Promise<Decided> {
  const row = await client.approvals.get({ requestId });
  if (records === undefined || authConfig === undefined || row?.session !== session) {
    throw new RequestNotFound('there is no such request');
  }
  if (row.status !== 'pending')
    throw new RequestNotPending(`${requestId} is not pending: it was ${row.status}`);
  const keys = credentialKeys === undefined ? undefined : credentialKeysOf(credentialKeys);
  const vault = new CredentialVault(records.credentials, keys);
  const { credentialKey } = authConfig;
  const { credentialRef, undo } = await vault.putForNow({ app, userId, credentialKey, credential });
  try {
    return await client.approvals.provideCredential(
      { requestId },
      { credentialRef, shown: { session, argsDigest } },
    );
  } catch (error) {
    // Of another failure nobody knows whether the answer counts: then its credential has to be there.
    if (isRefusal(error)) {
      await undo().catch((failure: unknown) => {
        logger.error('a credential whose answer was refused could not be taken back', {
          requestId,
          error: failure,
        });
      });
    }
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  const { status } = errorAnswer(error);
  return status === 400 || status === 404 || status === 409;
}
