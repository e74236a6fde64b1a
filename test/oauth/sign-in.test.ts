import { once } from 'node:events';
import { get } from 'node:http';
import { generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { sealText } from '../../src/credentials/seal.ts';
import {
  createGateway,
  defineGateway,
  type GatewayOptions,
  type GatewaySettings,
  type ServedGateway,
  serveGateway,
  type TrustedIssuer,
} from '../../src/gateway/index.ts';
import { type OwnIssuer, openIssuer } from '../gateway/own-issuer.ts';
import { readPage, sendForm } from '../pages/browser-form.ts';
import { openPageDesk, type PageDesk } from '../pages/page-desk.ts';
import {
  type AuthorizationServer,
  Browser,
  CLIENT,
  openAuthorizationServer,
} from '../setup/authorization-server.ts';
import * as browsers from '../setup/browser.ts';
import { freePort } from '../setup/free-port.ts';
import { until } from '../setup/until.ts';

const { accessibilityProblems, NO_BROWSER, openBrowser, overflowOf, PHONE, visit } = browsers;
const groups = ['approvers'];
const PEOPLE = {
  'mira@example.com': { name: 'mira', groups },
  'otto@example.com': { name: 'otto', groups: ['bankers', 'constructor'] },
  'new@example.com': { name: 'new', groups: ['others'] },
  'nameless@example.com': { groups },
  'odd@example.com': { name: 'unverified', groups },
};
const CALLBACK = '/inbox/sign-in/callback';

let desk: PageDesk;
let server: AuthorizationServer;
/** An issuer that answers what a test wants. */
let liar: OwnIssuer;
let issuers: TrustedIssuer[];
let settings: GatewaySettings;
let served: ServedGateway;
let port: number;
const at = (path: string) => `${served.url}${path}`;

beforeAll(async () => {
  port = await freePort();
  const ways = ['127.0.0.1', 'localhost'].map((name) => `http://${name}:${port}${CALLBACK}`);
  [server, liar, desk] = await Promise.all([
    openAuthorizationServer(ways, { people: PEOPLE }),
    openIssuer(),
    openPageDesk(),
  ]);
  const of = (app: string) => [{ app, roles: ['read' as const, 'approve' as const] }];
  const grants = { claim: 'groups', values: { approvers: of('shop'), bankers: of('bank') } };
  const shared = { audience: 'programs', person: 'name', grants };
  issuers = [
    { ...shared, issuer: server.issuer, signIn: { ...CLIENT, scopes: ['profile'] } },
    { ...shared, issuer: liar.url, userId: 'uid', signIn: CLIENT },
  ];
  const rateLimits = { strangers: { perSecond: 10_000, burst: 10_000 } };
  settings = { access: { issuers, rateLimits } };
  liar.answers['/.well-known/openid-configuration'] = {
    body: JSON.stringify({
      ...{ issuer: liar.url, jwks_uri: `${liar.url}/keys`, token_endpoint: `${liar.url}/token` },
      authorization_endpoint: `${liar.url}/authorize`,
      id_token_signing_alg_values_supported: ['ES256', 'HS256'],
    }),
  };
  served = await serveGateway({ gateway: { ...desk.options, settings }, port });
});
afterAll(async () => {
  await served?.close();
  await Promise.all([desk?.close(), server?.close(), liar?.close()]);
});

const beginning = (issuer: string | number, next = '/inbox') =>
  at(`/inbox/sign-in/oidc?${new URLSearchParams({ issuer: String(issuer), next })}`);

/** Somebody at the issuer, who has said yes, or no. */
async function wayBack(account: string, says = 'yes') {
  const begun = await readPage(beginning(0));
  const location = begun.headers.get('location') ?? '';
  const back = await new Browser().consent(location, at(CALLBACK), { account, says });
  return {
    ...{ cookie: begun.cookie, back: new URL(back) },
    /** Keeps the value of another cookie under the name of this one. */
    keep(cookie: string) {
      this.cookie = this.cookie.replace(/=.*$/, `=${cookie.replace(/^[^=]*=/, '')}`);
    },
  };
}

const open = async ({ back, cookie }: { back: URL; cookie: string }) =>
  await readPage(back.href, { headers: { cookie } });

async function signedIn(account: string) {
  const { cookie, status } = await open(await wayBack(account));
  expect(status).toBe(303);
  const kept = /holdfast=[\w-]{43}/.exec(cookie)?.[0] ?? '';
  const read = async (path: string, url = served.url) => ({
    ...(await readPage(`${url}${path}`, { headers: { cookie: kept } })),
    cookie: kept,
  });
  return { cookie: kept, read };
}

/** A way back from the issuer that answers what it is told, with an ID token of these claims. */
async function liedTo(claims: object, next?: string, header = {}, key?: unknown, more: object = {}) {
  const begun = await readPage(beginning(1, next));
  const asked = new URL(begun.headers.get('location') ?? '').searchParams;
  const nonce = asked.get('nonce');
  const said = { aud: CLIENT.clientId, nonce, name: 'mira', groups, uid: 'ada', ...claims };
  const id_token = await liar.token(said, header, key as never);
  const body = JSON.stringify({ access_token: 'at-1', token_type: 'Bearer', id_token, ...more });
  liar.answers['/token'] = { status: 200, body };
  const back = new URL(at(CALLBACK));
  back.search = String(new URLSearchParams({ code: 'c-1', state: asked.get('state') ?? '' }));
  return await open({ back, cookie: begun.cookie });
}

/** A page that says why nobody is signed in, and nobody is. */
function expectRefused(page: Awaited<ReturnType<typeof readPage>>, status: number, text: string) {
  expect([page.status, page.text]).toEqual([status, expect.stringContaining(text)]);
  expect(page.text).toContain('Not signed in');
  expect(page.headers.getSetCookie().join()).not.toMatch(/holdfast=/);
}

async function without(more: Partial<GatewayOptions>, use: (url: string) => Promise<void>): Promise<void> {
  const other = await serveGateway({ gateway: { ...desk.options, ...more } });
  await use(other.url);
  await other.close();
}

describe('a person whom an issuer knows', () => {
  test('decides without an API key, in the name and with the rights of the claims [inbox.issuers]', async () => {
    const [row, foreign] = await Promise.all([
      desk.asked('refund_order', { order: 'A-1', cents: 5 }),
      desk.asked('restart', { host: 'b' }, { app: 'bank' }),
    ]);
    const path = `/inbox/requests/${row.requestId}`;
    const form = await readPage(at(`/inbox/sign-in?next=${path}`));
    expect(form.text).toMatch(`Sign in with ${new URL(server.issuer).host}`);
    const browser = new Browser();
    const way = /href="([^"]+oidc[^"]+)"/.exec(form.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const back = await browser.consent(at(way), at(CALLBACK), { account: 'mira@example.com' });
    expect((await browser.follow(back)).url).toBe(at(path));
    const mira = await signedIn('mira@example.com');
    const page = await mira.read(path);
    expect(page.text).toMatch(/Signed in as <b><bdi>mira/);
    expect((await mira.read(`/inbox/requests/${foreign.requestId}`)).status).toBe(404);
    expect((await sendForm(at(path), page, { do: 'approve' })).headers.get('location')).toBe(`${path}?sent`);
    await until(() => expect(desk.ranOf(row)).toHaveLength(1));
    const { votes } = await desk.now(row);
    expect(votes[0]?.by).toMatchObject({ principal: 'mira', channel: 'inbox', verified: true });
    const otto = await signedIn('otto@example.com');
    expect((await otto.read(`/inbox/requests/${foreign.requestId}`)).status).toBe(200);
    expect((await otto.read(path)).status).toBe(404);
  });

  test('keeps a new cookie with each sign-in, which a sign-out ends [inbox.issuers]', async () => {
    const planted = `holdfast=${'A'.repeat(43)}`;
    const way = await wayBack('mira@example.com');
    const sent = await open({ ...way, cookie: `${planted}; ${way.cookie}` });
    const [kept = ''] = sent.headers.getSetCookie();
    expect(way.cookie).toMatch(/^holdfast-sign-in-[\w-]{16}=[\w.-]+$/);
    expect(kept).toMatch(/^holdfast=[\w-]{43}; .*HttpOnly; SameSite=Strict$/);
    expect(kept).not.toContain(planted);
    expect((await readPage(at('/inbox'), { headers: { cookie: planted } })).status).toBe(303);
    const { cookie, read } = await signedIn('mira@example.com');
    expect(kept).not.toContain(cookie);
    expect((await sendForm(at('/inbox/sign-out'), await read('/inbox'), {})).text).toContain('Signed out');
    expect((await read('/inbox')).status).toBe(303);
  });

  test('acts for the user of their claim only [inbox.issuers]', async () => {
    const [own, other] = await Promise.all([
      desk.asked('restart', { host: 'a' }, { userId: 'ada' }),
      desk.asked('restart', { host: 'b' }, { userId: 'bob' }),
    ]);
    const { status, cookie } = await liedTo({});
    expect(status).toBe(303);
    for (const [row, shown] of [
      [own, 200],
      [other, 404],
    ] as const) {
      const headers = { cookie };
      expect((await readPage(at(`/inbox/requests/${row.requestId}`), { headers })).status).toBe(shown);
    }
    expectRefused(await liedTo({ uid: undefined }), 401, 'lacks a claim');
  });

  test('is signed in for as long as the issuer is in the settings, with API keys or without [inbox.issuers]', async () => {
    const { read } = await signedIn('mira@example.com');
    const access = { ...settings.access, keys: false };
    await without({ settings: { access } }, async (url) => {
      expect((await read('/inbox', url)).status).toBe(200);
      const form = await readPage(`${url}/inbox/sign-in`);
      expect(form.text).toMatch(/Sign in with(?!.*API key)/s);
      const [known, { text }] = [await readPage(at('/inbox/sign-in')), await desk.key('jo', [])];
      expect((await sendForm(`${url}/inbox/sign-in`, known, { key: text })).status).toBe(401);
    });
    const [{ signIn: _signIn, ...trusted }] = issuers as [TrustedIssuer];
    for (const left of [[], [trusted], issuers.slice(1)])
      await without({ settings: { access: { issuers: left } } }, async (url) => {
        expect((await read('/inbox', url)).status).toBe(303);
      });
    expect((await read('/inbox')).status).toBe(200);
  });

  test.each([
    ['new@example.com', 'gives you no rights here'],
    ['nameless@example.com', 'gives you no name that counts'],
    ['odd@example.com', 'gives you no name that counts'],
  ])('%s is told why the claims are not enough [inbox.issuers]', async (account, text) => {
    expectRefused(await open(await wayBack(account)), 403, text);
  });

  test('who says no, or comes too late, is told so [inbox.issuers]', async () => {
    expectRefused(await open(await wayBack('mira@example.com', 'no')), 401, 'denied');
    const { store } = desk.environment;
    const { keys, credentials, messages, notices, turns } = store;
    const now = async () => (await store.now()) + 601_000;
    const records = { keys, credentials, messages, notices, turns, now };
    const later = createGateway({ ...desk.options, settings, records });
    const { back, cookie } = await wayBack('mira@example.com');
    const headers = { cookie, host: back.host };
    const answer = await later.fetch(new Request(back, { headers }), {
      incoming: { socket: { localPort: port, remoteAddress: '127.0.0.1' }, rawHeaders: [] },
    });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('took too long')]);
  });

  test('learns that the issuer can’t be reached, and that the gateway has no keys [inbox.issuers]', async () => {
    const gone = { ...issuers[0], issuer: `http://127.0.0.1:${await freePort()}` } as TrustedIssuer;
    const begun = (url: string) => readPage(`${url}/inbox/sign-in/oidc?issuer=0`);
    await without({ settings: { access: { issuers: [gone] } } }, async (url) => {
      expectRefused(await begun(url), 503, new URL(gone.issuer).host);
    });
    await without({ settings, credentialKeys: undefined }, async (url) => {
      const { status, text } = await begun(url);
      expect([status, text]).toEqual([501, expect.stringContaining('HOLDFAST_CREDENTIAL_KEYS')]);
    });
  });
});

