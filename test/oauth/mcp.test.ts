import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { beginConsent } from '../../src/oauth/consent.ts';
import { scopesOf } from '../../src/oauth/oauth-provider.ts';
import { currentTokens } from '../../src/oauth/tokens.ts';
import type { GeminiRequest } from '../../src/testing/index.ts';
import { InvocationContext } from '../../src/tools/invocation-context.ts';
import type { MCPAuthOptions } from '../../src/tools/mcp/mcp-auth.ts';
import { MCPToolset, type MCPToolsetOptions } from '../../src/tools/mcp/mcp-toolset.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { type AuthorizationServer, openAuthorizationServer } from '../setup/authorization-server.ts';
import { type GuardedServer, startGuardedServer } from './guarded-mcp-server.ts';
import { APP, KEY, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let server: GuardedServer;
let desk: OAuthDesk;
let other: AuthorizationServer;
beforeAll(async () => {
  server = await startGuardedServer();
  other = await openAuthorizationServer([]);
  desk = await openOAuthDesk({
    // Whatever the scopes: tokens are to be refreshed.
    configuration: { issueRefreshToken: () => Promise.resolve(true) },
    provider: { resource: server.url },
    tools: (authorization) => [
      toolset('desk', { allow: [authorization, other].map(({ issuer }) => new URL(issuer).host) }),
      toolset('own', { credentialKey: KEY, scopes: ['calendar.read'] }),
    ],
  });
  server.trusts = desk.server;
});
afterAll(async () => {
  await desk.close();
  await other.close();
  await server[Symbol.asyncDispose]();
});

const toolset = (prefix: string, auth: true | MCPAuthOptions = true) =>
  new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: server.url }, [], prefix, { auth });
const keyOf = () => `mcp:${server.url}`;

/** The person consents to what the pending request of the user asks for. */
async function consent(userId: string, credentialKey = keyOf()): Promise<void> {
  const [request] = await desk.pending(userId);
  expect(request).toMatchObject({
    kind: 'credential',
    authConfig: { credentialKey, provider: expect.any(String) },
  });
  const scopes = scopesOf(request?.authConfig ?? { authScheme: {} });
  expect(await desk.connect(userId, { scopes, credentialKey })).toContain('Connected');
}

/** Names of the tools that the model was told of in its last request. */
function declared(index = -1): string[] {
  const { tools = [] } = (desk.environment.gemini.requests.at(index)?.body ?? {}) as Partial<GeminiRequest>;
  return tools
    .flatMap((each) => ('functionDeclarations' in each ? (each.functionDeclarations ?? []) : []))
    .flatMap(({ name = '' }) => (/desk|own/.test(name) ? [name] : []));
}

async function connected(userId: string): Promise<void> {
  const turn = await desk.send(userId, ['connect_desk']);
  await consent(userId);
  await turn.result();
}

/** The newest token that the server has seen. */
const token = () => server.calls.at(-1)?.token ?? '';

