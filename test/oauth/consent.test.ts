import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beginConsent, finishConsent, flowOf } from '../../src/oauth/consent.ts';
import { Browser } from '../setup/authorization-server.ts';
import { until } from '../setup/until.ts';
import { APP, KEY, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let desk: OAuthDesk;
beforeAll(async () => {
  desk = await openOAuthDesk();
});
afterAll(() => desk.close());

const back = () => `${desk.served.url}/oauth/callback`;
const listed = (userId: string) => desk.client.credentials.list({ app: APP, userId });
const waiting = async (userId: string) => (await desk.client.approvals.list({ app: APP, userId })).length;

/** A person who was at the server, and has not come back yet. */
async function away(userId: string, says: 'yes' | 'no' = 'yes', scopes: string[] = ['calendar.read']) {
  const browser = new Browser();
  const link = await desk.link(userId, scopes);
  return { browser, link, way: await browser.consent(`${link}/start`, back(), { says }) };
}

async function textOf(browser: Browser, url: string): Promise<{ status: number; text: string; at: string }> {
  const { url: at, answer } = await browser.follow(url);
  return { status: answer?.status ?? 0, text: ((await answer?.text()) ?? '').replace(/<[^>]*>/g, ''), at };
}

describe('a tool that needs a person’s consent', () => {
  test('waits, and goes on in every session of that user once they have consented [oauth.consent]', async () => {
    const turns = await Promise.all([desk.send('ada'), desk.send('ada'), desk.send('bob')]);
    const [request] = await desk.pending('ada', 2);
    await desk.pending('bob');
    const provider = new URL(desk.server.issuer).host;
    expect(request).toMatchObject({ kind: 'credential', authConfig: { credentialKey: KEY, provider } });
    expect(await desk.connect('ada')).toContain('Connected');
    const results = await Promise.all(turns.slice(0, 2).map((turn) => turn.result()));
    expect(results.map(({ text }) => text)).toEqual(['[{"events":43}]', '[{"events":43}]']);
    expect(await waiting('bob')).toBe(1);
    expect(await listed('ada')).toMatchObject([
      {
        authType: 'oauth2',
        credentialKey: KEY,
        account: 'ada@example.com',
        scopes: expect.arrayContaining(['calendar.read']),
      },
    ]);
    // The next call finds them.
    expect((await (await desk.send('ada')).result()).text).toBe('[{"events":43}]');
  });

  test('and an approval asks for the approval first [oauth.consent]', async () => {
    const turn = await desk.send('cy', ['clear_events']);
    const [gate] = await desk.pending('cy');
    expect(gate?.kind).toBe('confirmation');
    await desk.client.approvals.confirm({ requestId: gate?.requestId ?? '' }, { confirmed: true });
    await until(async () => expect((await desk.pending('cy'))[0]?.kind).toBe('credential'));
    await desk.connect('cy');
    expect((await turn.result()).text).toBe('[{"events":43}]');
  });

  test('asks again for more scopes, and keeps those that it has [oauth.scopes]', async () => {
    await desk.connect('dee');
    const turn = await desk.send('dee', ['add_event']);
    await desk.pending('dee');
    const scopes = ['calendar.read', 'calendar.write'];
    await desk.connect('dee', { scopes });
    expect((await turn.result()).text).toBe('[{"events":43}]');
    expect((await listed('dee'))[0]?.scopes).toEqual(expect.arrayContaining(scopes));
  });

  test('goes on when somebody opens the link of a connection that is there: a gateway may have died before [oauth.consent]', async () => {
    const turn = await desk.send('eve');
    const [request] = await desk.pending('eve');
    await desk.connect('frank');
    const credential = { authType: 'oauth2', oauth2: await desk.tokensOf('frank') } as const;
    await desk.client.credentials.put({ app: APP, userId: 'eve', credentialKey: KEY, credential });
    expect(request?.status).toBe('pending');
    expect((await textOf(new Browser(), await desk.link('eve', ['calendar.read']))).text).toContain(
      'Connected',
    );
    expect((await turn.result()).text).toBe('[{"events":43}]');
  });
});

describe('a way back from the authorization server', () => {
  test('that the person has denied says so, and they can consent afterwards [oauth.refusals]', async () => {
    const turn = await desk.send('gus');
    await desk.pending('gus');
    const { browser, way } = await away('gus', 'no');
    const denied = await textOf(browser, way);
    expect(denied).toMatchObject({ status: 409 });
    expect(denied.text).toContain('consent was denied');
    expect([await listed('gus'), await waiting('gus')]).toEqual([[], 1]);
    await desk.connect('gus');
    expect((await turn.result()).text).toBe('[{"events":43}]');
  });

  test('counts once, and leads to the page of the connection when it is opened again [oauth.refusals]', async () => {
    const { browser, way } = await away('hal');
    const first = await textOf(browser, way);
    const grants = desk.server.grants.length;
    const second = await textOf(browser, way);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.text).toContain('Connected');
    expect(desk.server.grants).toHaveLength(grants);
  });

  test('of another account than the one that is connected changes nothing [oauth.refusals]', async () => {
    await desk.connect('ida', { account: 'ida@example.com' });
    const page = await desk.connect('ida', { account: 'mallory@example.com' });
    expect(page).toContain('mallory@example.com');
    expect(page).toContain('disconnect that first');
    expect(await listed('ida')).toMatchObject([{ account: 'ida@example.com' }]);
  });

  test('without the account that was asked for keeps nothing, whether one is connected or not [oauth.refusals]', async () => {
    await desk.connect('kim', { account: 'kim@example.com' });
    for (const userId of ['kim', 'lea']) {
      const browser = new Browser();
      const start = await browser.follow(`${await desk.link(userId)}/start`, desk.server.issuer);
      const changed = new URL(start.url);
      changed.searchParams.set('scope', 'calendar.read');
      for (const name of ['nonce', 'prompt']) changed.searchParams.delete(name);
      const way = await browser.consent(changed.href, back(), { account: 'mallory@example.com' });
      expect((await textOf(browser, way)).text).toContain('no ID token');
    }
    expect(await listed('lea')).toEqual([]);
    expect(await listed('kim')).toMatchObject([{ account: 'kim@example.com' }]);
  });

  test('is begun for no more scopes than an address can carry [oauth.refusals]', async () => {
    const scopes = Array.from({ length: 40 }, (_each, n) => `${n}`.repeat(100));
    await expect(desk.link('moe', scopes)).rejects.toMatchObject({ code: 'HOLDFAST_OAUTH_FAILED' });
  });

  test('after an hour is too late [oauth.refusals]', async () => {
    const { connections } = desk;
    const wanted = { app: APP, userId: 'jo', credentialKey: KEY, needs: [] };
    const { state } = await beginConsent(connections, wanted, { redirectUri: back(), until: 1_000 });
    const callback = new URLSearchParams({ state, code: 'c', iss: desk.server.issuer });
    const flow = flowOf(connections, state) ?? expect.fail();
    const late = finishConsent(connections, flow, callback, { now: 1_001 });
    await expect(late).rejects.toMatchObject({ code: 'HOLDFAST_OAUTH_FAILED', problem: 'expired' });
  });
});

