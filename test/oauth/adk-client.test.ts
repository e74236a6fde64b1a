import { randomBytes, randomUUID } from 'node:crypto';
import { registerHooks } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { App } from '../../src/app/app.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { GatewayClient } from '../../src/client/index.ts';
import { localAccess, serveGateway } from '../../src/gateway/index.ts';
import {
  AUTH_PREPROCESSOR,
  AuthProviderRegistry,
  type Content,
  CredentialExchangeError,
  CredentialRefresherRegistry,
  type Event,
  getFunctionResponses,
  InMemoryRunner,
  OAuth2CredentialExchanger,
  OAuth2DiscoveryManager,
  Runner,
  State,
  tool,
} from '../../src/index.ts';
import { holdVariables } from '../../src/testing/open-test-environment.ts';
import { ABOUT, collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import { type AuthorizationServer, Browser, openAuthorizationServer } from '../setup/authorization-server.ts';
import { freePort } from '../setup/free-port.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import type { Asked } from '../types/programs/calendars.ts';
import { obedient } from './oauth-desk.ts';

const holdfast = new URL('../../src/index.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    next(
      specifier === '@google/adk' && context.parentURL?.includes('/types/programs/') ? holdfast : specifier,
      context,
    ),
});
/** A program of ADK with its import changed. */
const program: typeof import('../types/programs/calendars.ts') = await import(
  `../types/programs/${'calendars'}.ts`
);

const APP = 'planner';
/** The way back of a client of ADK: nobody listens there. */
const BACK = 'http://127.0.0.1:9/dev-ui';
const CLIENT = { clientId: 'adk', clientSecret: 'adk-client-secret-9Kx2' };
const { asksIn, answerTo, pageOf, byFlow, byOpenId, calendarAgent, connected } = program;

let server: AuthorizationServer;
let environment: TurnEnvironment;
let runner: Runner;
let client: HoldfastClient;
const place = () => ({ ...CLIENT, issuer: server.issuer });

beforeAll(async () => {
  const grant_types = ['authorization_code', 'refresh_token', 'client_credentials'];
  server = await openAuthorizationServer([], {
    clients: [
      {
        ...{ client_id: CLIENT.clientId, client_secret: CLIENT.clientSecret, redirect_uris: [BACK] },
        // As ADK's clients prove themselves.
        ...{ grant_types, response_types: ['code'], token_endpoint_auth_method: 'client_secret_post' },
      },
    ],
  });
  const config = byFlow(place());
  const gated = tool({
    name: 'list_gated',
    description: 'Says whether it has a token.',
    authConfig: { ...config, credentialKey: 'calendar-gated' },
    execute: (_args, { authCredential }) => ({ hasToken: authCredential?.oauth2?.accessToken !== undefined }),
  });
  const agent = calendarAgent(place(), [gated as never]) as unknown as App['rootAgent'];
  const credentialKeys = { k1: randomBytes(32).toString('base64') };
  environment = await openTurnEnvironment({
    apps: [new App({ name: APP, rootAgent: agent })],
    script: obedient,
    workerOptions: { credentialKeys },
  });
  const { temporal, store } = environment;
  client = new HoldfastClient({ temporal, store, credentialKeys });
  runner = new Runner({ appName: APP, agent, client });
});
afterAll(async () => {
  await environment?.close();
  await server?.close();
});

let users = 0;
/** A session of its own, of a new user unless one is named. */
async function open(userId = `user-${users}`, on = runner) {
  users += 1;
  const { id: sessionId } = await on.sessionService.createSession({ appName: APP, userId });
  return {
    ...{ userId, sessionId },
    async say(message: string | Content): Promise<Event[]> {
      const told = JSON.stringify(`${message}`.split(' ').map((name) => ({ name, args: {} })));
      const newMessage = typeof message === 'string' ? { role: 'user', parts: [{ text: told }] } : message;
      const events: Event[] = [];
      for await (const event of on.runAsync({ userId, sessionId, newMessage })) events.push(event);
      return events;
    },
    pending: async () => (await client.approvals.list({ app: APP, userId, sessionId })).length,
  };
}

type Talk = Awaited<ReturnType<typeof open>>;

/** Asks for a tool until its credential is asked for. */
async function asked(talk: Talk, name = 'list_events'): Promise<Asked> {
  const [ask] = asksIn((await talk.say(name)) as never);
  if (ask === undefined) throw new Error('nothing was asked');
  return ask;
}

