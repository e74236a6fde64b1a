import { setTimeout as pause } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { FollowOptions } from '../../src/client/stream/follow-events.ts';
import type { Grant } from '../../src/contract/keys.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { ApiKeys, type GatewayOptions, jwtCheck, networkAccess } from '../../src/gateway/index.ts';
import type { KnownApiKey } from '../../src/store/keys/key-store.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';
import { codeOf, collecting, HOST, type Stub, stubGateway, stubTurn } from './gateway-stub.ts';

const EVENTS = '/v1/apps/shop/users/ada/sessions/s1/events';
const TURN = '/v1/apps/shop/users/ada/sessions/s1/turns/m1';
const READS: Grant[] = [{ app: 'shop', roles: ['read'] }];
const publicUrl = `http://${HOST}`;

/** Waits for real: `vi.waitFor` would set the test's clock on. */
async function soon(holds: () => void | Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await holds();
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'AssertionError') throw error;
      await pause(5);
    }
  }
}

/** Ends with its signal only. */
async function* silent(_names: unknown, options?: FollowOptions): AsyncGenerator<never, void, undefined> {
  await new Promise<void>((resolve) => options?.signal?.addEventListener('abort', () => resolve()));
}

/** A gateway, and a key whose row a test may change. */
function ground(more: Partial<GatewayOptions> = {}, client: Stub = {}) {
  const { text, keyId, digest } = newKeyText();
  const row: KnownApiKey = { keyId, name: 'mira', grants: READS, createdAt: 0, digest };
  const store = {
    isAway: false,
    keys: {
      find: async () => {
        if (store.isAway) throw new StoreUnavailable('the store is away');
        return [{ ...row }];
      },
      touch: async () => undefined,
    },
    now: async () => Date.now(),
  };
  const keys = new ApiKeys({ store, logger: collecting([]) });
  const access = networkAccess({ publicUrl, keys });
  const stub = stubGateway({ stream: silent, ...client }, { access, keepAlive: 600_000, ...more });
  const as = { authorization: `Bearer ${text}` };
  const follow = async (headers: Record<string, string> = as) => {
    const answer = await stub.send(EVENTS, { headers: { ...headers, accept: 'text/event-stream' } });
    const reader = answer.status === 200 ? answer.body?.getReader() : undefined;
    const stream = { answer, said: '', isOpen: false, end: async () => await reader?.cancel() };
    if (reader === undefined) return stream;
    stream.isOpen = true;
    void (async () => {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        stream.said += new TextDecoder().decode(piece.value);
      }
      stream.isOpen = false;
    })();
    await soon(() => expect(stream.said).toContain('retry:'));
    return stream;
  };
  return { ...stub, as, row, store, follow };
}

describe('who follows a stream', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setInterval', 'clearInterval'] });
  });
  afterEach(() => void vi.useRealTimers());

  test.each([
    ['the key is revoked', () => ({ revokedAt: Date.now() })],
    ['the key has expired', () => ({ expiresAt: Date.now() })],
    ['the key has another secret', () => ({ digest: newKeyText().digest })],
    ['the app is granted no more', () => ({ grants: [{ app: 'bank', roles: ['read'] }] })],
    ['reading is granted no more', () => ({ grants: [{ app: 'shop', roles: ['run'] }] })],
  ] as [string, () => Partial<KnownApiKey>][])(
    'has it for 10 seconds at most once %s [auth.keys]',
    async (_what, change) => {
      const { follow, row, gateway } = ground();
      const stream = await follow();
      await vi.advanceTimersByTimeAsync(60_000);
      expect([stream.isOpen, gateway.openStreams]).toEqual([true, 1]);
      Object.assign(row, change());
      await vi.advanceTimersByTimeAsync(10_000);
      await soon(() => expect(stream.isOpen).toBe(false));
      expect(stream.said).not.toContain('event:');
      expect(gateway.openStreams).toBe(0);
      expect((await follow()).answer.status).toBeGreaterThanOrEqual(401);
    },
  );

  test('has it as long as the token is good, and the minute that clocks may differ [auth.oidc]', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256');
    const [issuer, audience] = ['https://id.example.com', 'holdfast'];
    const jwks = { keys: [await exportJWK(publicKey)] };
    const tokens = jwtCheck([{ issuer, audience, jwks, person: 'sub', grants: () => READS }]);
    let checked: unknown;
    const check: typeof tokens.check = (...given) => {
      const answer = tokens.check(...given);
      checked = answer;
      return answer;
    };
    const token = await new SignJWT({ iss: issuer, aud: audience, sub: 'u-1' })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('5 minutes')
      .sign(privateKey);
    const { follow } = ground({ access: networkAccess({ publicUrl, checks: [{ check }] }) });
    const stream = await follow({ authorization: `Bearer ${token}` });
    // The token is checked by a promise of another thread, which no clock waits for.
    for (let seconds = 0; seconds < 300; seconds += 4) {
      await vi.advanceTimersByTimeAsync(4_000);
      await checked;
    }
    expect(stream.isOpen).toBe(true);
    const goOn = async () => {
      await vi.advanceTimersByTimeAsync(4_000);
      return stream.isOpen;
    };
    await soon(async () => expect(await goOn()).toBe(false));
  });

  test('keeps it while the store is away for a moment, and no longer [auth.keys]', async () => {
    const { follow, store } = ground();
    const stream = await follow();
    store.isAway = true;
    await vi.advanceTimersByTimeAsync(20_000);
    store.isAway = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(stream.isOpen).toBe(true);
    store.isAway = true;
    await vi.advanceTimersByTimeAsync(50_000);
    await soon(() => expect(stream.isOpen).toBe(false));
  });

  test('has so many at once, and another one when one has ended [auth.limits]', async () => {
    const { follow, as, gateway } = ground({ settings: { access: { rateLimits: { streams: 3 } } } });
    const [first] = [await follow(), await follow(), await follow()];
    const { answer } = await follow();
    expect([answer.status, await codeOf(answer)]).toEqual([429, 'HOLDFAST_GATEWAY_TOO_MANY_REQUESTS']);
    expect(answer.headers.get('retry-after')).toBe('5');
    await first.end();
    expect((await follow()).isOpen).toBe(true);
    expect(gateway.openStreams).toBe(3);
    expect((await follow(as)).answer.status).toBe(429);
  });

  test('has no more where they are asked for in one moment [auth.limits]', async () => {
    const { send, as, gateway } = ground({ settings: { access: { rateLimits: { streams: 3 } } } });
    const headers = { ...as, accept: 'text/event-stream' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(EVENTS, { headers })));
    const reads = answers.map(async ({ body, status }) =>
      status === 200 ? new TextDecoder().decode((await body?.getReader().read())?.value) : 'refused',
    );
    const said = await Promise.all(reads);
    expect(said.filter((each) => each.startsWith('retry:'))).toHaveLength(3);
    expect(gateway.openStreams).toBe(3);
  });
});

test('who has waited long for a turn is told of it only while the key is good [auth.keys]', async () => {
  const result = Promise.withResolvers<never>();
  const asked = vi.fn(() => result.promise);
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  try {
    const { send, as, row } = ground({}, { turn: async () => stubTurn({ result: asked }) });
    const answer = send(`${TURN}?wait=60`, { headers: as });
    await soon(() => expect(asked).toHaveBeenCalled());
    row.revokedAt = Date.now();
    vi.advanceTimersByTime(6_000);
    result.resolve({ status: 'completed', text: 'the secret' } as never);
    expect((await answer).status).toBe(401);
  } finally {
    vi.useRealTimers();
  }
});
