import { randomBytes } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { openText, sealText } from '../../credentials/seal.ts';
import { type AuthorizationSecrets, OAuthClient } from '../../oauth/oauth-client.ts';
import { OAuthFailed, oauthFailed } from '../../oauth/oauth-failed.ts';
import { resolveProvider } from '../../oauth/oauth-provider.ts';
import { defined } from '../../protocol/json.ts';
import { accessRequestOf } from '../access/access-request.ts';
import { callerAddress } from '../access/caller-address.ts';
import { jwtCheck } from '../access/jwt-check.ts';
import type { SignInIssuer } from '../access/trusted-issuer.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import { pageRoute, sendPage } from './page-answer.ts';
import { cookieName, keepCookie, type PageSite, siteOf } from './page-site.ts';
import { wordsPage } from './shell.ts';
import { isFromElsewhere, newCookie, nextOf } from './sign-in.ts';

/** Milliseconds. A person who takes longer at the issuer begins again. */
const FLOW_LIFE = 600_000;
const CALLBACK = '/inbox/sign-in/callback';
const SEALED = 'inbox sign-in';
const LOST = 'This way back was used before, took too long, or was begun in another browser.';

/** A person's way to an issuer and back, as the browser keeps it: sealed. */
type Flow = AuthorizationSecrets & { issuer: string; next: string; until: number };

const random = () => randomBytes(32).toString('base64url');
/** One for each way, so that several may be open at once; the person comes back to it from another site. */
const nameOf = (state: string) => `holdfast-sign-in-${state.slice(0, 16)}`;

/** The way to an issuer, and back with an ID token. */
export function issuerSignInRoutes(app: GatewayHono, setting: RouteSetting, records: GatewayRecords): void {
  const { options, limits, issuers } = setting;
  const { logger, publicUrl, credentialKeys, settings } = options;
  const keys = credentialKeys === undefined ? undefined : credentialKeysOf(credentialKeys);
  const vault = new CredentialVault(records.credentials, keys);
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
      ...{ redirectUri: `${site.origin}${site.base}${CALLBACK}`, until: (await records.now()) + FLOW_LIFE },
    };
    const value = sealText(vault.ownKeys(), SEALED, flow);
    const { scopes = ['profile', 'email'] } = issuer.signIn;
    const url = await clientOf(issuer).authorizationUrl(flow, [...new Set(['openid', ...scopes])]);
    const cookie = { name: nameOf(flow.state), value, maxAge: FLOW_LIFE / 1_000 };
    keepCookie(context, site, { ...cookie, sameSite: 'Lax' });
    return context.redirect(url, 302);
  };

  const comeBack = async (context: GatewayContext, site: PageSite) => {
    const callback = new URL(context.req.url).searchParams;
    const id = nameOf(callback.get('state') ?? '');
    const kept = getCookie(context, cookieName(site, id)) ?? '';
    const flow = openText<Flow>(vault.ownKeys(), SEALED, kept);
    const issuer = issuers.find((each) => each.issuer === flow?.issuer);
    const isOpen = flow !== undefined && flow.until > (await records.now());
    const take = { id, holder: random(), requestId: 'sign-in' };
    if (!isOpen || issuer === undefined || (await records.keys.takeLink(take)) !== undefined) {
      context.set('isGuess', true);
      return notSignedIn(context, site, LOST, 400);
    }
    keepCookie(context, site, { name: id, value: '', maxAge: 0 });
    await records.keys.useLink({ ...take, outcome: 'come back' });
    const { idToken = '' } = await clientOf(issuer).exchange(callback, flow);
    const server = new URL(issuer.issuer).host;
    const who = await tokens.check(idToken, accessRequestOf(context));
    if (who === undefined || typeof who === 'string')
      throw oauthFailed('invalid', `${server}: its ID token is not for this client, or lacks a claim`);
    const { name, person, userId, reaches = [] } = who;
    if (person === undefined || reaches.length === 0) {
      context.set('denied', { reason: 'forbidden', who: name });
      const lacks = person === undefined ? 'no name that counts here' : 'no rights here';
      return notSignedIn(context, site, `${server} knows you, but gives you ${lacks}.`, 403);
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
    try {
      return await show(context, site);
    } catch (error) {
      if (!(error instanceof OAuthFailed)) throw error;
      logger.warn('somebody was not signed in', { problem: error.problem, error: error.message });
      return notSignedIn(context, site, error.message, error.problem === 'unreachable' ? 503 : 401);
    }
  };
  app.all('/inbox/sign-in/oidc', pageRoute(logger, { GET: shown(begin) }));
  app.all(CALLBACK, pageRoute(logger, { GET: shown(comeBack) }));
}

function notSignedIn(
  context: GatewayContext,
  { base }: PageSite,
  text: string,
  status: 400 | 401 | 403 | 503,
) {
  const more = html`<div class="actions"><a class="button quiet" href="${base}/inbox/sign-in">Sign in again</a></div>`;
  return sendPage(context, wordsPage({ title: 'Not signed in', text, more }), status);
}
