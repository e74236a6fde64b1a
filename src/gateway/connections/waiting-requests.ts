import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { StoredCredential } from '../../contract/credentials.ts';
import { MOST_LISTED } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import { connectLink } from '../../oauth/consent.ts';
import { scopesOf } from '../../oauth/oauth-provider.ts';
import { covers } from '../../oauth/tokens.ts';
import { errorAnswer } from '../error-answer.ts';
import type { PageSite } from '../pages/page-site.ts';

/** The page on which an account is connected for a request; undefined for one that wants no tokens of a server. */
export function connectPath(
  keys: CredentialKeys,
  { app, userId, authConfig }: Pick<ApprovalRow, 'app' | 'userId' | 'authConfig'>,
  { base }: PageSite,
): string | undefined {
  if (authConfig?.provider === undefined) return undefined;
  const { credentialKey } = authConfig;
  const wanted = { app, userId, credentialKey, needs: scopesOf(authConfig) };
  return `${base}${connectLink(keys, wanted, Date.now()).path}`;
}

/**
 * Has every call go on that waits for these tokens of this user, in all sessions. Repeating it changes nothing.
 *
 * @returns whether calls wait on that have asked when the tokens were there: they need others.
 */
export async function wakeCalls(
  { approvals }: Pick<HoldfastApi, 'approvals'>,
  { app, userId, credentialKey, credentialRef, scopes, createdAt }: StoredCredential,
): Promise<boolean> {
  const pending = await approvals.list({ app, userId, kind: 'credential', limit: MOST_LISTED });
  const waiting = pending.filter(
    ({ authConfig }) => authConfig?.credentialKey === credentialKey && covers(scopes, scopesOf(authConfig)),
  );
  const isEarlier = ({ since }: ApprovalRow) => since <= createdAt;
  await Promise.all(waiting.filter(isEarlier).map((row) => wake(approvals, row, credentialRef)));
  return !waiting.every(isEarlier);
}

/** A request that has ended meanwhile, or is answered by others, needs nobody. */
async function wake(
  approvals: HoldfastApi['approvals'],
  { requestId, session, argsDigest }: ApprovalRow,
  credentialRef: string,
): Promise<void> {
  try {
    await approvals.provideCredential({ requestId }, { credentialRef, shown: { session, argsDigest } });
  } catch (error) {
    const { status } = errorAnswer(error);
    if (status !== 404 && status !== 409) throw error;
  }
}
