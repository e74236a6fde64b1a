import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Denial } from '../../src/contract/keys.ts';
import { callerAddress, networkOf } from '../../src/gateway/access/caller-address.ts';
import { DenialLog } from '../../src/gateway/access/denial-log.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { TokenBuckets } from '../../src/gateway/access/token-buckets.ts';
import {
  type AccessSettings,
  ApiKeys,
  type GatewaySettings,
  networkAccess,
} from '../../src/gateway/index.ts';
import type { KnownApiKey } from '../../src/store/keys/key-store.ts';
import { StoreFailed, StoreUnavailable } from '../../src/store/store-errors.ts';
import { collecting, HOST, type LoggedLine, stubGateway, TOKEN } from './gateway-stub.ts';

/** A gateway whose callers come from addresses that a test names. */
function ground(access: AccessSettings = {}) {
  const { text, keyId, digest } = newKeyText();
  const row: KnownApiKey = {
    ...{ keyId, name: 'mira', createdAt: 0, digest },
    grants: [{ app: 'shop', roles: ['read'] }],
  };
  const looks: number[] = [];
  const noted: Denial[] = [];
  const records = {
    keys: {
      find: async (ids: readonly string[]) => {
        looks.push(ids.length);
        return ids.includes(keyId) ? [row] : [];
      },
      touch: async () => undefined,
      noteDenials: async (denials: readonly Denial[]) => void noted.push(...denials),
    },
    now: async () => Date.now(),
  };
  const keys = new ApiKeys({ store: records, logger: collecting([]) });
  const { gateway } = stubGateway(
    { 'sessions.list': () => ({ sessions: [], totalItems: 0 }) },
    {
      access: networkAccess({ publicUrl: `http://${HOST}`, keys }),
      settings: { access },
      records: records as never,
    },
  );
  const send = async (path: string, headers: Record<string, string> = {}, remoteAddress = '192.0.2.1') => {
    const env = { incoming: { rawHeaders: [], socket: { localPort: 1, remoteAddress } } };
    const request = new Request(`http://${HOST}${path}`, { headers: { host: HOST, ...headers } });
    return await gateway.fetch(request, env);
  };
  const asMira = { authorization: `Bearer ${text}` };
  return { gateway, send, asMira, looks, noted };
}

const SESSIONS = '/v1/apps/shop/sessions';
const FEW = { perSecond: 1, burst: 3 };

function counter(): () => number {
  let count = 0;
  return () => {
    count += 1;
    return count;
  };
}

async function times<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  for (let each = 0; each < count; each += 1) made.push(await make());
  return made;
}