/** The whole address of the way back, as the browser of a person comes to it. */
const wayBack = (ask: Asked, says = 'yes', account = 'ada@example.com') =>
  new Browser().consent(pageOf(ask, BACK), BACK, { says, account });

const answerOf = (events: readonly Event[]) =>
  events.flatMap((event) => getFunctionResponses(event)).map(({ response }) => response);
const problemOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    ({ code, details }) => [code, details?.problem],
  );
const FAILED = 'HOLDFAST_OAUTH_FAILED';

describe('a program of ADK whose tool asks for consent, with its import changed', () => {
  test('goes on with the way back that its client answers; neither code nor tokens are in history or events [credential.adk] [credential.secret]', async () => {
    const talk = await open();
    const ask = await asked(talk);
    const { authConfig } = ask;
    const { oauth2 } = authConfig.exchangedAuthCredential ?? {};
    expect(Object.keys(oauth2 ?? {}).toSorted()).toEqual(['authUri', 'clientId', 'state']);
    expect(authConfig.rawAuthCredential).toBeUndefined();
    expect(Object.fromEntries(new URL(oauth2?.authUri ?? '').searchParams)).toMatchObject({
      ...{ client_id: CLIENT.clientId, response_type: 'code', code_challenge_method: 'S256' },
      ...{ scope: 'openid calendar.read', access_type: 'offline', state: oauth2?.state },
    });
    const back = await wayBack(ask);
    const events = await talk.say(answerTo(ask, back, BACK));
    expect(answerOf(events)).toEqual([{ owner: 'ada@example.com', day: 'today' }]);

    const { userId, sessionId } = talk;
    const session = await runner.sessionService.getSession({ appName: APP, userId, sessionId });
    expect(session?.state).toMatchObject({ calendar_owner: 'ada@example.com' });
    const told = [JSON.stringify(session), JSON.stringify(await client.approvals.list({ app: APP, userId }))];
    for await (const { workflowId } of environment.temporal.workflow.list())
      told.push(JSON.stringify(await environment.temporal.workflow.getHandle(workflowId).fetchHistory()));
    const decoded = told
      .join()
      .replaceAll(/"data":"([^"]*)"/g, (_all, data: string) => Buffer.from(data, 'base64').toString());
    expect(decoded).toContain('"credentialRef":"cr-');
    expect(server.secrets.size).toBeGreaterThan(3);
    const code = new URL(back).searchParams.get('code') ?? '';
    for (const secret of [...server.secrets, code, CLIENT.clientSecret])
      expect(decoded).not.toContain(secret);

    const other = await open(userId);
    const again = await other.say('list_events');
    expect(asksIn(again as never)).toEqual([]);
    expect(answerOf(again)).toEqual([{ owner: 'ada@example.com', day: 'today' }]);
  });

  test('with the endpoints of an OpenID provider, by two requests of one step [credential.adk]', async () => {
    const talk = await open();
    const asks = asksIn((await talk.say('list_openid_events list_events')) as never);
    expect(asks.map(({ authConfig }) => authConfig.credentialKey).toSorted()).toEqual([
      'calendar',
      'calendar-openid',
    ]);
    const backs = await Promise.all(asks.map((ask) => wayBack(ask, 'yes', 'eve@example.com')));
    const parts = asks.flatMap((ask, index) => answerTo(ask, backs[index] ?? '', BACK).parts);
    const owner = { owner: 'eve@example.com', day: 'today' };
    expect(answerOf(await talk.say({ role: 'user', parts } as Content))).toEqual([owner, owner]);
  });

  test('and a tool with `authConfig`, answered in the words of a client in Python: by a code, and null for what is not there [credential.adk]', async () => {
    const talk = await open();
    const { id, ...ask } = await asked(talk, 'list_gated');
    const { oauth2 } = ask.authConfig.exchangedAuthCredential ?? {};
    const auth_code = new URL(await wayBack({ id, ...ask })).searchParams.get('code');
    const response = {
      auth_scheme: { type_: 'oauth2', description: null },
      raw_auth_credential: null,
      exchanged_auth_credential: {
        ...{ auth_type: 'oauth2', resource_ref: null, api_key: null, http: null, service_account: null },
        oauth2: {
          ...{ client_id: oauth2?.clientId, auth_uri: oauth2?.authUri, state: oauth2?.state },
          ...{ redirect_uri: BACK, auth_response_uri: null, auth_code, access_token: null },
        },
      },
      credential_key: 'calendar-gated',
    };
    const name = 'adk_request_credential';
    const wrapped = { response: JSON.stringify(response) };
    const events = await talk.say({
      role: 'user',
      parts: [{ functionResponse: { id, name, response: wrapped } }],
    });
    expect(answerOf(events)).toEqual([{ hasToken: true }]);
  });
});