type Way = Awaited<ReturnType<typeof wayBack>>;
const set = (name: string, value: string) => (way: Way) => way.back.searchParams.set(name, value);
const LOST = 'used before, took too long, or was begun in another browser';
const WRONG = 'not what the protocol says';

async function codeOfOtto(): Promise<string> {
  return (await wayBack('otto@example.com')).back.searchParams.get('code') ?? '';
}

function sealedElsewhere({ back }: Way): string {
  const { credentialKeys = {} } = desk.options;
  const flow = { state: back.searchParams.get('state'), issuer: server.issuer, until: Number.MAX_VALUE };
  return sealText(credentialKeysOf(credentialKeys), 'oauth state', flow);
}

const ATTACKS: [string, (way: Way) => unknown, string][] = [
  ['in another browser', (way) => way.keep(''), LOST],
  ['with a state of no one', set('state', 'x'), LOST],
  ['without a state', ({ back }) => back.searchParams.delete('state'), LOST],
  ['with two states', ({ back }) => back.searchParams.append('state', 'x'), WRONG],
  ['of another issuer', set('iss', 'https://evil.example'), WRONG],
  ['of no issuer', ({ back }) => back.searchParams.delete('iss'), WRONG],
  ['without a code', ({ back }) => back.searchParams.delete('code'), WRONG],
  ['with an ID token in the address', set('id_token', 'x.y.z'), WRONG],
  ['that came before', (way) => open(way), LOST],
  ['with a changed cookie', (way) => way.keep(way.cookie.replace(/.{4}$/, 'AAAA')), LOST],
  ['with a cookie that was sealed for something else', (way) => way.keep(sealedElsewhere(way)), LOST],
  ['with the cookie of another way', async (way) => way.keep((await readPage(beginning(0))).cookie), WRONG],
  ['with somebody else’s code', async (way) => set('code', await codeOfOtto())(way), 'invalid_grant'],
];