describe('how often callers may ask', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  test('a principal is told how long to wait, and is let in then; others never wait [auth.limits]', async () => {
    const { send, asMira } = ground({ rateLimits: { principals: FEW } });
    const answers = await times(4, () => send(SESSIONS, asMira));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    expect(answers[3]?.headers.get('retry-after')).toBe('1');
    expect(await answers[3]?.json()).toMatchObject({ error: { code: 'HOLDFAST_GATEWAY_TOO_MANY_REQUESTS' } });
    const other = ground({ rateLimits: { principals: FEW } });
    expect((await other.send(SESSIONS, other.asMira)).status).toBe(200);
    vi.advanceTimersByTime(1_000);
    expect((await send(SESSIONS, asMira)).status).toBe(200);
    expect((await send(SESSIONS, asMira)).status).toBe(429);
  });

  test('a limit is of who asks, and not of the address that they ask from [auth.limits]', async () => {
    const { send, asMira } = ground({ rateLimits: { principals: FEW } });
    const address = counter();
    const answers = await times(4, () => send(SESSIONS, asMira, `192.0.2.${address()}`));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  });

  test('strangers who go on are told to wait, and lock nobody out [auth.limits]', async () => {
    const { send, asMira } = ground({ rateLimits: { strangers: FEW } });
    expect((await send(SESSIONS, asMira)).status).toBe(200);
    const guess = () => send(SESSIONS, { authorization: `Bearer ${newKeyText().text}` });
    const answers = await times(20, guess);
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, ...Array(17).fill(429)]);
    expect((await send(SESSIONS, asMira)).status).toBe(200);
    expect((await send(SESSIONS, { authorization: `Bearer ${newKeyText().text}` }, '192.0.2.2')).status).toBe(
      401,
    );
    vi.advanceTimersByTime(60_000);
    expect((await guess()).status).toBe(401);
  });

  test('strangers who share its address keep out no key that was never seen, and cost the store little [auth.limits]', async () => {
    vi.useRealTimers();
    const { send, asMira, looks } = ground({ rateLimits: { strangers: FEW } });
    const began = performance.now();
    let isOver = false;
    const storm = async () => {
      const refused: number[] = [];
      while (!isOver) {
        refused.push((await send(SESSIONS, { authorization: `Bearer ${newKeyText().text}` })).status);
      }
      return refused;
    };
    const strangers = Array.from({ length: 50 }, storm);
    await expect.poll(() => looks.length).toBeGreaterThan(3);
    expect((await send(SESSIONS, asMira)).status).toBe(200);
    isOver = true;
    const refused = (await Promise.all(strangers)).flat();
    expect(new Set(refused)).toEqual(new Set([401, 429]));
    // One statement each 20 milliseconds, for however many.
    expect(looks.length).toBeLessThanOrEqual((performance.now() - began) / 20 + 2);
    expect(looks.reduce((sum, count) => sum + count, 0)).toBe(refused.length + 1);
  });

  test('a key that was good lately is looked at again, however many strangers there are [auth.limits]', async () => {
    const { send, asMira } = ground({ rateLimits: { strangers: { perSecond: 0.001, burst: 3 } } });
    expect((await send(SESSIONS, asMira)).status).toBe(200);
    await times(5, () => send(SESSIONS));
    vi.advanceTimersByTime(5_000);
    expect((await send(SESSIONS)).status).toBe(429);
    expect((await send(SESSIONS, asMira)).status).toBe(200);
  });

  test('one network of IPv6 is one stranger; what is open stays open [auth.limits]', async () => {
    const { send } = ground({ rateLimits: { strangers: FEW } });
    const last = counter();
    const answers = await times(4, () => send(SESSIONS, {}, `2001:db8:1:2::${last()}`));
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
    expect((await send(SESSIONS, {}, '2001:db8:1:3::1')).status).toBe(401);
    expect((await send('/v1/health', {}, '2001:db8:1:2::1')).status).toBe(200);
  });

  test('who writes X-Forwarded-For gets no other limit, unless a proxy is trusted [auth.limits]', async () => {
    const from = counter();
    const forwarded = () => ({ 'x-forwarded-for': `198.51.100.${from()}` });
    const plain = ground({ rateLimits: { strangers: FEW } });
    const refused = await times(4, () => plain.send(SESSIONS, forwarded()));
    expect(refused.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
    const behind = ground({ trustProxy: true, rateLimits: { strangers: FEW } });
    const each = await times(4, () => behind.send(SESSIONS, forwarded()));
    expect(each.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
    // What stands before the proxy's own word is the caller's invention.
    const invented = await times(4, () =>
      behind.send(SESSIONS, { 'x-forwarded-for': `203.0.113.${from()}, 198.51.100.77` }),
    );
    expect(invented.map(({ status }) => status)).toEqual([401, 401, 401, 429]);
  });

  test('programs of the own machine have none [auth.limits]', async () => {
    const { send } = stubGateway(
      { 'sessions.list': () => ({ sessions: [], totalItems: 0 }) },
      { settings: { access: { rateLimits: { principals: FEW, strangers: FEW } } } },
    );
    const answers = await times(20, () => send(SESSIONS, { headers: { authorization: `Bearer ${TOKEN}` } }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test('however requests come, no more are taken than the limit has [auth.limits]', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 10 }),
        (pauses, perSecond, burst) => {
          const buckets = new TokenBuckets({ perSecond, burst });
          let taken = 0;
          let time = 0;
          for (const pause of pauses) {
            vi.advanceTimersByTime(pause);
            time += pause;
            const wait = buckets.take('a');
            if (wait === 0) taken += 1;
            else expect(wait).toBeLessThanOrEqual(Math.ceil(1_000 / perSecond));
          }
          expect(taken).toBeLessThanOrEqual(burst + (time / 1_000) * perSecond);
        },
      ),
    );
  });
});

