import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Connections } from '../../src/oauth/connections.ts';
import { OAuthClient } from '../../src/oauth/oauth-client.ts';
import {
  type OAuthProviderOptions,
  providerOfServiceAccount,
  resolveProvider,
} from '../../src/oauth/oauth-provider.ts';
import { currentTokens, factsOf, tokensOfApp } from '../../src/oauth/tokens.ts';
import { Browser, CLIENT } from '../setup/authorization-server.ts';
import { until } from '../setup/until.ts';
import { APP, KEY, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let desk: OAuthDesk;
/** The tool's own server: it refuses these tokens. */
const refused = new Set<string>();
beforeAll(async () => {
  desk = await openOAuthDesk({
    execute: async (context) => {
      const before = context.authCredential?.oauth2?.accessToken ?? '';
      if (!refused.has(before)) return { renewed: false, token: before.length };
      const { accessToken = '' } = (await context.credential({ refused: before }))?.oauth2 ?? {};
      return { renewed: accessToken !== before && !refused.has(accessToken), token: accessToken.length };
    },
  });
});
afterAll(() => desk.close());

const find = async (userId: string) =>
  (await desk.connections.store.find({ app: APP, userId, credentialKey: KEY })) ?? expect.fail('no tokens');
const tokenOf = async (userId: string) => (await desk.tokensOf(userId)).accessToken ?? '';

/** The tokens of a user, as if their time were over. */
async function expire(userId: string): Promise<void> {
  const found = await find(userId);
  const sealed = desk.connections.vault.resealed(found, desk.connections.vault.unsealed(found));
  await desk.environment.store.credentials.put({ ...found, ...sealed, expiresAt: 1 });
}

/** Grants that the server was asked for meanwhile. */
async function grantsOf(work: () => Promise<unknown>): Promise<string[]> {
  const before = desk.server.grants.length;
  await work();
  return desk.server.grants.slice(before);
}

describe('tokens of a user', () => {
  test('that have expired are refreshed once, by whatever many calls and workers [oauth.refresh]', async () => {
    await desk.connect('ada');
    await expire('ada');
    const before = await tokenOf('ada');
    const { credentials } = desk.environment.store;
    // Each has what a worker has in its process.
    const workers = [new Connections(credentials, desk.keys), new Connections(credentials, desk.keys)];
    const grants = await grantsOf(async () => {
      const found = await find('ada');
      const calls = Array.from({ length: 50 }, (_each, n) =>
        currentTokens(workers[n % 2] ?? desk.connections, found, { scopes: ['calendar.read'] }),
      );
      const tokens = new Set((await Promise.all(calls)).map((credential) => credential?.oauth2?.accessToken));
      expect([...tokens]).toEqual([await tokenOf('ada')]);
      expect(tokens).not.toContain(before);
    });
    expect(grants).toEqual(['refresh_token']);
    // The server has seen no token twice: the grant is there, and the next refresh goes well.
    await expire('ada');
    expect(
      await grantsOf(async () => (await desk.send('ada', Array(5).fill('list_events'))).result()),
    ).toEqual(['refresh_token']);
  });

  test('that a server refuses are refreshed once for it [oauth.refused]', async () => {
    await desk.connect('bob');
    refused.add(await tokenOf('bob'));
    const grants = await grantsOf(async () => {
      expect((await (await desk.send('bob')).result()).text).toBe('[{"renewed":true,"token":43}]');
    });
    expect(grants).toEqual(['refresh_token']);
  });

  test('that are revoked have the person asked, and the call goes on with others [oauth.refused]', async () => {
    await desk.connect('cy');
    const { grantId = '' } = (await desk.server.provider.AccessToken.find(await tokenOf('cy'))) ?? {};
    await desk.server.provider.Grant.adapter.revokeByGrantId(grantId);
    await desk.server.provider.RefreshToken.adapter.revokeByGrantId(grantId);
    await expire('cy');
    const turn = await desk.send('cy');
    expect(await desk.pending('cy')).toMatchObject([{ kind: 'credential' }]);
    await desk.connect('cy');
    expect((await turn.result()).text).toBe('[{"renewed":false,"token":43}]');
  });

  test('of a worker that died while it refreshed are refreshed by another, once its time is over [oauth.refresh]', async () => {
    await desk.connect('dee');
    await expire('dee');
    const expired = await find('dee');
    const { credentials } = desk.environment.store;
    expect(await credentials.lease(expired, 'dead', 1_000)).toBe(true);
    expect(await credentials.lease(expired, 'other', 1_000)).toBe(false);
    expect((await (await desk.send('dee')).result()).text).toBe('[{"renewed":false,"token":43}]');
    // Its tokens come too late.
    const now = await find('dee');
    const late = { credential: { ...now, sealed: 'bGF0ZQ==' }, before: now.sealed };
    expect(await credentials.replace({ ...late, holder: 'dead' })).toBe(false);
    expect(await credentials.replace({ ...late, before: 'b3RoZXI=' })).toBe(false);
  });

  test('that a person consents to while others are refreshed are the call’s [oauth.refresh]', async () => {
    await desk.connect('fay');
    await expire('fay');
    const before = await find('fay');
    await desk.environment.store.credentials.lease(before, 'other', 60_000);
    const waiting = currentTokens(new Connections(desk.environment.store.credentials, desk.keys), before, {
      scopes: [],
    });
    await desk.connect('fay');
    expect((await waiting)?.oauth2?.accessToken).toBe(await tokenOf('fay'));
  });

  test.each([
    [['email', 'calendar.read'], ['https://www.example.com/auth/userinfo.email'], ['email']],
    [['User.Read', 'Mail.Read'], ['https://graph.example.com/User.Read'], ['User.Read']],
    [['read'], ['unread', 'all'], ['read']],
    [['one', 'two'], undefined, ['one', 'two']],
  ])('of which %j were asked for and %j are said have %j [oauth.scopes]', (asked, said, granted) => {
    const { scopes = [] } = factsOf({ accessToken: 't', ...(said && { scopes: said }) }, asked);
    expect(scopes.filter((scope) => asked.includes(scope))).toEqual(granted);
  });

  test('lie sealed in the store, with another key once they are sealed anew [credential.keys]', async () => {
    await desk.connect('eve');
    const [first] = Object.values({ key: desk.keys.sealing() });
    const second = { id: 'k2', bytes: Buffer.alloc(32, 7) };
    const both = { sealing: () => second, find: (id: string) => (id === 'k2' ? second : first) };
    const rotated = new Connections(desk.environment.store.credentials, both);
    await expire('eve');
    const [before, found] = [await tokenOf('eve'), await find('eve')];
    expect(await rotated.reseal(APP)).toBeGreaterThan(0);
    expect(await rotated.reseal(APP)).toBe(0);
    expect((await find('eve')).keyId).toBe('k2');
    expect(rotated.vault.unsealed(await find('eve')).oauth2?.accessToken).toBe(before);
    // A call that has found them as they were refreshes those that are there.
    const renewed = await currentTokens(rotated, found, { scopes: [] });
    expect(renewed?.oauth2?.accessToken).not.toBe(before);
    const back = { sealing: () => first ?? second, find: both.find };
    await new Connections(desk.environment.store.credentials, back).reseal(APP);
  });
});

describe('a grant', () => {
  const providerOf = (more: Partial<OAuthProviderOptions>) =>
    resolveProvider('test', 'provider', { issuer: desk.server.issuer, ...CLIENT, ...more });

  test('of client credentials is the app’s: nobody is asked, and one token serves all users [oauth.grants]', async () => {
    const provider = providerOf({ grant: 'client_credentials' });
    const key = randomUUID();
    const grants = await grantsOf(async () => {
      const many = Array.from({ length: 20 }, () => tokensOfApp(APP, key, { scopes: [], provider }));
      const tokens = new Set((await Promise.all(many)).map(({ oauth2 }) => oauth2?.accessToken));
      expect(tokens.size).toBe(1);
      const again = await tokensOfApp(APP, key, { scopes: [], provider });
      expect([again.oauth2?.accessToken]).toEqual([...tokens]);
    });
    expect(grants).toEqual(['client_credentials']);
  });

  test('of a service account is signed by its key [oauth.grants]', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const seen: URLSearchParams[] = [];
    const scripted = await serve((body) => {
      seen.push(new URLSearchParams(body));
      return { status: 200, json: { access_token: 'of-the-account', token_type: 'Bearer', expires_in: 60 } };
    });
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const file = {
      type: 'service_account',
      clientEmail: 'robot@example.com',
      privateKey: pem,
      tokenUri: scripted.url,
    };
    const serviceAccount = { serviceAccountCredential: file as never, scopes: ['calendar.read'] };
    const provider = providerOfServiceAccount('test', serviceAccount);
    const credential = await tokensOfApp(APP, randomUUID(), { scopes: [], provider });
    expect(credential.oauth2?.accessToken).toBe('of-the-account');
    // A user may store one, too: it leads to no server inside the network.
    const owner = { app: APP, userId: 'sam', credentialKey: KEY };
    await desk.client.credentials.put({
      ...owner,
      credential: { authType: 'serviceAccount', serviceAccount },
    });
    const ofUser = currentTokens(desk.connections, await find('sam'), { scopes: [] });
    await expect(ofUser).rejects.toMatchObject({ problem: 'misconfigured' });
    expect(seen).toHaveLength(1);
    const [, claims = ''] = seen[0]?.get('assertion')?.split('.') ?? [];
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      iss: 'robot@example.com',
      scope: 'calendar.read',
      aud: scripted.url,
    });
    await scripted.close();
  });

  test('of another device shows a code, and goes on once it was entered there [oauth.device]', async () => {
    const own = await openOAuthDesk({ provider: { grant: 'device_code' } });
    try {
      const turn = await own.send('ada');
      await own.pending('ada');
      const browser = new Browser();
      const link = await own.link('ada', ['calendar.read']);
      const page = (await (await browser.get(`${link}/start`)).text()).replace(/<bdi>|<\/bdi>/g, '');
      const [, code = ''] = /<code>([A-Z]{4}-[A-Z]{4})<\/code>/.exec(page) ?? [];
      expect(code).not.toBe('');
      await new Browser().enterCode(own.server.issuer, code);
      await until(async () => {
        expect(await (await browser.get(link)).text()).toContain('Connected');
      });
      expect((await turn.result()).text).toBe('[{"events":43}]');
    } finally {
      await own.close();
    }
  });
});

