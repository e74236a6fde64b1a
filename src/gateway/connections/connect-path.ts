import type { ApprovalRow } from '../../contract/requests.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import { connectLink } from '../../oauth/connect-link.ts';
import { scopesOf } from '../../oauth/oauth-provider.ts';
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
