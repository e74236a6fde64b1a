import { beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../src/contract/keys.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { ApiKeys, networkAccess } from '../../src/gateway/index.ts';
import type { KnownApiKey } from '../../src/store/keys/key-store.ts';
import { type Document, readDocument } from './document-check.ts';
import { collecting, HOST, type Stub, stubGateway } from './gateway-stub.ts';

/** For who reaches all apps: a 403 to all others, whether there is something or not. */
const OF_ALL_APPS = ['getAbout', 'getAuditById', 'verifyAuditById'];

const everything = (app: string, user?: string): Grant[] => [
  { app, roles: ['run', 'read', 'approve', 'operate'], ...(user === undefined ? {} : { user }) },
];

/** A gateway to where there is something of the app shop, or nothing, and a key. */
function ground(grants: Grant[], isThere: boolean, userId?: string) {
  const row = { requestId: 'x', jobId: 'x', app: 'shop', userId: 'ada', sessionId: 'x', status: 'running' };
  const done: string[] = [];
  const client = new Proxy<Stub>(
    {},
    {
      get: (_none, name) =>
        String(name).endsWith('.get')
          ? () => (isThere ? row : undefined)
          : async () => void done.push(String(name)),
    },
  );
  const { text, keyId, digest } = newKeyText();
  const key: KnownApiKey = { keyId, name: 'boris', grants, createdAt: 0, digest, ...(userId && { userId }) };
  const store = {
    keys: { find: async () => [key], touch: async () => undefined },
    now: async () => Date.now(),
  };
  const keys = new ApiKeys({ store, logger: collecting([]) });
  const rateLimits = { principals: { perSecond: 10_000, burst: 10_000 } };
  const { gateway } = stubGateway(client, {
    access: networkAccess({ publicUrl: `http://${HOST}`, keys }),
    settings: { access: { rateLimits } },
  });
  const send = async (method: string, path: string, body?: string) => {
    const answer = await gateway.request(`http://${HOST}${path}`, {
      method,
      headers: { host: HOST, authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  return { send, done };
}

let document: Document;
beforeAll(async () => {
  document = await readDocument(stubGateway().gateway, HOST);
});

/** Each route, of the app shop and its user ada. */
const routes = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security?.length !== 0)
      .map(([method, { operationId, parameters = [] }]) => {
        const filled = path
          .replace('{app}', 'shop')
          .replace('{user}', 'ada')
          .replaceAll(/\{\w+\}/g, 'x');
        const named = parameters.some((each) => each.in === 'query' && each.name === 'app');
        const query = named && !path.includes('{app}') ? '?app=shop&user=ada' : '';
        return { method: method.toUpperCase(), path: `${filled}${query}`, operationId };
      }),
  );

describe('of another app, or another user’s,', () => {
  test.each<[string, Grant[], string | undefined]>([
    ['another app', everything('bank'), undefined],
    ['another app of a name that begins like it', everything('sho'), undefined],
    ['another user, by a grant', everything('shop', 'bob'), undefined],
    ['another user of all apps', everything('*'), 'bob'],
    ['nothing', [], undefined],
  ])(
    'everything is to a key of %s as if it weren’t there, on every route [auth.roles]',
    async (_whose, grants, userId) => {
      expect(routes().length).toBeGreaterThan(30);
      const there = ground(grants, true, userId);
      const nowhere = ground(grants, false, userId);
      for (const { method, path, operationId } of routes()) {
        const bodies = method === 'GET' ? [undefined] : [undefined, '{}', '{"x":', 'x'.repeat(2_000_000)];
        const answers = [];
        for (const body of bodies) {
          const answer = await there.send(method, path, body);
          expect([operationId, await nowhere.send(method, path, body)]).toEqual([operationId, answer]);
          answers.push(answer.text);
          // Who reaches the app for one user knows that it is there, and may not see all of it.
          const isOfAllUsers =
            /^\/v1\/apps\/shop\/(?!users)/.test(path) && grants.some(({ app }) => /shop|\*/.test(app));
          const isForbidden = isOfAllUsers || OF_ALL_APPS.includes(operationId);
          expect([operationId, answer.status]).toEqual([operationId, isForbidden ? 403 : 404]);
        }
        expect(new Set(answers).size).toBe(1);
      }
      expect([there.done, nowhere.done]).toEqual([[], []]);
    },
  );

  test('it is there for its own key, on every route [auth.roles]', async () => {
    const { send } = ground(everything('shop'), true);
    for (const { method, path, operationId } of routes()) {
      if (OF_ALL_APPS.includes(operationId)) continue;
      const { text } = await send(method, path, method === 'GET' ? undefined : '{"x":');
      expect([operationId, text]).not.toEqual([
        operationId,
        expect.stringMatching(/FORBIDDEN|UNAUTHENTICATED/),
      ]);
      // The body of this one is bytes, of any kind.
      const takesJson = method !== 'GET' && method !== 'DELETE' && operationId !== 'putArtifact';
      if (takesJson) expect(text).toContain('HOLDFAST_GATEWAY_BAD_REQUEST');
    }
  });
});
