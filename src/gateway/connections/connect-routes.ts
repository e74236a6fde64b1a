import { createHash, randomUUID } from 'node:crypto';
import { getCookie } from 'hono/cookie';
import { type CredentialKeys, credentialKeysOf } from '../../credentials/credential-keys.ts';
import { connectLink, readConnectLink } from '../../oauth/connect-link.ts';
import { Connections } from '../../oauth/connections.ts';
import { newBrowserCookie, type WantedTokens } from '../../oauth/consent.ts';
import { serverName } from '../../oauth/oauth-answers.ts';
import type { DeviceCode } from '../../oauth/oauth-client.ts';
import { OAuthFailed, oauthFailed } from '../../oauth/oauth-failed.ts';
import { covers } from '../../oauth/tokens.ts';
import { isLeft } from '../background.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import { noSuchPage, pageRoute, sendPage } from '../pages/page-answer.ts';
import { cookieName, keepCookie, type PageSite, siteOf } from '../pages/page-site.ts';
import { wordsPage } from '../pages/shell.ts';
import type { RouteSetting } from '../route-setting.ts';
import {
  type ConnectionShown,
  connectedPage,
  connectPage,
  devicePage,
  notConnectedPage,
} from './connect-page.ts';
import { wakeCalls } from './wake-calls.ts';

/** A person who takes longer at the server begins again, milliseconds. */
const FLOW_LIFE = 3_600_000;
const CALLBACK = '/oauth/callback';
const LOST =
  'This way back was begun in another browser, or is not from here. Open the link that you got once more.';

interface Parts {
  setting: RouteSetting;
  keys: CredentialKeys;
  records: GatewayRecords;
  connections: Connections;
  /** Codes that wait for other devices, by whose they are. */
  devices: Map<string, string>;
}

/** A link that is good, and where its page stands. */
interface Opened {
  wanted: WantedTokens;
  site: PageSite;
  /** Of the link's page. */
  here: string;
  now: number;
}

/** Pages on which people connect accounts: the link alone says for which user. */
export function connectRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { credentialKeys, records, logger } = setting.options;
  if (credentialKeys === undefined || records === undefined) return;
  const keys = credentialKeysOf(credentialKeys);
  const parts: Parts = {
    setting,
    keys,
    records,
    connections: new Connections(records.credentials, keys),
    devices: new Map(),
  };
  const route = (
    path: string,
    show: (context: GatewayContext, parts: Parts, opened: Opened) => Promise<Response>,
  ) => app.all(path, pageRoute(logger, { GET: (context) => withLink(context, parts, show) }));
  route('/connect/:token', showConnection);
  route('/connect/:token/start', start);
  app.all(CALLBACK, pageRoute(logger, { GET: (context) => comeBack(context, parts) }));
}

async function withLink(
  context: GatewayContext,
  parts: Parts,
  show: (context: GatewayContext, parts: Parts, opened: Opened) => Promise<Response>,
): Promise<Response> {
  const { options, limits } = parts.setting;
  const now = await parts.records.now();
  const token = context.req.param('token') ?? '';
  const wanted = readConnectLink(parts.keys, token, now);
  if (wanted === 'expired') return sendPage(context, EXPIRED, 410);
  if (wanted === undefined) return noSuchPage(context);
  limits.spend({ name: `connect:${wanted.app}:${wanted.userId}` });
  const site = siteOf(context, options.publicUrl);
  const opened = { wanted, site, here: `${site.base}/connect/${token}`, now };
  try {
    return await show(context, parts, opened);
  } catch (error) {
    return refused(context, parts, error, opened.here);
  }
}

const EXPIRED = wordsPage({
  title: 'This link has expired',
  text: 'Ask for another one: requests in the inbox have it, and holdfast credentials connect makes one.',
});

async function showConnection(context: GatewayContext, parts: Parts, opened: Opened): Promise<Response> {
  const { wanted, now } = opened;
  const shown = await shownOf(parts, opened);
  const stored = await parts.records.credentials.find(wanted);
  const isConnected = stored?.authType === 'oauth2' && covers(stored.scopes, wanted.needs);
  if (!isConnected) return sendPage(context, connectPage(shown));
  // A gateway that has died between the tokens and this left calls waiting.
  await wakeCalls(parts.setting.options.client, stored);
  return sendPage(context, connectedPage(shown, stored, now));
}

