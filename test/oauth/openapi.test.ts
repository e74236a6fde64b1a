import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import { type AuthorizationServer, CLIENT } from '../setup/authorization-server.ts';
import { KEY, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

/** An API that asks the authorization server about each token. */
class CalendarApi {
  readonly #server: Server;
  readonly seen: { path: string; status: number }[] = [];
  readonly refused = new Set<string>();
  authorization: AuthorizationServer | undefined;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const token = request.headers.authorization?.replace(/^Bearer /, '') ?? '';
      const provider = this.authorization?.provider;
      const found =
        (await provider?.AccessToken.find(token)) ?? (await provider?.ClientCredentials.find(token));
      const status = found === undefined || this.refused.has(token) ? 401 : 200;
      this.seen.push({ path: request.url ?? '', status });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(status === 200 ? { events: 3 } : { error: 'invalid_token' }));
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}

const api = new CalendarApi();
let desk: OAuthDesk;
beforeAll(async () => {
  const url = await api.listen();
  const allow = [new URL(url).host];
  const documentOf = (issuer: string, path: string, security: string) => ({
    openapi: '3.1.0',
    info: { title: `Calendar ${path}`, version: '1' },
    servers: [{ url }],
    paths: {
      [`/${path}`]: {
        post: {
          operationId: path,
          security: [{ [security]: ['calendar.read'] }],
          responses: {
            200: { description: 'd', content: { 'application/json': { schema: { type: 'object' } } } },
          },
        },
      },
    },
    components: {
      securitySchemes: {
        person: {
          type: 'oauth2',
          flows: {
            authorizationCode: {
              authorizationUrl: `${issuer}/auth`,
              tokenUrl: `${issuer}/token`,
              scopes: { 'calendar.read': 'reads', 'calendar.write': 'writes' },
            },
          },
        },
        app: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: `${issuer}/token`, scopes: {} } } },
      },
    },
  });
  desk = await openOAuthDesk({
    tools: (server) => {
      api.authorization = server;
      const client = { authType: 'oauth2', oauth2: CLIENT } as const;
      const toolset = (path: string, security: string, credentials: object) =>
        new OpenAPIToolset({
          specDict: documentOf(server.issuer, path, security),
          credentials,
          allow,
        } as never);
      return [
        toolset('events', 'person', { person: { provider: KEY } }),
        toolset('own_events', 'person', { person: client }),
        toolset('all_events', 'app', { app: client }),
      ];
    },
  });
});
afterAll(async () => {
  await desk.close();
  await api.close();
});

const done = '[{"events":3}]';

test('an operation with a scheme of OAuth gets tokens of the app’s provider, and others where they are refused [oauth.openapi]', async () => {
  const turn = await desk.send('ada', ['events']);
  expect(await desk.pending('ada')).toMatchObject([
    { kind: 'credential', authConfig: { credentialKey: KEY, authScheme: { scopes: ['calendar.read'] } } },
  ]);
  await desk.connect('ada');
  expect((await turn.result()).text).toBe(done);

  api.refused.add((await desk.tokensOf('ada')).accessToken ?? '');
  api.seen.length = 0;
  expect((await (await desk.send('ada', ['events'])).result()).text).toBe(done);
  expect(api.seen.map(({ status }) => status)).toEqual([401, 200]);
});

test('and of a client of its own asks for consent at the server of its document [oauth.openapi]', async () => {
  const turn = await desk.send('bob', ['own_events']);
  const [request] = await desk.pending('bob');
  const provider = new URL(desk.server.issuer).host;
  expect(request?.authConfig).toMatchObject({ provider, authScheme: { type: 'oauth2' } });
  expect(JSON.stringify(request)).not.toContain(CLIENT.clientSecret);
  const { credentialKey = '' } = request?.authConfig ?? {};
  await desk.connect('bob', { scopes: [], credentialKey });
  expect((await turn.result()).text).toBe(done);
});

test('and of client credentials asks nobody [oauth.openapi]', async () => {
  expect((await (await desk.send('cy', ['all_events'])).result()).text).toBe(done);
});
