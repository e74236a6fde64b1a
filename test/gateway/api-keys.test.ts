import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Grant } from '../../src/contract/keys.ts';
import { newKeyText, readKeyText } from '../../src/gateway/access/key-text.ts';
import { ApiKeys, configuredAccess, networkAccess, type Principal } from '../../src/gateway/index.ts';
import type { KnownApiKey } from '../../src/store/keys/key-store.ts';
import { collecting, HOST, type LoggedLine, stubGateway } from './gateway-stub.ts';

/** A store of one key, whose row a test may change. */
function ground(grants: Grant[], more: Partial<KnownApiKey> = {}) {
  const { text, keyId, digest } = newKeyText();
  const row: KnownApiKey = { keyId, name: 'mira', grants, createdAt: 0, digest, ...more };
  const looks: string[] = [];
  const touched: string[] = [];
  const store = {
    keys: {
      find: async (ids: readonly string[]) => {
        looks.push(...ids);
        return ids.includes(keyId) ? [{ ...row }] : [];
      },
      touch: async (id: string) => void touched.push(id),
    },
    now: async () => Date.now(),
  };
  const lines: LoggedLine[] = [];
  return { text, keyId, row, looks, touched, lines, keys: new ApiKeys({ store, logger: collecting(lines) }) };
}

const READS: Grant[] = [{ app: 'shop', roles: ['read'] }];

describe('an API key', () => {
  afterEach(() => void vi.useRealTimers());

  test('stands for who has it, by name, and for nobody when a letter is wrong [auth.keys]', async () => {
    const { keys, text, keyId, touched } = ground(READS);
    expect(await keys.authenticate(text)).toMatchObject({ name: `key:${keyId}`, person: 'mira', keyId });
    expect(touched).toEqual([keyId]);
    const last = text.at(-1) === 'A' ? 'B' : 'A';
    const other = newKeyText(keyId).text;
    for (const wrong of [
      text.slice(0, -1) + last,
      `${text}A`,
      text.toUpperCase(),
      ` ${text}`,
      `${text}\n`,
      text.slice(3),
      other,
      newKeyText().text,
      '',
    ]) {
      expect(await keys.authenticate(wrong)).toBeUndefined();
    }
  });

  test('of any text only what was made is one [auth.keys]', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(readKeyText(text)).toBeUndefined();
      }),
    );
    const { text, ...parts } = newKeyText();
    expect(readKeyText(text)).toEqual(parts);
  });

  test('is refused when it has expired, and when it was revoked 5 seconds ago at most [auth.keys]', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const { keys, text, row, looks, keyId } = ground(READS, { expiresAt: Date.now() + 3_600_000 });
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira', keyId });
    expect(await keys.principal(keyId, row.digest)).toMatchObject({ person: 'mira', keyId });
    expect(looks).toHaveLength(1);
    row.revokedAt = Date.now();
    vi.advanceTimersByTime(5_000);
    expect(await keys.authenticate(text)).toBeUndefined();
    expect(await keys.principal(keyId, row.digest)).toBeUndefined();
    delete row.revokedAt;
    vi.advanceTimersByTime(5_000);
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira', keyId });
    vi.advanceTimersByTime(3_600_000);
    expect(await keys.authenticate(text)).toBeUndefined();
  });

  test('has its old secret for the time of grace only [auth.keys]', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const { keys, text, row, keyId } = ground(READS);
    const rotated = newKeyText(keyId);
    Object.assign(row, { oldDigest: row.digest, oldUntil: Date.now() + 60_000, digest: rotated.digest });
    const shown = readKeyText(text)?.digest ?? Buffer.of();
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira', keyId });
    expect(await keys.principal(keyId, shown)).toMatchObject({ person: 'mira', keyId });
    expect(await keys.authenticate(rotated.text)).toMatchObject({ person: 'mira', keyId });
    vi.advanceTimersByTime(61_000);
    expect(await keys.authenticate(text)).toBeUndefined();
    expect(await keys.principal(keyId, shown)).toBeUndefined();
    expect(await keys.authenticate(rotated.text)).toMatchObject({ person: 'mira', keyId });
    expect(await keys.principal(keyId, rotated.digest)).toMatchObject({ person: 'mira', keyId });
  });

  test('that nobody has is looked for once; however many are tried, those of others stay known [auth.limits]', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const { keys, text, looks } = ground(READS);
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira' });
    const wrong = newKeyText().text;
    for (const _again of [1, 2, 3]) expect(await keys.authenticate(wrong)).toBeUndefined();
    expect(looks).toHaveLength(2);
    const tried = Array.from({ length: 20_000 }, () => keys.authenticate(newKeyText().text));
    expect(new Set(await Promise.all(tried))).toEqual(new Set([undefined]));
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira' });
    expect(looks).toHaveLength(20_002);
  });

  test('that can’t be looked up is neither good nor bad, and is looked up again [auth.keys]', async () => {
    const { keys, text, row, looks } = ground(READS);
    const { keyId } = row;
    Object.defineProperty(row, 'keyId', {
      configurable: true,
      enumerable: true,
      get: () => {
        throw new Error('the store is away');
      },
    });
    await expect(keys.authenticate(text)).rejects.toThrow('the store is away');
    Object.defineProperty(row, 'keyId', { value: keyId, enumerable: true });
    expect(await keys.authenticate(text)).toMatchObject({ person: 'mira', keyId });
    expect(looks).toHaveLength(2);
  });
});

