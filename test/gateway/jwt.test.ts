import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, importJWK } from 'jose';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Principal } from '../../src/gateway/index.ts';
import { defineGateway, IssuerUnreachable, jwtCheck, type TrustedIssuer } from '../../src/gateway/index.ts';
import { AUDIENCE, type OwnIssuer, openIssuer } from './own-issuer.ts';

const request = {} as never;
const READS = [{ app: 'shop', roles: ['read' as const] }];

describe('a token of an issuer', () => {
  let issuer: OwnIssuer;
  beforeAll(async () => {
    issuer = await openIssuer();
  });
  afterAll(() => issuer.close());

  const trusted = (more: Partial<TrustedIssuer> = {}): TrustedIssuer => ({
    issuer: issuer.url,
    audience: AUDIENCE,
    person: 'email',
    grants: { claim: 'groups', values: { readers: READS }, everybody: [] },
    ...more,
  });
  const check = (token: string, more: Partial<TrustedIssuer> = {}) =>
    jwtCheck([trusted(more)]).check(token, request);
  const principal = async (token: string, more: Partial<TrustedIssuer> = {}): Promise<Principal> => {
    const found = await check(token, more);
    if (found === undefined || typeof found === 'string') throw new Error(`nobody: ${found}`);
    return found;
  };
  const now = () => Math.floor(Date.now() / 1_000);

  test('says who its bearer is and what they may, by keys that the issuer shows [auth.oidc]', async () => {
    const ada = await principal(await issuer.token({ groups: ['readers', 'others'] }));
    expect(ada).toMatchObject({ name: `jwt:${issuer.url} u-1`, person: 'mira@example.com' });
    expect(ada.userId).toBeUndefined();
    expect(ada.may({ permission: 'read', app: 'shop' })).toBe('allowed');
    expect(ada.may({ permission: 'run', app: 'shop' })).toBe('forbidden');
    expect(ada.may({ permission: 'read', app: 'bank' })).toBe('hidden');
  });

  test('without its group may nothing; a function and a path of claims grant as well [auth.oidc]', async () => {
    const nobody = await principal(await issuer.token());
    expect(nobody.may({ permission: 'read', app: 'shop' })).toBe('hidden');
    const odd = await principal(await issuer.token({ groups: ['constructor', 'toString', 7, null] }));
    expect(odd.may({ permission: 'read', app: 'shop' })).toBe('hidden');
    const nested = await principal(await issuer.token({ realm_access: { roles: ['readers'] } }), {
      grants: { claim: 'realm_access.roles', values: { readers: READS } },
    });
    expect(nested.may({ permission: 'read', app: 'shop' })).toBe('allowed');
    const scoped = await principal(await issuer.token({ scope: 'openid readers' }), {
      grants: { claim: 'scope', values: { readers: READS } },
    });
    expect(scoped.may({ permission: 'read', app: 'shop' })).toBe('allowed');
    const made = await principal(await issuer.token({ tenant: 'shop' }), {
      grants: async ({ tenant }) => [{ app: String(tenant), roles: ['operate'] }],
    });
    expect(made.may({ permission: 'operate', app: 'shop' })).toBe('allowed');
  });

  test('acts for the user that it names only, and for nobody where it should name one [auth.oidc]', async () => {
    const own = { userId: 'sub', grants: () => READS };
    const ada = await principal(await issuer.token({ sub: 'ada' }), own);
    expect(ada.userId).toBe('ada');
    expect(ada.may({ permission: 'read', app: 'shop', userId: 'ada' })).toBe('allowed');
    expect(ada.may({ permission: 'read', app: 'shop', userId: 'bob' })).toBe('hidden');
    for (const user of [undefined, '', 7, ['ada'], { ada: true }, 'a\nb']) {
      expect(await check(await issuer.token({ user }), { ...own, userId: 'user' })).toBe('forbidden');
    }
  });

  test('names nobody who decides by an address that isn’t verified, or by none [auth.oidc]', async () => {
    for (const claims of [
      { email_verified: false },
      { email_verified: 'false' },
      { email: undefined },
      { email: '' },
      { email: ' mira@example.com' },
      { email: 'unverified' },
      { email: ['mira@example.com'] },
    ]) {
      expect((await principal(await issuer.token(claims))).person).toBeUndefined();
    }
    expect((await principal(await issuer.token({ email_verified: true }))).person).toBe('mira@example.com');
  });

  test.each([
    ['for another audience', () => ({ aud: 'else' })],
    ['for no audience', () => ({ aud: undefined })],
    ['expired', () => ({ exp: now() - 120 })],
    ['without an end', () => ({ exp: undefined })],
    ['not yet good', () => ({ nbf: now() + 120 })],
    ['of nobody', () => ({ sub: undefined })],
    ['of somebody without a name', () => ({ sub: '' })],
    ['with an end that is no time', () => ({ exp: 'later' as never })],
  ])('%s is refused [auth.oidc]', async (_what, claims) => {
    expect(await check(await issuer.token(claims()))).toBe('unauthenticated');
  });

  test('is good a minute longer and sooner, for clocks that differ [auth.oidc]', async () => {
    await principal(await issuer.token({ exp: now() - 30 }));
    await principal(await issuer.token({ nbf: now() + 30 }));
  });

  test('of another issuer, or of another kind, is none of its own [auth.oidc]', async () => {
    expect(check(await issuer.token({ iss: 'https://evil.example' }))).toBeUndefined();
    expect(check(await issuer.token({ iss: `${issuer.url}/` }))).toBeUndefined();
    expect(check(await issuer.token({ iss: undefined }))).toBeUndefined();
    expect(check(await issuer.token({}, { typ: 'holdfast-job+jwt' }))).toBeUndefined();
    expect(check(await issuer.token({}, { typ: 'dpop+jwt' }))).toBeUndefined();
    await principal(await issuer.token({}, { typ: 'at+JWT' }));
  });

  test.each(['none', 'None', 'NONE', ''])('with the algorithm %j is refused [auth.oidc]', async (alg) => {
    const [, claims] = (await issuer.token()).split('.');
    const header = Buffer.from(JSON.stringify({ alg, kid: 'k1', typ: 'JWT' })).toString('base64url');
    for (const signature of ['', 'AA']) {
      expect(await check(`${header}.${claims}.${signature}`)).toBe('unauthenticated');
    }
  });

  test('signed with a public key for a secret is refused [auth.oidc]', async () => {
    const [jwk = {}] = issuer.jwks.keys;
    const key = (await importJWK({ ...jwk }, 'ES256', { extractable: true })) as CryptoKey;
    const secrets = [await exportSPKI(key), JSON.stringify(jwk), jwk.x ?? ''];
    const [, claims] = (await issuer.token()).split('.');
    for (const alg of ['HS256', 'HS384', 'HS512']) {
      const header = Buffer.from(JSON.stringify({ alg, kid: 'k1', typ: 'JWT' })).toString('base64url');
      for (const secret of secrets) {
        const hmac = createHmac(`sha${alg.slice(2)}`, secret)
          .update(`${header}.${claims}`)
          .digest('base64url');
        expect(await check(`${header}.${claims}.${hmac}`)).toBe('unauthenticated');
      }
    }
  });

  test('signed by a key that its own header brings, or points to, is refused [auth.oidc]', async () => {
    const own = await generateKeyPair('ES256', { extractable: true });
    const evil = await openIssuer();
    const jwk = { ...(await exportJWK(own.publicKey)), kid: 'k1', alg: 'ES256' };
    evil.jwks.keys.splice(0, 1, jwk);
    try {
      for (const header of [
        { jwk },
        { jku: `${evil.url}/keys` },
        { x5u: `${evil.url}/keys` },
        { x5c: ['MIIB'] },
        { kid: `${evil.url}/keys` },
        { kid: '../../../dev/null' },
        { kid: 'k2' },
        { kid: '' },
        {},
      ]) {
        expect(await check(await issuer.token({}, header, own.privateKey))).toBe('unauthenticated');
      }
      expect(evil.asked).toEqual([]);
    } finally {
      await evil.close();
    }
  });

  test('with one letter changed, or cut, is refused [auth.oidc]', async () => {
    const keys = jwtCheck([trusted()]);
    const token = await issuer.token();
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.constantFrom('A', '.', '=', ''), async (at, letter) => {
        // Bits that a text has and its bytes don't are no change.
        if (at === token.length - 1) return;
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        if (changed === token) return;
        const verdict = await keys.check(changed, request);
        expect(verdict === undefined || typeof verdict === 'string').toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test('with an algorithm that isn’t listed is refused, however well it is signed [auth.oidc]', async () => {
    expect(await check(await issuer.token(), { algorithms: ['RS256'] })).toBe('unauthenticated');
  });

  test('names no key where there are several: that of them counts which has signed it [auth.oidc]', async () => {
    const [first, second] = [await generateKeyPair('ES256'), await generateKeyPair('ES256')];
    const keys = [await exportJWK(first.publicKey), await exportJWK(second.publicKey)];
    const token = await issuer.token({}, { kid: undefined as never }, second.privateKey);
    await principal(token, { jwks: { keys } });
    const other = await issuer.token({}, { kid: undefined as never });
    expect(await check(other, { jwks: { keys } })).toBe('unauthenticated');
  });
});

describe('the keys of an issuer', () => {
  const open = async () => {
    const issuer = await openIssuer();
    const check = jwtCheck([{ issuer: issuer.url, audience: AUDIENCE, person: 'sub', grants: () => READS }]);
    return { issuer, check: async (token: string) => await check.check(token, request) };
  };

  test('are asked for once, also by many; a storm of unknown ones asks for no more [auth.oidc]', async () => {
    const { issuer, check } = await open();
    const token = await issuer.token();
    await Promise.all(Array.from({ length: 20 }, () => check(token)));
    expect(issuer.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
    for (let times = 0; times < 20; times += 1) {
      expect(await check(await issuer.token({}, { kid: `k${times + 2}` }))).toBe('unauthenticated');
    }
    expect(issuer.asked).toHaveLength(2);
    await issuer.close();
  });

  test.each([
    ['another issuer’s', '/.well-known/openid-configuration', { body: '{"issuer":"https://else.example"}' }],
    ['not JSON', '/.well-known/openid-configuration', { body: '<html>' }],
    ['a list', '/.well-known/openid-configuration', { body: '[]' }],
    ['an error', '/.well-known/openid-configuration', { status: 500 }],
    ['a redirect', '/.well-known/openid-configuration', { status: 302, location: 'https://evil.example/' }],
    ['keys that are not JSON', '/keys', { body: 'keys' }],
    ['keys that are an error', '/keys', { status: 503 }],
    ['keys that are elsewhere', '/keys', { status: 301, location: 'https://evil.example/' }],
    ['keys that are too many', '/keys', { body: JSON.stringify({ keys: ['x'.repeat(2_000_000)] }) }],
  ])(
    'that are %s make no token bad and none good, and are asked for again later [auth.oidc]',
    async (_what, path, answer) => {
      vi.useFakeTimers({ toFake: ['performance'] });
      const { issuer, check } = await open();
      try {
        issuer.answers[path] = answer;
        const token = await issuer.token();
        await expect(check(token)).rejects.toThrow(IssuerUnreachable);
        const before = issuer.asked.length;
        for (let times = 0; times < 5; times += 1)
          await expect(check(token)).rejects.toThrow(IssuerUnreachable);
        expect(issuer.asked).toHaveLength(before);
        delete issuer.answers[path];
        vi.advanceTimersByTime(6_000);
        expect(await check(token)).toMatchObject({ person: 'u-1' });
      } finally {
        vi.useRealTimers();
        await issuer.close();
      }
    },
  );

  test('are never looked for where the issuer points to a plain address [auth.oidc]', async () => {
    const { issuer, check } = await open();
    const body = { issuer: issuer.url, jwks_uri: 'http://192.0.2.1/keys' };
    issuer.answers['/.well-known/openid-configuration'] = { body: JSON.stringify(body) };
    await expect(check(await issuer.token())).rejects.toThrow('no jwks_uri of https');
    await issuer.close();
  });
});

describe('defineGateway', () => {
  const issuer: TrustedIssuer = {
    issuer: 'https://id.example.com',
    audience: 'holdfast',
    person: 'email',
    grants: { claim: 'groups', values: { admins: [{ app: '*', roles: ['read'] }] } },
  };
  const problem = (change: object) => {
    try {
      defineGateway({ access: { issuers: [{ ...issuer, ...change }] } });
    } catch (error) {
      return (error as Error).message;
    }
    return 'none';
  };

  test('takes an issuer as JSON has it [auth.config]', () => {
    expect(problem({})).toBe('none');
    expect(problem(JSON.parse(JSON.stringify(issuer)))).toBe('none');
    expect(problem({ jwksUri: 'http://127.0.0.1:1/keys', algorithms: ['ES256'], userId: 'sub' })).toBe(
      'none',
    );
  });

  test.each([
    ['issuer', { issuer: 'http://id.example.com' }],
    ['issuer', { issuer: 'id' }],
    ['issuer', { issuer: 'https://user:secret@id.example.com' }],
    ['audience', { audience: undefined }],
    ['audience', { audience: [] }],
    ['audience', { audience: [''] }],
    ['jwksUri', { jwksUri: 'http://id.example.com/keys' }],
    ['jwks', { jwks: { keys: [] }, jwksUri: 'https://id.example.com/keys' }],
    ['jwks', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
    ['jwks', { jwks: { keys: [{ kty: 'EC', d: 'c2VjcmV0' }] } }],
    ['algorithms', { algorithms: ['HS256'] }],
    ['algorithms', { algorithms: ['none'] }],
    ['algorithms', { algorithms: [] }],
    ['person', { person: '' }],
    ['userId', { userId: 7 }],
    ['grants', { grants: undefined }],
    ['grants.claim', { grants: { values: {} } }],
    ['grants.values', { grants: { claim: 'groups', values: { a: [{ app: 'shop', roles: ['admin'] }] } } }],
    [
      'grants.values',
      { grants: { claim: 'groups', values: { a: [{ app: 'shop', roles: ['run'], users: 'x' }] } } },
    ],
    [
      'grants.everybody',
      { grants: { claim: 'groups', values: {}, everybody: [{ app: '', roles: ['run'] }] } },
    ],
    ['persons', { persons: 'email' }],
  ])('names %s where it is wrong, and never what it is [auth.config]', (field, change) => {
    expect(problem(change)).toMatch(new RegExp(`^defineGateway: access\\.issuers\\[0\\]\\.${field}: `));
    expect(problem(change)).not.toMatch(/secret|c2VjcmV0/);
  });

  test.each([
    ['algorithms', { algorithms: ['HS256'] }],
    ['algorithms', { algorithms: ['ES256', 'none'] }],
    ['jwks', { jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
    ['jwksUri', { jwksUri: 'http://id.example.com/keys' }],
  ])('a check of tokens is refused as well where its %s are wrong [auth.oidc]', (field, change) => {
    expect(() => jwtCheck([issuer, { ...issuer, ...change }])).toThrow(`jwtCheck: issuers[1].${field}: `);
  });

  test.each([
    ['publicUrl', { publicUrl: 'agents.example.com' }],
    ['publicUrl', { publicUrl: 'https://user:secret@agents.example.com' }],
    ['publicURL', { publicURL: 'https://agents.example.com' }],
    ['access.hosts', { access: { hosts: ['https://agents.example.com'] } }],
    ['access.hosts', { access: { hosts: 'agents.example.com' } }],
    ['access.keys', { access: { keys: 'yes' } }],
    ['access.issuers', { access: { issuers: {} } }],
    ['access.issuers', { access: { issuers: [issuer, issuer] } }],
    ['access.key', { access: { key: true } }],
  ])('names %s where it is wrong [auth.config]', (field, settings) => {
    expect(() => defineGateway(settings as never)).toThrow(`defineGateway: ${field}: `);
  });
});