describe('a gateway behind a proxy', () => {
  const warned = (settings: GatewaySettings, isLocal = false) => {
    const { lines } = stubGateway(
      {},
      {
        settings,
        ...(isLocal
          ? {}
          : {
              access: networkAccess({ publicUrl: settings.publicUrl, checks: [{ check: () => undefined }] }),
            }),
      },
    );
    return lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  };
  const publicUrl = 'https://agents.example.com';

  test('says at its start that nobody has said whether to trust it [auth.limits]', () => {
    expect(warned({ publicUrl })).toEqual([expect.stringContaining('trustProxy')]);
    expect(warned({ publicUrl, access: {} })).toHaveLength(1);
    expect(warned({ publicUrl, access: { trustProxy: false } })).toEqual([]);
    expect(warned({ publicUrl, access: { trustProxy: 2 } })).toEqual([]);
    expect(warned({ publicUrl: 'http://127.0.0.1:8080' })).toEqual([]);
    expect(warned({ publicUrl }, true)).toEqual([]);
  });
});

describe('where a caller is', () => {
  test.each([
    ['192.0.2.1', undefined, 0, '192.0.2.1'],
    ['::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['fe80::1%eth0', undefined, 0, 'fe80::1'],
    [undefined, undefined, 0, undefined],
    [undefined, '192.0.2.9', 0, undefined],
    ['10.0.0.1', '192.0.2.9', 0, '10.0.0.1'],
    ['10.0.0.1', '192.0.2.9', 1, '192.0.2.9'],
    ['10.0.0.1', '192.0.2.8, 192.0.2.9', 1, '192.0.2.9'],
    ['10.0.0.1', '192.0.2.8, 192.0.2.9', 2, '192.0.2.8'],
    ['10.0.0.1', '192.0.2.9', 2, '10.0.0.1'],
    ['10.0.0.1', 'unknown', 1, '10.0.0.1'],
    ['10.0.0.1', '', 1, '10.0.0.1'],
    ['10.0.0.1', '[2001:DB8::1]', 1, '2001:db8::1'],
    ['10.0.0.1', '192.0.2.9:5678', 1, '192.0.2.9'],
    ['10.0.0.1', '[2001:db8::1]:80', 1, '2001:db8::1'],
    ['10.0.0.1', '[::ffff:192.0.2.9]:80', 1, '192.0.2.9'],
    ['10.0.0.1', '2001:db8::1:80', 1, '2001:db8::1:80'],
    ['10.0.0.1', '192.0.2.9:', 1, '10.0.0.1'],
    ['10.0.0.1', '192.0.2.9:5:6', 1, '10.0.0.1'],
    ['10.0.0.1', "1'; drop table", 1, '10.0.0.1'],
  ])('%s behind %s with %d proxies is %s [auth.limits]', (remoteAddress, forwarded, proxies, address) => {
    const headers = new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded });
    expect(callerAddress({ headers, remoteAddress }, proxies)).toBe(address);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('%s is of the network %s [auth.limits]', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe('what is refused', () => {
  test('is noted with who, what for and why, and without names of users [auth.denials]', async () => {
    const { gateway, send, asMira, noted } = ground();
    for (const _again of [1, 2]) await send('/v1/apps/bank/users/ada/sessions', asMira);
    await send('/v1/approvals', asMira);
    await send('/v1/apps/shop/users/ada/sessions', {});
    await send('/v1/nothing', {});
    await send(SESSIONS, { host: 'evil.example' });
    await send(SESSIONS, asMira);
    await gateway.flush();
    const told = noted.map(({ firstAt: _first, lastAt: _last, ...kind }) => kind);
    const session = 'GET /v1/apps/:app/users/:user/sessions';
    expect(told).toEqual([
      { reason: 'hidden', route: session, who: 'mira', permission: 'read', app: 'bank', count: 2 },
      {
        reason: 'forbidden',
        route: 'GET /v1/approvals',
        who: 'mira',
        permission: 'read or approve',
        count: 1,
      },
      { reason: 'unauthenticated', route: session, address: '192.0.2.1', count: 1 },
      { reason: 'unauthenticated', route: 'none', address: '192.0.2.1', count: 1 },
      { reason: 'forbidden', route: expect.any(String), address: '192.0.2.1', count: 1 },
    ]);
    expect(JSON.stringify(noted)).not.toMatch(/ada/);
  });

  test('in a storm is a few rows, and nothing is lost of how many [auth.denials]', async () => {
    const noted: Denial[] = [];
    const log = new DenialLog({ noteDenials: async (each) => void noted.push(...each) }, collecting([]));
    const at = Date.parse('2026-11-21T12:00:00Z');
    for (let each = 0; each < 10_000; each += 1) {
      log.note({ reason: 'unauthenticated', route: 'none', address: `192.0.2.${each % 1_000}` }, at);
    }
    await log.flush();
    expect(noted.length).toBeLessThanOrEqual(101);
    expect(noted.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  });

  test('is told as the store keeps it, so that nobody spoils what is noted of others [auth.denials]', async () => {
    const noted: Denial[] = [];
    const log = new DenialLog({ noteDenials: async (each) => void noted.push(...each) }, collecting([]));
    const at = Date.parse('2026-11-21T12:00:00Z');
    const route = 'none';
    log.note({ reason: 'hidden', route, app: 'a\0b', who: 'm\0' }, at);
    log.note({ who: 'm\ud800', app: 'a\udfffb', reason: 'hidden', route }, at);
    log.note({ reason: 'hidden', route, app: `${'x'.repeat(199)}\u{1f600}` }, at);
    await log.flush();
    expect(noted).toMatchObject([
      { app: 'a\ufffdb', who: 'm\ufffd', count: 2 },
      { app: `${'x'.repeat(199)}\ufffd`, count: 1 },
    ]);
  });

  test('is dropped, and that is told, where it can never be noted [auth.denials]', async () => {
    const noted: Denial[] = [];
    const lines: LoggedLine[] = [];
    let isBad = true;
    const noteDenials = async (each: readonly Denial[]) => {
      if (isBad) throw new StoreFailed('the store can’t');
      noted.push(...each);
    };
    const log = new DenialLog({ noteDenials }, collecting(lines));
    log.note({ reason: 'unauthenticated', route: 'none' });
    await log.flush();
    isBad = false;
    log.note({ reason: 'hidden', route: 'none' });
    await log.flush();
    expect(noted).toMatchObject([{ reason: 'hidden', count: 1 }]);
    expect(lines).toMatchObject([{ level: 'error', message: expect.stringContaining('dropped') }]);
  });

  test('is kept for the next time where it can’t be noted [auth.denials]', async () => {
    const noted: Denial[] = [];
    const lines: LoggedLine[] = [];
    let isAway = true;
    const noteDenials = async (each: readonly Denial[]) => {
      if (isAway) throw new StoreUnavailable('the store is away');
      noted.push(...each);
    };
    const log = new DenialLog({ noteDenials }, collecting(lines));
    const kind = { reason: 'unauthenticated', route: 'none' };
    log.note(kind);
    await log.flush();
    log.note(kind);
    isAway = false;
    await log.flush();
    expect(noted.reduce((sum, { count }) => sum + count, 0)).toBe(2);
    expect(lines).toMatchObject([{ level: 'warn' }]);
  });
});
