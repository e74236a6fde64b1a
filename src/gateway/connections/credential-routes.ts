import { CREDENTIALS } from '../../contract/credentials.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { CredentialKeys } from '../../credentials/credential-keys.ts';
import { connectLink, linkUrl } from '../../oauth/connect-link.ts';
import { scopesOf } from '../../oauth/oauth-provider.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { type PageSite, siteOf } from '../pages/page-site.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serveAll } from '../serve.ts';

/** Credentials of users, and links to connect accounts: the gateway knows its address. */
export function credentialRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { publicUrl } = setting.options;
  serveAll(app, setting, CREDENTIALS, {
    'credentials.connect': async (_input, context, perform) => {
      const link = await perform();
      return { ...link, url: linkUrl(publicUrl ?? siteOf(context, publicUrl).origin, link.path) };
    },
  });
}

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