type Away = Awaited<ReturnType<typeof away>>;
const fieldOf = (way: string, name: string) => new URL(way).searchParams.get(name) ?? '';
const set = (name: string, textIn: (way: string, attacker: Away) => string) => (way: URL, attacker: Away) =>
  way.searchParams.set(name, textIn(way.href, attacker));

/** Each changes the way back of a victim, or gives the browser that opens it. */
const ATTACKS: readonly [name: string, attack: (way: URL, attacker: Away) => unknown][] = [
  ['is opened in another browser (state fixation)', () => new Browser()],
  ['has the code of somebody else (code injection)', set('code', (_way, { way }) => fieldOf(way, 'code'))],
  ['has the state of somebody else', set('state', (_way, { way }) => fieldOf(way, 'state'))],
  ['has a state that nobody gave out (forgery)', set('state', () => `k1.${'A'.repeat(400)}`)],
  [
    'has a changed state',
    set('state', (way) => fieldOf(way, 'state').replace(/.{2}$/, (end) => (end === 'AA' ? 'BB' : 'AA'))),
  ],
  ['names another issuer (mix-up)', set('iss', () => 'https://attacker.example')],
  ['names no issuer, which this server always does', (way) => way.searchParams.delete('iss')],
  ['has two codes', (way) => way.searchParams.append('code', 'another')],
  [
    'comes by the way of another server',
    (way) => {
      way.pathname += '/other';
    },
  ],
];

describe('an attack on the way back', () => {
  test.each(ATTACKS)('which %s keeps no tokens, and wakes nobody [oauth.attacks]', async (_name, attack) => {
    const [victim, attacker] = [`victim-${randomUUID()}`, `attacker-${randomUUID()}`];
    await desk.send(victim);
    await desk.pending(victim);
    const [ofVictim, ofAttacker] = [await away(victim), await away(attacker)];
    const way = new URL(ofVictim.way);
    const by = attack(way, ofAttacker);
    const { status } = await textOf(by instanceof Browser ? by : ofVictim.browser, way.href);
    expect(status).toBeGreaterThanOrEqual(400);
    expect([await listed(victim), await listed(attacker), await waiting(victim)]).toEqual([[], [], 1]);
  });

  test.each(['/connect/x', '/connect/x/start', '/oauth/callback', '/oauth/callback?state=x&code=y'])(
    'by %s learns nothing [oauth.attacks]',
    async (path) => {
      const { status, text } = await textOf(new Browser(), `${desk.served.url}${path}`);
      expect([400, 404]).toContain(status);
      expect(text).not.toContain(APP);
    },
  );

  test('by a link that was changed is none [oauth.attacks]', async () => {
    const link = await desk.link('kim');
    const forged = `${link.slice(0, -12)}${link.at(-12) === 'A' ? 'B' : 'A'}${link.slice(-11)}`;
    const { status } = await textOf(new Browser(), forged);
    expect(status).toBe(404);
  });
});

test('a disconnected account is given up at the server, and calls ask again [oauth.disconnect]', async () => {
  await desk.connect('lee');
  const [stored] = await listed('lee');
  const { refreshToken = '' } = await desk.tokensOf('lee');
  const owner = { app: APP, userId: 'lee', credentialRef: stored?.credentialRef ?? '' };
  expect(await desk.client.credentials.remove(owner)).toEqual({ removed: true, revoked: true });
  expect(await desk.server.provider.RefreshToken.find(refreshToken)).toBeUndefined();
  await desk.send('lee');
  expect(await desk.pending('lee')).toMatchObject([{ kind: 'credential' }]);
});