describe('a way back', () => {
  test.each(ATTACKS)('%s signs nobody in [inbox.forged]', async (_what, change, text) => {
    const way = await wayBack('mira@example.com');
    await change(way);
    expectRefused(await open(way), text === LOST ? 400 : 401, text);
  });

  test('that comes many times at once counts once [inbox.forged]', async () => {
    const way = await wayBack('mira@example.com');
    const pages = await Promise.all(Array.from({ length: 5 }, () => open(way)));
    expect(pages.map(({ status }) => status).sort()).toEqual([303, 400, 400, 400, 400]);
  });

  const past = Math.floor(Date.now() / 1_000) - 600;
  const secret = new TextEncoder().encode(CLIENT.clientSecret.padEnd(32, 'x'));
  test.each<[string, object, object?, ('other' | Uint8Array)?, object?]>([
    ['by another key', {}, {}, 'other'],
    ['by the client’s secret', {}, { alg: 'HS256' }, secret],
    ['for another client', { aud: 'programs' }],
    ['for another client, too', { aud: [CLIENT.clientId, 'else'], azp: 'else' }],
    ['for another way', { nonce: 'x' }],
    ['for no way', { nonce: undefined }],
    ['by another issuer', { iss: 'https://evil.example' }],
    ['long ago', { exp: past, iat: past - 300 }],
    ['for nobody', { sub: undefined }],
    ['as something else', {}, { typ: 'holdfast-job+jwt' }],
    ['by nobody', {}, {}, undefined, { id_token: undefined }],
    ['as no token', {}, {}, undefined, { id_token: 'x' }],
  ])(
    'with an ID token that is signed %s signs nobody in [inbox.forged]',
    async (_what, claims, header, by, more) => {
      const key = by === 'other' ? (await generateKeyPair('ES256')).privateKey : by;
      expectRefused(await liedTo(claims, '/inbox', header, key, more), 401, new URL(liar.url).host);
    },
  );

  test('leads nowhere but into the inbox, and is begun from nowhere but here [inbox.forged]', async () => {
    for (const [next, place] of [
      ['https://evil.example', '/inbox'],
      ['//evil.example', '/inbox'],
      ['/\\evil.example', '/inbox'],
      ['/inbox/../v1/health', '/inbox'],
      ['/inbox/sign-in/oidc?issuer=0', '/inbox'],
      ['javascript:alert(1)', '/inbox'],
      ['/inbox/jobs', '/inbox/jobs'],
    ] as const)
      expect((await liedTo({}, next)).headers.get('location')).toBe(place);
    const mode = {
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      'sec-fetch-site': 'cross-site',
    };
    const [{ statusCode, headers }] = await once(get(beginning(0), { headers: mode }), 'response');
    expect([statusCode, headers.location, headers['set-cookie']]).toEqual([
      303,
      '/inbox/sign-in?next=%2Finbox',
      undefined,
    ]);
    for (const issuer of ['2', '-1', 'length', '__proto__', '0.5'])
      expect((await readPage(beginning(issuer))).headers.get('location')).toBe(
        '/inbox/sign-in?next=%2Finbox',
      );
  });

  test('leaves no secret in logs and in the audit of refusals [inbox.forged]', async () => {
    const { back } = await wayBack('mira@example.com', 'no');
    await open({ back, cookie: '' });
    const told = JSON.stringify(desk.lines) + JSON.stringify(await desk.environment.store.keys.listDenials());
    expect(server.secrets.size).toBeGreaterThan(10);
    for (const each of [...server.secrets, CLIENT.clientSecret, back.searchParams.get('state') ?? ''])
      expect(told).not.toContain(each);
  });
});