type Answer = { status: number; json?: unknown; html?: string; headers?: Record<string, string> };

/** A server that answers each request as it is told. */
async function serve(answer: (body: string, path: string) => Answer | undefined) {
  const server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const said = answer(body, request.url ?? '');
      // It hangs.
      if (said === undefined) return;
      const { status, json, html, headers } = said;
      const type = html === undefined ? 'application/json' : 'text/html';
      response.writeHead(status, { 'content-type': type, ...headers });
      response.end(html ?? JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

describe('a server', () => {
  const flow = { state: 's', verifier: 'v'.repeat(43), nonce: 'n', redirectUri: 'https://x.example/back' };
  const ask = async (answer: (body: string, path: string, url: string) => Answer | undefined, more = {}) => {
    let url = '';
    const server = await serve((body, path) => answer(body, path, url));
    url = server.url;
    try {
      const provider = resolveProvider('test', 'p', { issuer: url, ...CLIENT, ...more });
      const client = new OAuthClient(provider);
      return await client.exchange(new URLSearchParams({ code: 'c', state: 's', iss: url }), flow);
    } finally {
      await server.close();
    }
  };
  const metadata = (url: string, more = {}) => ({
    status: 200,
    json: { issuer: url, authorization_endpoint: `${url}/a`, token_endpoint: `${url}/t`, ...more },
  });
  const granted = { access_token: 'a-planted-token', token_type: 'Bearer' };
  const isMetadata = (path: string) => path.startsWith('/.well-known/');
  /** A server whose metadata are right, and whose tokens are not. */
  const tokens = (answer: (url: string) => Answer) => (_body: string, path: string, url: string) =>
    isMetadata(path) ? metadata(url) : answer(url);

  test.each<[string, (body: string, path: string, url: string) => Answer | undefined, string, string]>([
    ['whose metadata is of another issuer', (_b, _p, url) => metadata(`${url}/other`), 'invalid', ''],
    [
      'whose metadata leads into the network',
      (_b, _p, url) => metadata(url, { token_endpoint: 'http://10.0.0.1/t' }),
      'misconfigured',
      '`allow`',
    ],
    [
      'that knows no challenges of S256',
      (_b, _p, url) => metadata(url, { code_challenge_methods_supported: ['plain'] }),
      'misconfigured',
      'S256',
    ],
    ['that has no metadata', () => ({ status: 404, json: {} }), 'invalid', ''],
    ['that answers HTML', () => ({ status: 200, html: '<p>planted</p>' }), 'invalid', ''],
    ['that fails', () => ({ status: 503, html: '' }), 'unreachable', ''],
    [
      'that refuses the client',
      tokens((_url) => ({ status: 401, json: { error: 'invalid_client', error_description: 'planted' } })),
      'unknown_client',
      'invalid_client',
    ],
    [
      'that refuses the client by a challenge in a header',
      tokens((_url) => ({ status: 401, json: {}, headers: { 'www-authenticate': 'Basic realm="planted"' } })),
      'unknown_client',
      '401',
    ],
    [
      'that gives tokens of another kind',
      tokens((_url) => ({ status: 200, json: { ...granted, token_type: 'mac' } })),
      'invalid',
      '',
    ],
    [
      'that gives no token',
      (_b, path, url) => (isMetadata(path) ? metadata(url) : { status: 200, json: {} }),
      'invalid',
      '',
    ],
    [
      'that has an ID token of another time',
      tokens((url) => ({ status: 200, json: { ...granted, id_token: idToken(url, 400) } })),
      'invalid',
      'clocks',
    ],
    [
      'that has an ID token for somebody else',
      tokens((url) => ({ status: 200, json: { ...granted, id_token: idToken(url, 0, 'other') } })),
      'invalid',
      '',
    ],
  ])('%s is told as it is, without its words [oauth.badAnswers]', async (_name, answer, problem, said) => {
    const failure = await ask(answer).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'HOLDFAST_OAUTH_FAILED', problem });
    expect(String((failure as Error).message)).toContain(said);
    expect(JSON.stringify(failure) + (failure as Error).message).not.toMatch(/planted|client-secret/);
  });

  test('may give tokens without an end, and with fewer scopes than it was asked for [oauth.badAnswers]', async () => {
    const given = await ask(tokens(() => ({ status: 200, json: { ...granted, scope: 'one' } })));
    expect(given).toEqual({ accessToken: 'a-planted-token', scopes: ['one'] });
  });
});

/** An ID token of a server, whose clock is so many seconds ahead. The client has it from the server itself: no signature is read. */
function idToken(iss: string, ahead: number, aud = CLIENT.clientId): string {
  const iat = Math.floor(Date.now() / 1_000) + ahead;
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part({ iss, aud, sub: 'ada', nonce: 'n', iat, nbf: iat, exp: iat + 3_600 })}.${'A'.repeat(342)}`;
}