async function start(context: GatewayContext, parts: Parts, opened: Opened): Promise<Response> {
  const { wanted, site, here, now } = opened;
  const { setting } = parts;
  const { consent, providers } = parts.connections;
  const provider = await providers.find(wanted.app, wanted.credentialKey);
  if (provider?.grant === 'device_code') {
    const code = await consent.beginAtDevice(wanted);
    const isBegun = setting.background.begin({ work: 'consent at another device' }, () =>
      awaitDevice(parts, wanted, code),
    );
    if (!isBegun) throw oauthFailed('unreachable', 'this gateway has too much else to do');
    return sendPage(context, devicePage(await shownOf(parts, opened), code, here));
  }
  const browser = newBrowserCookie();
  const redirectUri = `${site.origin}${site.base}${CALLBACK}`;
  const { url, state } = await consent.begin(wanted, { redirectUri, browser, until: now + FLOW_LIFE });
  keepFlow(context, site, state, browser);
  return context.redirect(url, 302);
}

/** The person may close the page: the gateway asks until they have consented, or begin again, or the code has expired. */
async function awaitDevice(
  { connections, setting, devices }: Parts,
  wanted: WantedTokens,
  code: DeviceCode,
): Promise<void> {
  const { background, options } = setting;
  const key = JSON.stringify([wanted.app, wanted.userId, wanted.credentialKey]);
  const { deviceCode, interval } = code;
  devices.set(key, deviceCode);
  try {
    for (let left = code.expiresIn; left > 0 && devices.get(key) === deviceCode; left -= interval) {
      await background.pause(interval * 1_000);
      const stored = await connections.consent.finishAtDevice(wanted, deviceCode);
      if (stored === undefined) continue;
      await wakeCalls(options.client, stored);
      return;
    }
  } catch (error) {
    if (isLeft(error)) return;
    if (!(error instanceof OAuthFailed)) throw error;
    tellOperator(setting, error);
  } finally {
    if (devices.get(key) === deviceCode) devices.delete(key);
  }
}

/** The way back from the server. Whoever comes has to have begun it in this browser; and each way back counts once. */
async function comeBack(context: GatewayContext, parts: Parts): Promise<Response> {
  const { records, connections, setting } = parts;
  const { options } = setting;
  const site = siteOf(context, options.publicUrl);
  const callback = new URL(context.req.url).searchParams;
  const state = callback.get('state') ?? '';
  const browser = getCookie(context, cookieName(site, nameOfFlow(state)));
  const wanted = connections.consent.wantedBy(state, browser);
  if (wanted === undefined) {
    context.set('isGuess', true);
    return sendPage(context, notConnectedPage(LOST, undefined), 400);
  }
  const now = await records.now();
  const here = `${site.base}${connectLink(parts.keys, wanted, now).path}`;
  const take = { id: `oauth-${digestOf(state)}`, holder: randomUUID() };
  const used = await records.keys.takeLink({ ...take, requestId: 'oauth' });
  if (used?.outcome === 'connected') return context.redirect(here, 303);
  if (used !== undefined) {
    const text =
      used.outcome === undefined
        ? 'This is being done at this moment. Open this page again in a minute.'
        : 'This way back was used before.';
    return sendPage(context, notConnectedPage(text, here), 409);
  }
  try {
    const stored = await connections.consent.finish(callback, { now, browser });
    await records.keys.useLink({ ...take, outcome: 'connected' });
    await wakeCalls(options.client, stored);
    return context.redirect(here, 303);
  } catch (error) {
    const isOver = error instanceof OAuthFailed && error.problem !== 'unreachable';
    if (isOver) await records.keys.useLink({ ...take, outcome: error.problem });
    else await records.keys.releaseLink(take);
    return refused(context, parts, error, here);
  }
}

/** Says it to the person, and to the operator. */
function refused(context: GatewayContext, { setting }: Parts, error: unknown, here: string): Response {
  if (!(error instanceof OAuthFailed)) throw error;
  tellOperator(setting, error);
  return sendPage(
    context,
    notConnectedPage(error.message, here),
    error.problem === 'unreachable' ? 503 : 409,
  );
}

function tellOperator({ options }: RouteSetting, { problem, message }: OAuthFailed): void {
  options.logger.warn(`an account was not connected: ${message}`, { problem });
}

async function shownOf({ connections }: Parts, { wanted, here }: Opened): Promise<ConnectionShown> {
  const provider = await connections.providers.find(wanted.app, wanted.credentialKey);
  if (provider === undefined) {
    const text = `no worker of the app ${wanted.app} has told of a provider ${wanted.credentialKey}`;
    throw oauthFailed('misconfigured', text);
  }
  const scopes = [...new Set([...(provider.scopes ?? []), ...wanted.needs])];
  return { wanted, server: serverName(provider), scopes, start: `${here}/start` };
}

/** One for each way, so that several may be open at once. The person comes back from another site. */
function keepFlow(context: GatewayContext, site: PageSite, state: string, browser: string): void {
  keepCookie(context, site, {
    name: nameOfFlow(state),
    value: browser,
    maxAge: FLOW_LIFE / 1_000,
    sameSite: 'Lax',
  });
}

function nameOfFlow(state: string): string {
  return `holdfast-oauth-${digestOf(state).slice(0, 8)}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