test.each<[object, string]>([
  [{ signIn: {} }, 'signIn.clientId: required'],
  [{ signIn: { clientId: 'x', clientSecret: 7 } }, 'signIn.clientSecret'],
  [{ signIn: { clientId: 'x', redirectUri: 'https://evil.example' } }, 'redirectUri'],
  [{ signIn: { clientId: 'x', scopes: 'email' } }, 'signIn.scopes'],
  [{ issuer: 'a name', jwks: { keys: [] }, signIn: { clientId: 'x' } }, 'issuer: expected a URL'],
])('settings %j are refused [inbox.issuers]', (more, problem) => {
  const trusted = { issuer: 'https://id.example', audience: 'x', person: 'email', grants: () => [], ...more };
  expect(() => defineGateway({ access: { issuers: [trusted as TrustedIssuer] } })).toThrow(problem);
});

describe.skipIf(NO_BROWSER !== undefined)(`in a browser ${NO_BROWSER ?? ''}`, () => {
  test('a person signs in at another site, consents and decides, on a phone [inbox.issuers]', async () => {
    const row = await desk.asked('refund_order', { order: 'A-1', cents: 5 });
    const chromium = await openBrowser();
    const { page, complaints } = await visit(chromium, PHONE);
    // Another name than the issuer's: cookies for this site alone stay at home on the way back.
    const gateway = `http://localhost:${port}`;
    await page.goto(`${gateway}/inbox/requests/${row.requestId}`);
    await page.waitForURL(/\/inbox\/sign-in\?next=/);
    expect(await accessibilityProblems(page)).toEqual([]);
    expect([await overflowOf(page), complaints]).toEqual([0, []]);
    await page.getByRole('link', { name: `Sign in with ${new URL(server.issuer).host}` }).tap();
    await page.locator('input[name=login]').fill('mira@example.com');
    await page.locator('input[name=password]').fill('x');
    await page.locator('button[type=submit]').tap();
    await page.locator('button[type=submit]:has-text("Continue")').tap();
    await page.waitForURL(`${gateway}/inbox/requests/${row.requestId}`);
    await page.waitForSelector('text=Signed in as mira');
    expect(await overflowOf(page)).toBe(0);
    await page.getByRole('button', { name: 'Approve', exact: true }).tap();
    await page.waitForURL(/\?sent$/);
    await until(() => expect(desk.ranOf(row)).toHaveLength(1));
    const { votes } = await desk.now(row);
    expect(votes.map(({ by }) => [by.principal, by.verified])).toEqual([['mira', true]]);
    await page.goto(`${gateway}/inbox`);
    await page.getByRole('button', { name: 'Sign out' }).tap();
    await page.waitForSelector('text=This browser is signed out');
    await chromium.close();
  });
});