describe('an MCP server that wants OAuth', () => {
  test('is connected by a tool, with a client of its own, and then has its tools [mcp.oauth.connect]', async () => {
    const turn = await desk.send('ada', ['connect_desk']);
    await consent('ada');
    expect(declared()).toEqual(['connect_desk', 'connect_own']);
    expect((await turn.result()).text).toContain('its tools are there');
    expect(declared()).toEqual(['desk_list_events', 'desk_add_event', 'connect_own']);
    const { text } = await (await desk.send('ada', ['desk_list_events'])).result();
    expect(text).toContain('list_events is done');
    expect(await desk.client.credentials.list({ app: APP, userId: 'ada' })).toMatchObject([
      { credentialKey: keyOf(), scopes: ['calendar.read'] },
    ]);
  });

  test('gets a client for each address of the gateway, and another in place of one that its server forgot [mcp.oauth.connect]', async () => {
    await connected('ann');
    const { connections } = desk;
    const wanted = { app: APP, userId: 'ann', credentialKey: keyOf(), needs: [] };
    const at = async (redirectUri: string) => (await beginConsent(connections, wanted, { redirectUri })).url;
    const clientIn = (url: string) => new URL(url).searchParams.get('client_id');
    const addresses = ['https://a.example/oauth/callback', 'https://b.example/oauth/callback'];
    const [a, b, again] = [
      ...(await Promise.all(addresses.map(at))).map(clientIn),
      clientIn(await at(addresses[0] ?? '')),
    ];
    expect(a).not.toBe(b);
    expect(again).toBe(a);
    const found = (await connections.store.find(wanted)) ?? expect.fail();
    const { oauth2 } = connections.vault.unsealed(found);
    const refuse = { scopes: [], refused: oauth2?.accessToken };
    expect(await currentTokens(connections, found, refuse)).toMatchObject({ authType: 'oauth2' });

    const { clientId = '' } = oauth2 ?? {};
    // The package's types leave it out.
    const clients = desk.server.provider.Client as unknown as typeof desk.server.provider.Grant;
    await clients.adapter.destroy(clientId);
    const now = (await connections.store.find(wanted)) ?? expect.fail();
    const { accessToken } = connections.vault.unsealed(now).oauth2 ?? {};
    expect(await currentTokens(connections, now, { scopes: [], refused: accessToken })).toBeUndefined();
    expect(await connections.findProvider(APP, keyOf(), { clientId })).not.toHaveProperty('clientId');
    await connected('ann');
    expect(connections.vault.unsealed((await connections.store.find(wanted)) ?? expect.fail())).toMatchObject(
      {
        oauth2: { clientId: expect.not.stringMatching(clientId) },
      },
    );
  });

  test('that takes no tokens of the app fails, and has nobody asked [mcp.oauth.refused]', async () => {
    const own = toolset('own', { credentialKey: KEY });
    onTestFinished(() => own.close());
    const tokens = { authType: 'oauth2', oauth2: { accessToken: 'of-the-app' } };
    const init = { appName: APP, state: {}, credentials: { renewed: async () => tokens } };
    const context = new ReadonlyContext(new InvocationContext(init as never));
    await expect(own.getTools(context)).rejects.toThrow('not with these tokens');
  });

  test('takes renewed tokens, once, where it takes the others no longer [mcp.oauth.refused]', async () => {
    await connected('bob');
    await (await desk.send('bob', ['desk_list_events'])).result();
    const before = token();
    await (await desk.server.provider.AccessToken.find(before))?.destroy();
    const grants = desk.server.grants.length;
    const refused = server.refused.length;
    const { text } = await (await desk.send('bob', ['desk_list_events'])).result();
    expect(text).toContain('list_events is done');
    expect(token()).not.toBe(before);
    expect(desk.server.grants.slice(grants)).toEqual(['refresh_token']);
    expect(server.refused.slice(refused)).toEqual([401]);
  });

  test('has the person asked again where the whole grant is gone, and the call goes on [mcp.oauth.refused]', async () => {
    await connected('eve');
    await (await desk.send('eve', ['desk_list_events'])).result();
    const { AccessToken, RefreshToken } = desk.server.provider;
    const { grantId = '' } = (await AccessToken.find(token())) ?? {};
    await AccessToken.revokeByGrantId(grantId);
    await RefreshToken.revokeByGrantId(grantId);
    const turn = await desk.send('eve', ['desk_list_events']);
    await consent('eve');
    expect((await turn.result()).text).toContain('list_events is done');
  });

  test('gets more scopes once the person has consented to them [mcp.oauth.scopes]', async () => {
    await connected('dan');
    const turn = await desk.send('dan', ['desk_add_event']);
    const [request] = await desk.pending('dan');
    expect(scopesOf(request?.authConfig ?? { authScheme: {} })).toEqual(['calendar.write']);
    await consent('dan');
    expect((await turn.result()).text).toContain('add_event is done');
    await (await desk.send('dan', ['desk_list_events', 'desk_add_event'])).result();
    expect(server.refused.filter((status) => status === 403)).toHaveLength(1);
    expect(await desk.client.credentials.list({ app: APP, userId: 'dan' })).toMatchObject([
      { scopes: expect.arrayContaining(['calendar.read', 'calendar.write']) },
    ]);
  });

  test('is asked for nothing where the app says who gives the tokens [mcp.oauth.connect]', async () => {
    const turn = await desk.send('zoe', ['connect_own']);
    await consent('zoe', KEY);
    await turn.result();
    expect(declared()).toContain('own_list_events');
    const asked = server.asked;
    const own = toolset('own', { credentialKey: KEY });
    onTestFinished(() => own.close());
    expect((await own.getTools()).map(({ name }) => name)).toEqual(['connect_own']);
    expect(server.asked).toBe(asked);
  });

  test('that lists its tools to everybody has each call ask first [mcp.oauth.connect]', async () => {
    server.isOpen = true;
    onTestFinished(() => {
      server.isOpen = false;
    });
    const turn = await desk.send('kim', ['desk_list_events']);
    expect(await desk.pending('kim')).toMatchObject([{ tool: 'desk_list_events' }]);
    await consent('kim');
    expect((await turn.result()).text).toContain('list_events is done');
  });

  test('that names another authorization server gets it no tokens of the one before [mcp.oauth.lies]', async () => {
    await connected('max');
    await (await desk.send('max', ['desk_list_events'])).result();
    const before = token();
    server.trusts = other;
    onTestFinished(() => {
      server.trusts = desk.server;
    });
    await desk.send('new', ['connect_desk']);
    await desk.pending('new');
    server.trusts = desk.server;
    await (await desk.server.provider.AccessToken.find(before))?.destroy();
    await desk.send('max', ['desk_list_events']);
    await desk.pending('max');
    expect(other.grants).toEqual([]);
  });

  test.each([
    [{ auth: { scope: ['calendar.read'] } }, /options\.auth.*scope/],
    [{ auth: { scopes: 'calendar.read' } }, /options\.auth\.scopes: expected a list of texts/],
    [{ auth: false }, /options\.auth: expected true, or an object/],
  ])('has options that name what is wrong: %j [mcp.oauth.connect]', (options, problem) => {
    const params = { type: 'StreamableHTTPConnectionParams', url: server.url } as const;
    expect(() => new MCPToolset(params, [], undefined, options as MCPToolsetOptions)).toThrow(problem);
  });

  test('has them over HTTP alone [mcp.oauth.connect]', () => {
    const params = { type: 'StdioConnectionParams', serverParams: { command: 'node' } } as const;
    expect(() => new MCPToolset(params, [], undefined, { auth: true })).toThrow(/options\.auth.*over HTTP/);
  });

  describe('that lies', () => {
    const told = async (metadata: object, auth: true | MCPAuthOptions = true) => {
      server.metadata = metadata;
      const liar = toolset('liar', auth);
      try {
        return await liar.getTools();
      } finally {
        server.metadata = undefined;
        await liar.close();
      }
    };
    const host = () => new URL(server.url).host;

    test.each([
      [{ authorization_servers: ['http://127.0.0.1:8500'] }, 'is asked over https only'],
      [
        { authorization_servers: ['https://10.0.0.7'] },
        'leads to an address that is not of the public internet',
      ],
      [{ authorization_servers: ['https://vault.internal'] }, 'is no name of the public internet'],
      [{ authorization_servers: ['file:///etc/passwd'] }, 'expected a URL that begins with https'],
      [{ authorization_servers: [] }, 'name no authorization server'],
      [{ resource: 'https://bank.example.com/mcp' }, 'are of another resource than its address'],
      [{ resource: 'PATH/mcp-of-others' }, 'are of another resource than its address'],
      [{ resource: 7 }, 'are of another resource than its address'],
    ])('about its metadata, %j, is refused with a clear error [mcp.oauth.lies]', async (lie, problem) => {
      const resource =
        'resource' in lie ? String(lie.resource).replace('PATH', new URL(server.url).origin) : server.url;
      const failing = told({ authorization_servers: ['https://login.example.com'], ...lie, resource });
      await expect(failing).rejects.toMatchObject({ code: 'HOLDFAST_OAUTH_FAILED' });
      await expect(failing).rejects.toThrow(host());
      await expect(failing).rejects.toThrow(problem);
    });
  });
});
