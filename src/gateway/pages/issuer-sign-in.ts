import { randomBytes } from 'node:crypto';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { openText, sealText } from '../../credentials/seal.ts';
import { type AuthorizationSecrets, OAuthClient } from '../../oauth/oauth-client.ts';
import { oauthFailed } from '../../oauth/oauth-failed.ts';
import { resolveProvider } from '../../oauth/oauth-provider.ts';
import { defined } from '../../protocol/json.ts';
import { accessRequestOf } from '../access/access-request.ts';
import { callerAddress } from '../access/caller-address.ts';
import { jwtCheck } from '../access/jwt-check.ts';
import type { SignInIssuer } from '../access/trusted-issuer.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import { pageRoute } from './page-answer.ts';
import { type PageSite, siteOf } from './page-site.ts';
import { RoundTrips } from './round-trips.ts';
import { isFromElsewhere, newCookie, nextOf } from './sign-in.ts';

const CALLBACK = '/inbox/sign-in/callback';
const SEALED = 'inbox sign-in';
const LOST = 'This way back was used before, took too long, or was begun in another browser.';

/** A person's way to an issuer and back, as the browser keeps it: sealed. */
type Flow = AuthorizationSecrets & { issuer: string; next: string; until: number };

const random = () => randomBytes(32).toString('base64url');
const retryAt = ({ base }: PageSite) => `${base}/inbox/sign-in`;

/** The way to an issuer, and back with an ID token. */
export function issuerSignInRoutes(app: GatewayHono, setting: RouteSetting, records: GatewayRecords): void {
  const { options, limits, issuers } = setting;
  const { logger, publicUrl, credentialKeys, settings } = options;
  const keys = credentialKeys === undefined ? undefined : credentialKeysOf(credentialKeys);
  const vault = new CredentialVault(records.credentials, keys);
  const trips = new RoundTrips({
    ...{ records, logger, name: 'sign-in', life: 600_000, failed: 'Not signed in', status: 401 },
  });
  const tokens = jwtCheck(issuers.map((each) => ({ ...each, audience: each.signIn.clientId })));
  const clientOf = ({ issuer, signIn: { clientId, clientSecret } }: SignInIssuer) =>
    new OAuthClient(resolveProvider('defineGateway', 'signIn', { issuer, clientId, clientSecret }));

  const begin = async (context: GatewayContext, site: PageSite): Promise<Response> => {
    const next = nextOf(context.req.query('next'));
    const issuer = issuers[Number(context.req.query('issuer'))];
    // No other site's page signs somebody in who hasn't asked for it.
    if (issuer === undefined || isFromElsewhere(context))
      return context.redirect(`${site.base}/inbox/sign-in?next=${encodeURIComponent(next)}`, 303);
    const flow: Flow = {
      ...{ state: random(), verifier: random(), nonce: random(), issuer: issuer.issuer, next },
      ...{ redirectUri: `${site.origin}${site.base}${CALLBACK}`, until: (await records.now()) + trips.life },
    };
    const kept = sealText(vault.ownKeys(), SEALED, flow);
    const { scopes = ['profile', 'email'] } = issuer.signIn;
    const url = await clientOf(issuer).authorizationUrl(flow, [...new Set(['openid', ...scopes])]);
    return trips.leave(context, site, { url, state: flow.state, kept });
  };

  const comeBack = async (context: GatewayContext, site: PageSite) => {
    const { callback, state, kept } = trips.back(context, site);
    const flow = openText<Flow>(vault.ownKeys(), SEALED, kept);
    const issuer = issuers.find((each) => each.issuer === flow?.issuer);
    const isOpen = flow !== undefined && flow.until > (await records.now());
    if (!isOpen || issuer === undefined || !(await trips.isFirst(state))) {
      context.set('isGuess', true);
      return trips.failed(context, LOST, retryAt(site), 400);
    }
    const { idToken = '' } = await clientOf(issuer).exchange(callback, flow);
    const server = new URL(issuer.issuer).host;
    const who = await tokens.check(idToken, accessRequestOf(context));
    if (who === undefined || typeof who === 'string')
      throw oauthFailed('invalid', `${server}: its ID token is not for this client, or lacks a claim`);
    const { name, person, userId, reaches = [] } = who;
    if (person === undefined || reaches.length === 0) {
      context.set('denied', { reason: 'forbidden', who: name });
      const lacks = person === undefined ? 'no name that counts here' : 'no rights here';
      return trips.failed(context, `${server} knows you, but gives you ${lacks}.`, retryAt(site), 403);
    }
    context.set('principal', who);
    limits.spend(who);
    const grants = reaches.map(({ permissions, app = '*', userId: user }) => ({
      ...{ app, roles: [...permissions], ...defined({ user }) },
    }));
    const ofIssuer = { issuer: issuer.issuer, name, person, grants, ...defined({ userId }) };
    await records.keys.openSignIn({ tokenHash: newCookie(context, site), ofIssuer });
    return context.redirect(`${site.base}${flow.next}`, 303);
  };

  const shown = (show: typeof begin) => async (context: GatewayContext) => {
    const site = siteOf(context, publicUrl);
    const address = callerAddress(accessRequestOf(context), Number(settings?.access?.trustProxy ?? false));
    // Each request of a stranger is one to the issuer.
    limits.spend({ name: `sign-in:${address}` });
    return await trips.told(context, retryAt(site), () => show(context, site));
  };
  app.all('/inbox/sign-in/oidc', pageRoute(logger, { GET: shown(begin) }));
  app.all(CALLBACK, pageRoute(logger, { GET: shown(comeBack) }));
}
