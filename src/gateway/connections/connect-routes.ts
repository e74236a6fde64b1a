import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import { Connections } from '../../oauth/connections.ts';
import {
  beginAtDevice,
  beginConsent,
  connectLink,
  finishConsent,
  flowOf,
  keptBy,
  readConnectLink,
  scopesFor,
  type WantedTokens,
} from '../../oauth/consent.ts';
import { OAuthFailed, oauthFailed, serverName } from '../../oauth/oauth-failed.ts';
import { covers } from '../../oauth/tokens.ts';
import { shortDigest } from '../../protocol/identity.ts';
import { isLeft } from '../background.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { noSuchPage, pageRoute, sendPage } from '../pages/page-answer.ts';
import { siteOf } from '../pages/page-site.ts';
import { RoundTrips } from '../pages/round-trips.ts';
import { wordsPage } from '../pages/shell.ts';
import { isFromElsewhere } from '../pages/sign-in.ts';
import type { RouteSetting } from '../route-setting.ts';
import { connectedPage, connectPage, devicePage, type OpenedLink } from './connect-page.ts';
import { wakeCalls } from './waiting-requests.ts';

const CALLBACK = '/oauth/callback';
const LOST =
  'This way back was begun in another browser, or is not from here. Open the link that you got once more.';
const EXPIRED = wordsPage({
  title: 'This link has expired',
  text: 'Ask for another one: requests in the inbox have it, and holdfast credentials connect makes one.',
});

/** Pages on which people connect accounts: the link alone says for which user. */
export function connectRoutes(app: GatewayHono, { options, limits, background }: RouteSetting): void {
  const { credentialKeys, records, logger, client, publicUrl } = options;
  if (credentialKeys === undefined || records === undefined) return;
  const keys = credentialKeysOf(credentialKeys);
  const connections = new Connections(records.credentials, keys);
  const failed = 'Not connected';
  const trips = new RoundTrips({ records, logger, name: 'oauth', life: 3_600_000, failed, status: 409 });
  /** Codes that wait for other devices, by whose they are. */
  const devices = new Map<string, string>();

  const withLink =
    (show: (context: GatewayContext, link: OpenedLink) => Promise<Response>) =>
    async (context: GatewayContext) => {
      const token = context.req.param('token') ?? '';
      const now = await records.now();
      const wanted = readConnectLink(keys, token, now);
      if (wanted === 'expired') return sendPage(context, EXPIRED, 410);
      if (wanted === undefined) return noSuchPage(context);
      limits.spend({ name: `connect:${wanted.app}:${wanted.userId}` });
      const site = siteOf(context, publicUrl);
      const here = `${site.base}/connect/${token}`;
      return await trips.told(context, here, async () => {
        const provider = await connections.provider(wanted.app, wanted.credentialKey);
        const scopes = await scopesFor(connections, wanted, provider);
        const server = serverName(provider);
        return await show(context, { wanted, provider, server, scopes, site, here, now });
      });
    };

  const showConnection = async (context: GatewayContext, link: OpenedLink) => {
    const { wanted } = link;
    const stored = await records.credentials.find(wanted);
    const isThere = stored?.authType === 'oauth2' && covers(stored.scopes, wanted.needs);
    // A gateway that has died between the tokens and this left calls waiting; calls that asked later can't use the tokens.
    const isConnected = isThere && !(await wakeCalls(client, stored));
    if (!isConnected) return sendPage(context, connectPage(link));
    return sendPage(context, connectedPage(link, stored));
  };

  const start = async (context: GatewayContext, link: OpenedLink) => {
    const { wanted, site, now } = link;
    // A page of another site would skip the words about whose account is connected for whom.
    if (isFromElsewhere(context)) return context.redirect(link.here, 303);
    if (link.provider.grant === 'device_code') {
      const begun = await beginAtDevice(connections, wanted);
      const about = { work: 'consent at another device' };
      if (!background.begin(about, () => awaitDevice(wanted, begun)))
        throw oauthFailed('unreachable', 'this gateway has too much else to do');
      return sendPage(context, devicePage(link, begun.code));
    }
    // A server that registers anybody gets a way back of its own: on that of others it could be sent their codes.
    const own =
      link.provider.clientId === undefined ? `/${shortDigest(link.provider.issuer ?? link.server)}` : '';
    const by = { redirectUri: `${site.origin}${site.base}${CALLBACK}${own}`, until: now + trips.life };
    return trips.leave(context, site, await beginConsent(connections, wanted, by));
  };

  /** The person may close the page: the gateway asks until they have consented, or begin again, or the code has expired. */
  const awaitDevice = async (
    wanted: WantedTokens,
    { code, finish }: Awaited<ReturnType<typeof beginAtDevice>>,
  ) => {
    const { device_code: deviceCode, expires_in: life } = code;
    const interval = Math.max(code.interval ?? 5, 1);
    const key = JSON.stringify([wanted.app, wanted.userId, wanted.credentialKey]);
    devices.set(key, deviceCode);
    try {
      for (let left = life; left > 0 && devices.get(key) === deviceCode; left -= interval) {
        await background.pause(interval * 1_000);
        const stored = await finish().catch(unlessLater);
        if (stored === undefined) continue;
        await wakeCalls(client, stored);
        return;
      }
    } catch (error) {
      if (isLeft(error)) return;
      if (!(error instanceof OAuthFailed)) throw error;
      logger.warn(`${failed}: ${error.message}`, { problem: error.problem });
    } finally {
      if (devices.get(key) === deviceCode) devices.delete(key);
    }
  };

  const comeBack = async (context: GatewayContext) => {
    const site = siteOf(context, publicUrl);
    const { callback, state, kept } = trips.back(context, site);
    const flow = flowOf(connections, state);
    const server = context.req.param('server');
    const own = server === undefined ? '' : `/${server}`;
    const isWay = URL.parse(flow?.redirectUri ?? '')?.pathname === `${site.base}${CALLBACK}${own}`;
    if (flow === undefined || kept !== keptBy(flow) || !isWay) {
      context.set('isGuess', true);
      return trips.failed(context, LOST, undefined, 400);
    }
    const now = await records.now();
    const here = `${site.base}${connectLink(keys, flow, now).path}`;
    return await trips.told(context, here, async () => {
      if (await trips.isFirst(state))
        await wakeCalls(client, await finishConsent(connections, flow, callback, { now }));
      return context.redirect(here, 303);
    });
  };

  app.all('/connect/:token', pageRoute(logger, { GET: withLink(showConnection) }));
  app.all('/connect/:token/start', pageRoute(logger, { GET: withLink(start) }));
  app.all(`${CALLBACK}/:server?`, pageRoute(logger, { GET: comeBack }));
}

/** The person hasn't consented yet, or the server can't answer now. */
function unlessLater(error: unknown): undefined {
  if (error instanceof OAuthFailed && ['pending', 'unreachable'].includes(error.problem)) return undefined;
  throw error;
}