describe('what grants allow', () => {
  const principal = async (grants: Grant[], userId?: string): Promise<Principal> => {
    const { keys, text } = ground(grants, userId === undefined ? {} : { userId });
    const found = await keys.authenticate(text);
    if (found === undefined) throw new Error('nobody');
    return found;
  };
  const shop = { app: 'shop' };
  const ada = { app: 'shop', userId: 'ada' };
  const bob = { app: 'shop', userId: 'bob' };
  const bank = { app: 'bank', userId: 'ada' };

  test.each([
    ['an app’s role', READS, undefined, ada, 'allowed'],
    ['an app’s role of all users', READS, undefined, shop, 'allowed'],
    ['another app', READS, undefined, bank, 'hidden'],
    ['all apps', READS, undefined, {}, 'forbidden'],
    ['all apps, of who has them', [{ app: '*', roles: ['read'] }], undefined, {}, 'allowed'],
    ['any app, of who has all', [{ app: '*', roles: ['read'] }], undefined, bank, 'allowed'],
    ['another role', [{ app: 'shop', roles: ['run'] }], undefined, ada, 'forbidden'],
    ['no role', [{ app: 'shop', roles: [] }], undefined, ada, 'forbidden'],
    ['no grant', [], undefined, ada, 'hidden'],
    ['the user of a grant', [{ ...READS[0], user: 'ada' }], undefined, ada, 'allowed'],
    ['another user than that of a grant', [{ ...READS[0], user: 'ada' }], undefined, bob, 'hidden'],
    ['all users of who has one', [{ ...READS[0], user: 'ada' }], undefined, shop, 'forbidden'],
    ['the own user', READS, 'ada', ada, 'allowed'],
    ['another user than the own', READS, 'ada', bob, 'hidden'],
    ['another user than the own, for all apps', [{ app: '*', roles: ['read'] }], 'ada', bob, 'hidden'],
    ['everything, as one user', [{ app: '*', roles: ['read'] }], 'ada', {}, 'forbidden'],
    ['a grant of another user than the own', [{ ...READS[0], user: 'bob' }], 'ada', bob, 'hidden'],
    [
      'two grants, one of which allows it',
      [
        { app: 'shop', roles: ['run'] },
        { ...READS[0], user: 'ada' },
      ],
      undefined,
      ada,
      'allowed',
    ],
  ] as [string, Grant[], string | undefined, object, string][])(
    '%s [auth.roles]',
    async (_what, grants, userId, names, verdict) => {
      expect((await principal(grants, userId)).may({ permission: 'read', ...names })).toBe(verdict);
    },
  );
});