describe('the same program', () => {
  test('runs with an InMemoryRunner, which keeps tokens with a key of its own [credential.adk]', async () => {
    const letGo = holdVariables(environment.gemini.env);
    try {
      await using memory = new InMemoryRunner({ agent: calendarAgent(place()) as never, appName: APP });
      const talk = await open('ada', memory);
      const ask = await asked(talk);
      const events = await talk.say(answerTo(ask, await wayBack(ask), BACK));
      expect(answerOf(events)).toEqual([{ owner: 'ada@example.com', day: 'today' }]);
    } finally {
      letGo();
    }
  });

  test('runs behind a gateway: a person who says no leaves the request open, and can consent later [credential.adk]', async () => {
    const lines: LoggedLine[] = [];
    const token = randomUUID();
    const { store } = environment;
    const served = await serveGateway({
      gateway: {
        ...{ client, records: store, access: localAccess({ token }), about: () => ABOUT },
        ...{ ready: async () => ({}), logger: collecting(lines) },
      },
      port: await freePort(),
    });
    const remote = new GatewayClient({ url: served.url, token });
    const talk = await open(undefined, new Runner({ appName: APP, agent: runner.agent, client: remote }));
    const ask = await asked(talk);
    const denied = talk.say(answerTo(ask, await wayBack(ask, 'no'), BACK));
    await expect(denied).rejects.toThrow(/consent was denied \(access_denied\)/);
    expect([await problemOf(denied), await talk.pending()]).toEqual([[FAILED, 'denied'], 1]);
    const back = await wayBack(ask);
    const events = await talk.say(answerTo(ask, back, BACK));
    expect(answerOf(events)).toMatchObject([{ owner: 'ada@example.com' }]);
    expect(JSON.stringify(lines)).not.toContain(new URL(back).searchParams.get('code'));
    await served.close();
  });
});

describe('a way back that is none of the request', () => {
  test('of another user, another request, or a forged state is refused, and no code of it is exchanged [credential.adk]', async () => {
    const ada = await open();
    const [mine, gated] = asksIn((await ada.say('list_events list_gated')) as never);
    const eve = await open();
    const theirs = await asked(eve);
    if (mine === undefined || gated === undefined) throw new Error('two are asked for');
    const before = server.grants.length;
    const forEve = await wayBack(theirs, 'yes', 'eve@example.com');
    const own = new URL(await wayBack(mine));
    const forged = new URL(own);
    forged.searchParams.set('state', `${own.searchParams.get('state')}x`);
    const stateless = new URL(own);
    stateless.searchParams.delete('state');
    const foreign = [forEve, await wayBack(gated), forged.href, stateless.href, `${BACK}?code=1`];
    for (const back of foreign)
      expect(await problemOf(ada.say(answerTo(mine, back, BACK))), back).toEqual([FAILED, 'invalid']);
    // The request's own state is no key to the code of another one.
    const injected = new URL(own);
    injected.searchParams.set('code', new URL(forEve).searchParams.get('code') ?? '');
    expect(server.grants.length).toBe(before);
    expect(await problemOf(ada.say(answerTo(mine, injected.href, BACK)))).toEqual([FAILED, 'revoked']);
    const mixed = new URL(own);
    mixed.searchParams.set('iss', 'https://evil.example');
    expect(await problemOf(ada.say(answerTo(mine, mixed.href, BACK)))).toEqual([FAILED, 'invalid']);
    expect(await problemOf(ada.say(answerTo(mine, own.href, `${BACK}/other`)))).toEqual([FAILED, 'revoked']);
    expect(await ada.pending()).toBe(2);
    expect(await client.credentials.list({ app: APP, userId: ada.userId })).toEqual([]);
  });

  test('is refused where it comes twice, and its code is exchanged once [credential.adk]', async () => {
    const talk = await open();
    const ask = await asked(talk);
    const answer = answerTo(ask, await wayBack(ask), BACK);
    await talk.say(answer);
    const before = server.grants.length;
    expect(await problemOf(talk.say(answer))).toEqual(['HOLDFAST_REQUEST_NOT_PENDING', undefined]);
    expect(server.grants.length).toBe(before);
    const again = await open(talk.userId);
    expect(asksIn((await again.say('list_events')) as never)).toEqual([]);
  });
});

