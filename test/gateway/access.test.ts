import { describe, expect, test } from 'vitest';
import { type Access, localAccess } from '../../src/gateway/index.ts';
import { HOST, stubGateway, TOKEN } from './gateway-stub.ts';

const bearer = { authorization: `Bearer ${TOKEN}` };
const OPEN = ['/v1/health', '/v1/ready', '/openapi.json'];
const own = { host: HOST, ...bearer };

/** Sends exactly these headers. */
async function statusOf(
  headers: Record<string, string>,
  path = '/v1/about',
  method = 'GET',
): Promise<number> {
  const { gateway } = stubGateway();
  return (await gateway.request(`http://${HOST}${path}`, { method, headers })).status;
}

describe('whoever asks a local gateway', () => {
  test.each([
    ['its own host and the token', own, 200],
    ['its own origin', { ...own, origin: `http://${HOST}` }, 200],
    ['a page of its own', { ...own, origin: `http://${HOST}`, 'sec-fetch-site': 'same-origin' }, 200],
    ['an address typed by hand', { ...own, 'sec-fetch-site': 'none' }, 200],
    ['a scheme in other letters', { ...own, authorization: `bearer ${TOKEN}` }, 200],
    ['no token', { host: HOST }, 401],
    ['an empty token', { host: HOST, authorization: 'Bearer ' }, 401],
    ['a wrong token', { host: HOST, authorization: `Bearer ${'x'.repeat(43)}` }, 401],
    ['the beginning of the token', { host: HOST, authorization: `Bearer ${TOKEN.slice(0, -1)}` }, 401],
    ['the token and more', { host: HOST, authorization: `Bearer ${TOKEN} ${TOKEN}` }, 401],
    ['the token without a scheme', { host: HOST, authorization: TOKEN }, 401],
    ['the token as another scheme', { host: HOST, authorization: `Basic ${TOKEN}` }, 401],
    ['the token in a cookie', { host: HOST, cookie: `token=${TOKEN}` }, 401],
    ['a foreign host (rebinding)', { ...own, host: 'evil.example' }, 403],
    ['a foreign host with the port', { ...own, host: 'evil.example:8471' }, 403],
    ['its host with another port', { ...own, host: '127.0.0.1:1' }, 403],
    ['its host without a port', { ...own, host: '127.0.0.1' }, 403],
    ['a name that begins like it', { ...own, host: `${HOST}.evil.example` }, 403],
    ['an address that means it', { ...own, host: '0.0.0.0:8471' }, 403],
    ['a foreign origin', { ...own, origin: 'https://evil.example' }, 403],
    ['another port’s origin', { ...own, origin: 'http://127.0.0.1:3000' }, 403],
    ['its origin over https', { ...own, origin: `https://${HOST}` }, 403],
    ['an origin that is hidden', { ...own, origin: 'null' }, 403],
    ['an origin that begins like it', { ...own, origin: `http://${HOST}.evil.example` }, 403],
    ['a page of another site', { ...own, 'sec-fetch-site': 'cross-site' }, 403],
    ['a page of another port', { ...own, 'sec-fetch-site': 'same-site' }, 403],
    ['a page that says it twice', { ...own, 'sec-fetch-site': 'none, cross-site' }, 403],
  ])('%s [gateway.local]', async (_what, headers, status) => {
    expect(await statusOf(headers)).toBe(status);
  });

  test.each([
    ['127.0.0.1', 200],
    ['127.8.9.1', 200],
    ['::1', 200],
    ['::ffff:127.0.0.1', 200],
    ['192.0.2.7', 403],
    ['::ffff:192.0.2.7', 403],
    ['::ffff:7f00:1', 403],
    ['fe80::1%eth0', 403],
    ['2001:db8::1', 403],
    ['12.7.0.0', 403],
    ['', 403],
    [undefined, 403],
  ])('from %j by its own name and with the token gets %i [gateway.local]', async (remoteAddress, status) => {
    const { gateway } = stubGateway();
    const env = { incoming: { rawHeaders: [], socket: { localPort: 8471, remoteAddress } } };
    const request = new Request(`http://${HOST}/v1/about`, { headers: own });
    expect((await gateway.fetch(request, env)).status).toBe(status);
  });

  test.each(OPEN)('%s needs no token, and no foreign page gets it [gateway.local]', async (path) => {
    expect(await statusOf({ host: HOST }, path)).toBe(200);
    expect(await statusOf({ host: 'evil.example' }, path)).toBe(403);
    expect(await statusOf({ host: HOST, origin: 'https://evil.example' }, path)).toBe(403);
    expect(await statusOf({ host: HOST, 'sec-fetch-site': 'cross-site' }, path)).toBe(403);
  });

  test('without a token learns nothing, not even which paths there are [gateway.local]', async () => {
    const { gateway } = stubGateway();
    const answers = await Promise.all(
      ['/v1/about', '/v1/apps/shop/sessions', '/v1/nothing', '/'].flatMap((path) =>
        ['GET', 'POST', 'OPTIONS', 'TRACE-IT'].map(async (method) => {
          const answer = await gateway.request(`http://${HOST}${path}`, { method, headers: { host: HOST } });
          return `${answer.status} ${await answer.text()}`;
        }),
      ),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toMatch(/^401 .*HOLDFAST_GATEWAY_UNAUTHENTICATED/);
  });

  test('a refusal says no more than that it is one [gateway.local]', async () => {
    const { gateway } = stubGateway();
    const refused = await gateway.request(`http://${HOST}/v1/about`, {
      headers: { ...own, host: 'evil.example' },
    });
    expect(await refused.json()).toEqual({
      error: {
        code: 'HOLDFAST_GATEWAY_FORBIDDEN',
        message: 'forbidden',
        docs: 'docs/errors.md#holdfast_gateway_forbidden',
      },
    });
  });

  test('a preflight of another origin gets no permission [gateway.local]', async () => {
    const { gateway } = stubGateway();
    const preflight = await gateway.request(`http://${HOST}/v1/about`, {
      method: 'OPTIONS',
      headers: { host: HOST, origin: 'https://evil.example', 'access-control-request-method': 'GET' },
    });
    expect(preflight.status).toBe(403);
    const allowed = await gateway.request(`http://${HOST}/v1/about`, { headers: own });
    for (const answer of [preflight, allowed]) {
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
    }
  });

  test('where no port is known nobody is let in [gateway.local]', async () => {
    const { gateway } = stubGateway({}, { access: localAccess({ token: TOKEN }) });
    expect((await gateway.request(`http://${HOST}/v1/health`, { headers: own })).status).toBe(403);
  });

  test('a token that could be guessed is refused when the gateway is made [gateway.local]', () => {
    expect(() => localAccess({ token: 'secret' })).toThrow('at least 24 characters, got 6');
  });

  test.each(['correct horse battery staple', `${TOKEN}\n`, `${TOKEN}ü`])(
    'a token that no header can hold is refused when the gateway is made: %j [gateway.local]',
    (token) => {
      expect(() => localAccess({ token })).toThrow(
        'localAccess: token: expected ASCII characters without spaces',
      );
    },
  );

  test('a body whose sender has no token is not read [gateway.local]', async () => {
    const { gateway } = stubGateway();
    const body = new ReadableStream(
      { pull: () => Promise.reject(new Error('it was read')) },
      { highWaterMark: 0 },
    );
    const headers = { host: HOST, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const answer = await gateway.request(`http://${HOST}/v1/apps/shop/users/ada/sessions`, init);
    expect(answer.status).toBe(401);
  });

  test('no answer, error or line of the log has the token or a name [gateway.local]', async () => {
    const { send, lines } = stubGateway({
      'sessions.get': () => Promise.reject(new Error(`db password hunter2, ${TOKEN}`)),
    });
    const answer = await send('/v1/apps/shop/users/ada-lovelace/sessions/secret-session');
    expect(answer.status).toBe(500);
    const text = (await answer.text()) + JSON.stringify([...answer.headers]);
    for (const hidden of [TOKEN, 'hunter2', 'password']) expect(text).not.toContain(hidden);
    const request = lines.find(({ message }) => message === 'request');
    expect(request?.attributes).toMatchObject({
      method: 'GET',
      route: '/v1/apps/:app/users/:user/sessions/:session',
      status: 500,
      requestId: answer.headers.get('x-request-id'),
    });
    expect(JSON.stringify(request)).not.toMatch(/lovelace|secret-session/);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('an access of users', () => {
  const usersAccess: Access = {
    reach: 'network',
    screen: () => undefined,
    authenticate: ({ headers }) => {
      const name = headers.get('authorization');
      if (name === null) return 'unauthenticated';
      return {
        name,
        may: ({ permission, app, userId }) => {
          if (app !== undefined && app !== 'shop') return 'hidden';
          if (userId !== undefined && userId !== name) return 'hidden';
          return permission === 'read' || permission === 'run' ? 'allowed' : 'forbidden';
        },
      };
    },
  };
  const missing = stubGateway(
    {
      'sessions.get': () => undefined,
      'sessions.list': () => ({ sessions: [], totalItems: 0 }),
    },
    { access: usersAccess },
  );
  const as = async (name: string, path: string, method = 'GET') => {
    const answer = await missing.send(path, { method, headers: { authorization: name } });
    return `${answer.status} ${await answer.text()}`;
  };

  test('plugs into the same routes: other users’ and apps’ sessions are like none [gateway.local]', async () => {
    const own = await as('ada', '/v1/apps/shop/users/ada/sessions/nope');
    expect(own).toMatch(/^404 .*HOLDFAST_SESSION_NOT_FOUND/);
    expect(await as('ada', '/v1/apps/shop/users/bob/sessions/s1')).toBe(own);
    expect(await as('ada', '/v1/apps/other/users/ada/sessions/s1')).toBe(own);
    expect(await as('ada', '/v1/apps/shop/users/bob/sessions')).toBe(own);
    expect(await as('ada', '/v1/apps/shop/users/ada/sessions')).toMatch(/^200 /);
    expect(await as('ada', '/v1/apps/shop/users/ada/sessions/s1/interrupt', 'POST')).toMatch(/^403 /);
    // Encoded or not, a name is one name.
    expect(await as('ada', '/v1/apps/shop/users/%61da/sessions')).toMatch(/^200 /);
    expect(await as('ada', '/v1/apps/shop/users/ada%2F/sessions')).toBe(own);
  });
});
