import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { html } from 'hono/html';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { CredentialVault } from '../../credentials/credential-vault.ts';
import { serverName } from '../../oauth/oauth-answers.ts';
import { type AuthorizationSecrets, OAuthClient } from '../../oauth/oauth-client.ts';
import { OAuthFailed, oauthFailed } from '../../oauth/oauth-failed.ts';
import { resolveProvider } from '../../oauth/oauth-provider.ts';
import { defined } from '../../protocol/json.ts';
import type { Principal, Refusal } from '../access/access.ts';
import { accessRequestOf } from '../access/access-request.ts';
import { callerAddress } from '../access/caller-address.ts';
import { type Granted, grantedPrincipal } from '../access/granted-principal.ts';
import { identityCheck } from '../access/jwt-check.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { GatewaySettings } from '../gateway-settings.ts';
import type { RouteSetting } from '../route-setting.ts';
import { noSuchPage, pageRoute, sendPage } from './page-answer.ts';
import { cookieName, keepCookie, siteOf } from './page-site.ts';
import { wordsPage } from './shell.ts';
import { isFromElsewhere, nextOf, openSignIn, type SignInIssuer } from './sign-in.ts';

/** A person who takes longer at the issuer begins again, milliseconds. */
const FLOW_LIFE = 600_000;
const CALLBACK = '/inbox/sign-in/callback';
const SEALED = 'inbox sign-in';
const LOST = 'This way back was used before, took too long, or was begun in another browser.';

/** A person's way to an issuer and back. The browser keeps it, sealed. */
interface Flow extends AuthorizationSecrets {
  issuer: string;
  next: string;
  /** Milliseconds since the epoch. */
  until: number;
}

/** The gateway as a client of an issuer. */
interface IssuerClient extends SignInIssuer {
  scopes: readonly string[];
  /** @throws OAuthFailed where the environment lacks the client's secret. */
  client(): OAuthClient;
  identify(idToken: string): Promise<Granted | Refusal> | undefined;
}

interface IssuerSignInOptions {
  issuers: readonly IssuerClient[];
  records: GatewayRecords;
  /** Throws where they have asked too often. */
  admit(context: GatewayContext, principal: Principal): void;
}

/** @throws DefinitionError naming what of an issuer is wrong. */
export function signInIssuers({ access = {} }: GatewaySettings): IssuerClient[] {
  return (access.issuers ?? []).flatMap((trusted, index) => {
    const { issuer, signIn } = trusted;
    if (signIn === undefined) return [];
    const { clientId, clientSecret, scopes = ['profile', 'email'] } = signIn;
    const given = { issuer, clientId, ...defined({ clientSecret }) };
    const provider = resolveProvider('createGateway', `access.issuers[${index}].signIn`, given);
    return {
      ...{ index: String(index), issuer, server: serverName(provider) },
      scopes: [...new Set(['openid', ...scopes])],
      client: () => new OAuthClient(provider),
      identify: identityCheck([{ ...trusted, audience: clientId }]),
    };
  });
}