test('answers of which one fails are sent again whole: a code that was exchanged is not exchanged again [credential.adk]', async () => {
  const talk = await open();
  const asks = asksIn((await talk.say('list_events list_gated')) as never);
  const answers = await Promise.all(asks.map(async (ask) => ({ ask, back: await wayBack(ask) })));
  const message = (secondBack = answers[1]?.back ?? '') => ({
    role: 'user',
    parts: answers.flatMap(
      ({ ask, back }, index) => answerTo(ask, index === 1 ? secondBack : back, BACK).parts,
    ),
  });
  const before = server.grants.length;
  expect(await problemOf(talk.say(message(`${BACK}?code=1&state=2`) as Content))).toEqual([
    FAILED,
    'invalid',
  ]);
  expect([await talk.pending(), server.grants.length]).toEqual([2, before + 1]);
  expect(answerOf(await talk.say(message() as Content))).toMatchObject([{}, {}]);
  expect([await talk.pending(), server.grants.length]).toEqual([0, before + 2]);
});

describe('ADK’s classes for OAuth', () => {
  const page = (says?: string) => (authUri: string) =>
    new Browser().consent(authUri, BACK, says === undefined ? {} : { says });

  test('AuthHandler connects with PKCE, and keeps no secret in the state [credential.handler]', async () => {
    const values = {};
    const state = new State(values);
    const credential = await connected(byOpenId(place(), BACK), state as never, page());
    expect(credential?.oauth2).toMatchObject({
      accessToken: expect.any(String),
      idToken: expect.any(String),
      expiresAt: expect.any(Number),
      clientId: CLIENT.clientId,
    });
    expect(server.secrets).toContain(credential?.oauth2?.accessToken);
    expect([values, state.hasDelta()]).toEqual([{}, false]);
    const denied = connected(byFlow(place(), BACK), state as never, page('no'));
    await expect(denied).rejects.toThrow(CredentialExchangeError);
    await expect(denied).rejects.toThrow(/access_denied/);
    const swapped = connected(byFlow(place(), BACK), state as never, async (authUri) => {
      const back = new URL(await page()(authUri));
      back.searchParams.set('state', 'another');
      return back.href;
    });
    await expect(swapped).rejects.toThrow(CredentialExchangeError);
  });

  test('OAuth2CredentialExchanger gets tokens of the client, and none without PKCE [credential.handler]', async () => {
    const exchanger = new OAuth2CredentialExchanger();
    const tokenUrl = `${server.issuer}/token`;
    const own = { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } } as const;
    const exchange = (oauth2: object, authScheme: object | undefined = own) =>
      exchanger.exchange({ authScheme, authCredential: { authType: 'oauth2', oauth2 } } as never);
    const { credential } = await exchange(CLIENT);
    expect(server.secrets).toContain(credential.oauth2?.accessToken);
    await expect(exchange({ ...CLIENT, clientSecret: 'wrong' })).rejects.toThrow(/invalid_client/);
    const coded = exchange({ ...CLIENT, authCode: 'c', redirectUri: BACK }, byOpenId(place()).authScheme);
    await expect(coded).rejects.toThrow(/codeVerifier/);
    await expect(exchange(CLIENT, {})).rejects.toThrow(CredentialExchangeError);
    expect(await exchange({ accessToken: 't' })).toMatchObject({ wasExchanged: false });
  });

  test('OAuth2DiscoveryManager finds what names itself, at hosts that it may ask; registries give what they were given [credential.handler]', async () => {
    const { issuer } = server;
    const allowed = new OAuth2DiscoveryManager({ allow: [new URL(issuer).host] });
    expect(await allowed.discoverAuthServerMetadata(issuer)).toMatchObject({
      ...{ issuer, token_endpoint: `${issuer}/token` },
    });
    expect(await allowed.discoverAuthServerMetadata(`${issuer}/other`)).toBeUndefined();
    expect(await allowed.discoverResourceMetadata(issuer)).toBeUndefined();
    expect(await new OAuth2DiscoveryManager().discoverAuthServerMetadata(issuer)).toBeUndefined();
    expect(await allowed.discoverAuthServerMetadata('no address')).toBeUndefined();
    const providers = new AuthProviderRegistry();
    const provider = { getAuthCredential: async () => undefined };
    providers.register('oauth2', provider);
    expect(providers.getProvider({ type: 'oauth2' })).toBe(provider);
    expect(new CredentialRefresherRegistry().getRefresher('oauth2')).toBeUndefined();
    const first = await AUTH_PREPROCESSOR.runAsync({} as never, {} as never).next();
    expect(first).toEqual({ done: true, value: undefined });
  });
});