describe('a gateway of the network', () => {
  const PUBLIC = 'agents.example.com';
  const site = (grants: Grant[]) => {
    const made = ground(grants);
    const access = networkAccess({ publicUrl: `https://${PUBLIC}`, keys: made.keys });
    const stub = stubGateway({ 'sessions.list': () => ({ sessions: [], totalItems: 0 }) }, { access });
    const send = (path: string, headers: Record<string, string>, method = 'GET') =>
      stub.gateway.request(`http://${headers.host ?? PUBLIC}${path}`, { method, headers });
    return { ...made, send, own: { host: PUBLIC, authorization: `Bearer ${made.text}` } };
  };

  test.each([
    ['its public name and a key', {}, 200],
    ['no key', { authorization: '' }, 401],
    ['a key as another scheme', { authorization: 'Basic eDp5' }, 401],
    ['another host', { host: 'evil.example' }, 403],
    ['its address', { host: HOST }, 403],
    ['its own page', { origin: `https://${PUBLIC}`, 'sec-fetch-site': 'same-origin' }, 200],
    ['a foreign page', { origin: 'https://evil.example' }, 403],
    ['its own page without https', { origin: `http://${PUBLIC}` }, 403],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    [
      'a link on a page of another site',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      200,
    ],
    [
      'a frame on a page of another site',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      403,
    ],
  ])('%s [auth.network]', async (_what, headers, status) => {
    const { send, own } = site(READS);
    expect((await send('/v1/apps/shop/sessions', { ...own, ...headers })).status).toBe(status);
  });

  test('nobody posts across sites by a form, and probes reach it by its address [auth.network]', async () => {
    const { send, own } = site([{ app: '*', roles: ['run', 'read', 'operate', 'approve'] }]);
    const form = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    expect((await send('/v1/apps/shop/users/ada/sessions', { ...own, ...form }, 'POST')).status).toBe(403);
    expect((await send('/v1/health', { host: '10.1.2.3:8080' })).status).toBe(200);
    expect((await send('/v1/about', { host: '10.1.2.3:8080' })).status).toBe(403);
  });

  test('what a key doesn’t reach is like nothing, and a list says how it is narrowed [auth.roles]', async () => {
    const { send, own } = site(READS);
    const other = await send('/v1/apps/bank/sessions', own);
    expect(other.status).toBe(404);
    const list = await send('/v1/approvals', own);
    expect(list.status).toBe(403);
    expect(await list.text()).toContain('parameter app');
  });

  test.each([
    'ftp://agents.example.com',
    'agents.example.com',
    '',
    'http://agents.example.com',
    'http://10.0.0.1:8471',
    'http://127.0.0.1.evil.example',
  ])('%j is no public URL', (publicUrl) => {
    expect(() => networkAccess({ publicUrl })).toThrow('expected a URL like https://agents.example.com');
  });

  test('has something by which callers prove who they are, or isn’t one [auth.network]', () => {
    const { keys } = ground(READS);
    for (const names of [{ publicUrl: `https://${PUBLIC}` }, { hosts: [PUBLIC] }]) {
      expect(() => networkAccess(names)).toThrow('networkAccess: keys, checks: expected API keys, issuers');
      expect(() => networkAccess({ ...names, checks: [] })).toThrow(TypeError);
      expect(networkAccess({ ...names, keys }).reach).toBe('network');
      expect(networkAccess({ ...names, checks: [{ check: () => undefined }] }).reach).toBe('network');
    }
    expect(networkAccess({}).reach).toBe('loopback');
    const settings = { publicUrl: `https://${PUBLIC}`, access: { keys: false } };
    const logger = collecting([]);
    expect(() => configuredAccess({ settings, records: {} as never, logger })).toThrow('expected API keys');
  });

  test.each(['https://a.example', 'a.example/path', 'a b', '', 'u:p@a.example'])('%j is no host', (host) => {
    expect(() => networkAccess({ hosts: [host] })).toThrow('networkAccess: hosts: expected names');
  });
});