/** The way to an issuer, and back with an ID token. */
export function issuerSignInRoutes(
  app: GatewayHono,
  { options, limits }: RouteSetting,
  { issuers, records, admit }: IssuerSignInOptions,
): void {
  const { logger, publicUrl, credentialKeys, settings } = options;
  const keys = credentialKeys === undefined ? undefined : credentialKeysOf(credentialKeys);
  const vault = new CredentialVault(records.credentials, keys);
  const proxies = Number(settings?.access?.trustProxy ?? false);

  const begin = async (context: GatewayContext) => {
    const site = siteOf(context, publicUrl);
    const next = nextOf(context.req.query('next'));
    const issuer = issuers.find(({ index }) => index === context.req.query('issuer'));
    if (issuer === undefined) return noSuchPage(context);
    // No other site's page signs somebody in who hasn't asked for it.
    if (isFromElsewhere(context))
      return context.redirect(`${site.base}/inbox/sign-in?next=${encodeURIComponent(next)}`, 303);
    const flow: Flow = {
      ...{ state: random(), verifier: random(), nonce: random() },
      ...{ redirectUri: `${site.origin}${site.base}${CALLBACK}`, issuer: issuer.issuer, next },
      until: (await records.now()) + FLOW_LIFE,
    };
    const value = vault.sealedText(SEALED, flow);
    const url = await issuer.client().authorizationUrl(flow, issuer.scopes);
    keepCookie(context, site, { ...cookieOf(flow.state), value, maxAge: FLOW_LIFE / 1_000 });
    return context.redirect(url, 302);
  };

  const comeBack = async (context: GatewayContext) => {
    const site = siteOf(context, publicUrl);
    const callback = new URL(context.req.url).searchParams;
    const cookie = cookieOf(callback.get('state') ?? '');
    const kept = getCookie(context, cookieName(site, cookie.name)) ?? '';
    const flow = vault.openedText(SEALED, kept, (content) => content as Flow);
    const issuer = issuers.find((each) => each.issuer === flow?.issuer);
    if (flow === undefined || issuer === undefined) {
      context.set('isGuess', true);
      return notSignedIn(context, LOST, 400);
    }
    keepCookie(context, site, { ...cookie, value: '', maxAge: 0 });
    if (flow.until < (await records.now()) || !(await isFirst(flow))) throw oauthFailed('expired', LOST);
    const { idToken = '' } = await issuer.client().exchange(callback, flow);
    const identity = await issuer.identify(idToken);
    if (identity === undefined || identity === 'unauthenticated')
      throw oauthFailed(
        'invalid',
        `${issuer.server}: none of its keys has signed the ID token for this client`,
      );
    const refused = (text: string) => {
      context.set('denied', { reason: 'forbidden', who: Object(identity).name ?? issuer.issuer });
      return notSignedIn(context, `${issuer.server} knows you, but ${text}`, 403);
    };
    if (identity === 'forbidden' || identity.person === undefined)
      return refused('doesn’t say, in a way that counts, what you are called.');
    const principal = grantedPrincipal(identity);
    if (principal.reaches?.length === 0) return refused('nothing that it says of you gives you rights here.');
    admit(context, principal);
    const ofIssuer = { ...identity, person: identity.person, issuer: issuer.issuer };
    await openSignIn(context, site, records, { ofIssuer });
    return context.redirect(`${site.base}${flow.next}`, 303);
  };

  /** Whether nobody has come back by it before. */
  const isFirst = async ({ state }: Flow) => {
    const take = { id: cookieOf(state).name, holder: randomUUID() };
    if ((await records.keys.takeLink({ ...take, requestId: 'sign-in' })) !== undefined) return false;
    await records.keys.useLink({ ...take, outcome: 'come back' });
    return true;
  };

  const notSignedIn = (context: GatewayContext, text: string, status: 400 | 401 | 403 | 503) => {
    const { base } = siteOf(context, publicUrl);
    const more = html`<div class="actions"><a class="button quiet" href="${base}/inbox/sign-in">Sign in again</a></div>`;
    return sendPage(context, wordsPage({ title: 'Not signed in', text, more }), status);
  };

  const route = (path: string, handler: (context: GatewayContext) => Promise<Response>) =>
    app.all(
      path,
      pageRoute(logger, {
        GET: async (context) => {
          // Each request of a stranger is one to the issuer.
          const address = callerAddress(accessRequestOf(context), proxies);
          limits.spend({ name: `sign-in:${address}` });
          try {
            return await handler(context);
          } catch (error) {
            if (!(error instanceof OAuthFailed)) throw error;
            logger.warn('somebody was not signed in', { problem: error.problem, error: error.message });
            return notSignedIn(context, error.message, error.problem === 'unreachable' ? 503 : 401);
          }
        },
      }),
    );
  route('/inbox/sign-in/oidc', begin);
  route(CALLBACK, comeBack);
}

/** One for each way, so that several may be open at once. The person comes back from another site. */
function cookieOf(state: string): { name: string; sameSite: 'Lax' } {
  const digest = createHash('sha256').update(state).digest('base64url');
  return { name: `holdfast-sign-in-${digest.slice(0, 16)}`, sameSite: 'Lax' };
}

function random(): string {
  return randomBytes(32).toString('base64url');
}
