import { randomBytes, randomUUID } from 'node:crypto';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Grant } from '../../src/contract/keys.ts';
import { grantedPrincipal } from '../../src/gateway/access/granted-principal.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { createGateway, networkAccess, serveGateway } from '../../src/gateway/index.ts';
import { visibleRequests } from '../../src/gateway/pages/inbox-lists.ts';
import { ABOUT } from '../gateway/gateway-stub.ts';
import { isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { type ReadPage, readPage, sendForm } from './browser-form.ts';
import { lateGateway } from './late-gateway.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
beforeAll(async () => {
  desk = await openPageDesk();
});
afterAll(() => desk.close());

const EVERYTHING: Grant = { app: '*', roles: ['read', 'approve'] };

const at = (path: string) => `${desk.served.url}${path}`;

async function signInWith(key: string, next = '/inbox'): Promise<ReadPage> {
  const form = await readPage(at(`/inbox/sign-in?next=${encodeURIComponent(next)}`));
  return await sendForm(at('/inbox/sign-in'), form, { key });
}

/** Somebody who is signed in, with a browser that keeps the cookie. */
async function signedIn(name: string, grants: readonly Grant[] = [EVERYTHING], userId?: string) {
  const key = await desk.key(name, grants, userId);
  const { cookie, status } = await signInWith(key.text);
  expect(status).toBe(303);
  const read = async (path: string) => ({ ...(await readPage(at(path), { headers: { cookie } })), cookie });
  return { key, cookie, read };
}

describe('the gateway’s address', () => {
  const about = () => ({ ...ABOUT, uiUrl: 'http://temporal.example.com' });
  const linksOf = (page: string) => [...page.matchAll(/class="row" href="([^"]+)"/g)].map(([, link]) => link);

  test('is a page for people, and for programs the answer of any other path [inbox.pages]', async () => {
    const settings = { inbox: { enabled: false } };
    for (const [more, links] of [
      [{}, ['/inbox', '/openapi.json', 'http://temporal.example.com']],
      [{ settings }, ['/openapi.json', 'http://temporal.example.com']],
    ] as const) {
      const served = await serveGateway({ gateway: { ...desk.options, about, ...more } });
      const { status, text } = await readPage(served.url, { headers: { accept: 'text/html,*/*' } });
      expect([status, linksOf(text)]).toEqual([200, links]);
      const forProgram = await readPage(served.url);
      expect([forProgram.status, JSON.parse(forProgram.text)]).toMatchObject([
        401,
        { error: { code: 'HOLDFAST_GATEWAY_UNAUTHENTICATED' } },
      ]);
      await served.close();
    }
  });

  test('tells strangers of other machines nothing of the operators’ servers [inbox.pages]', async () => {
    const publicUrl = 'https://agents.example.com/desk';
    const access = networkAccess({ publicUrl, checks: [{ check: () => undefined }] });
    const gateway = createGateway({ ...desk.options, about, publicUrl, access });
    const headers = { accept: 'text/html', host: 'agents.example.com' };
    const answer = await gateway.request('https://agents.example.com/', { headers });
    expect(linksOf(await answer.text())).toEqual(['/desk/inbox', '/desk/openapi.json']);
  });
});

describe('signing in', () => {
  test('takes an API key, and keeps nothing of it in the browser [inbox.session]', async () => {
    const key = await desk.key('mira', [EVERYTHING]);
    const led = await readPage(at('/inbox/decided'));
    expect([led.status, led.headers.get('location')]).toEqual([
      303,
      '/inbox/sign-in?next=%2Finbox%2Fdecided',
    ]);
    const sent = await signInWith(key.text, '/inbox/decided');
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/inbox/decided']);
    const [cookie = ''] = sent.headers.getSetCookie();
    expect(cookie).toMatch(/^holdfast=[\w-]{43}; .*HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain(key.text.slice(-20));
    const again = await signInWith(key.text);
    expect(again.cookie).not.toBe(sent.cookie);
    const page = await readPage(at('/inbox'), { headers: { cookie: sent.cookie } });
    expect([page.status, page.text]).toEqual([200, expect.stringMatching(/Signed in as <b><bdi>mira/)]);
    expect(JSON.stringify(desk.lines)).not.toContain(key.text.slice(-20));
  });

  test('is refused without a key that holds, from another page, and by cookies that are made up [inbox.session]', async () => {
    const key = await desk.key('mira', [EVERYTHING]);
    for (const wrong of [
      '',
      'x',
      `${key.text}x`,
      key.text.slice(0, -1),
      `hf_0000000000000000_${'A'.repeat(43)}`,
    ]) {
      const page = await signInWith(wrong);
      expect([page.status, page.headers.getSetCookie().join()]).toEqual([
        401,
        expect.not.stringMatching(/^holdfast=/),
      ]);
      if (wrong.length > 1) expect(page.text).not.toContain(wrong);
    }
    const form = await readPage(at('/inbox/sign-in'));
    for (const [shown, headers] of [
      [form, { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
      [{ ...form, cookie: '' }, {}],
      [{ ...form, hidden: {} }, {}],
      [{ ...form, hidden: { ...form.hidden, token: 'x' } }, {}],
    ] as const) {
      expect((await sendForm(at('/inbox/sign-in'), shown, { key: key.text }, headers)).status).toBe(403);
    }
    for (const cookie of [
      'holdfast=',
      `holdfast=${'A'.repeat(43)}`,
      `holdfast=${key.text}`,
      'holdfast=%00',
    ]) {
      expect((await readPage(at('/inbox'), { headers: { cookie } })).status).toBe(303);
    }
  });

  test('leads nowhere but into the inbox [inbox.session]', async () => {
    const key = await desk.key('mira', [EVERYTHING]);
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '/inbox/../v1/health',
      '/inbox/requests/..%2f..%2f',
      '/inbox@evil.example',
      'javascript:alert(1)',
      '/inbox\r\nset-cookie: x=1',
      '/a/x',
    ]) {
      expect((await signInWith(key.text, next)).headers.get('location')).toBe('/inbox');
      const { cookie } = await signInWith(key.text);
      const path = `/inbox/sign-in?next=${encodeURIComponent(next)}`;
      expect((await readPage(at(path), { headers: { cookie } })).headers.get('location')).toBe('/inbox');
    }
    const one = '/inbox/requests/rq-e-1.1.0.1';
    expect((await signInWith(key.text, one)).headers.get('location')).toBe(one);
  });

  test('ends with a sign-out, by a form only, and with its key [inbox.session]', async () => {
    const { cookie, read, key } = await signedIn('mira');
    const page = await read('/inbox');
    await readPage(at('/inbox/sign-out'), { headers: { cookie } });
    const forged = { cookie, hidden: { token: 'x' } };
    expect((await sendForm(at('/inbox/sign-out'), forged, {})).status).toBe(403);
    expect((await read('/inbox')).status).toBe(200);
    expect((await sendForm(at('/inbox/sign-out'), page, {})).text).toContain('Signed out');
    expect((await read('/inbox')).status).toBe(303);
    const other = await signedIn('jo');
    await desk.environment.store.keys.revoke(other.key.keyId);
    await until(async () => expect((await other.read('/inbox')).status).toBe(303));
    expect((await signInWith(key.text)).status).toBe(303);
    expect((await signInWith(other.key.text)).status).toBe(401);
  });

  if (isDeep) {
    test('ends with the secret that it was made with, once the key has another one [inbox.session]', async () => {
      const { read, key } = await signedIn('mira');
      const { store } = desk.environment;
      const next = newKeyText(key.keyId);
      await store.keys.rotate({ keyId: key.keyId, digest: next.digest, grace: 3_600_000 });
      const again = await until(async () => {
        const page = await signInWith(next.text);
        expect(page.status).toBe(303);
        return page;
      });
      expect((await read('/inbox')).status).toBe(200);
      const last = newKeyText(key.keyId);
      await store.keys.rotate({ keyId: key.keyId, digest: last.digest, grace: 3_600_000 });
      await until(async () => expect((await read('/inbox')).status).toBe(303));
      const headers = { cookie: again.cookie };
      expect((await readPage(at('/inbox'), { headers })).status).toBe(200);
      await store.keys.rotate({ keyId: key.keyId, digest: newKeyText(key.keyId).digest, grace: 0 });
      await until(async () => expect((await readPage(at('/inbox'), { headers })).status).toBe(303));
    });
  }

  test('a page that another site has opened opens once more by itself, where the cookie is [inbox.session]', async () => {
    // What fetch sends for itself can’t be chosen.
    const headers = {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    };
    const page = await new Promise<string>((resolve, reject) => {
      get(at('/inbox/jobs'), { headers }, (answer) => resolve(text(answer))).once('error', reject);
    });
    expect(page).toContain('http-equiv="refresh"');
  });
});

describe('what somebody sees', () => {
  test('is what their key may see, and all else is like nothing [inbox.access]', async () => {
    const mine = await desk.asked('restart', { host: 'a' }, { app: 'bank', userId: 'bo' });
    const others = await Promise.all([
      desk.asked('restart', { host: 'b' }, { app: 'shop', userId: 'bo' }),
      desk.asked('restart', { host: 'c' }, { app: 'bank', userId: 'cy' }),
    ]);
    const limits = [
      await signedIn('bo', [{ app: 'bank', roles: ['approve'], user: 'bo' }]),
      await signedIn('bo', [{ app: 'bank', roles: ['read'] }], 'bo'),
    ];
    for (const { read, cookie } of limits) {
      const [list, none] = [await read('/inbox'), await read('/inbox/requests/rq-none.1.0.1')];
      expect(list.text).toContain(mine.requestId);
      expect((await read(`/inbox/requests/${mine.requestId}`)).status).toBe(200);
      for (const other of others) {
        expect(list.text).not.toContain(other.requestId);
        const path = `/inbox/requests/${other.requestId}`;
        expect([(await read(path)).status, (await read(path)).text]).toEqual([404, none.text]);
        const shown = { cookie, hidden: { ...list.hidden, digest: other.argsDigest } };
        expect((await sendForm(at(path), shown, { do: 'approve' })).status).toBe(404);
        expect(await desk.now(other)).toMatchObject({ status: 'pending', history: [] });
      }
      expect((await read('/inbox?app=shop')).text).not.toContain('/inbox/requests/');
    }
  });

  test('may be more than what they may decide [inbox.access]', async () => {
    const row = await desk.asked('restart', { host: 'a' });
    const { read, cookie } = await signedIn('reader', [{ app: '*', roles: ['read'] }]);
    const path = `/inbox/requests/${row.requestId}`;
    const page = await read(path);
    expect(page.text).toContain('not decide it');
    expect(page.text).not.toContain('value="approve"');
    const shown = { cookie, hidden: { ...page.hidden, digest: row.argsDigest } };
    expect((await sendForm(at(path), shown, { do: 'approve' })).status).toBe(403);
    expect(await desk.now(row)).toMatchObject({ status: 'pending', history: [] });
  });

  test('is all that the store is asked for: of their apps and users, and of the kind that they look for [inbox.access]', async () => {
    const { client } = desk.options;
    const asked: object[] = [];
    const spied = <Rows>(list: (of: object) => Promise<Rows>) => ({
      list: async ({ app, userId, kind }: Record<string, unknown>) => {
        asked.push({ app, userId, kind });
        return await list({ app, userId, kind });
      },
    });
    const mine = await desk.asked('restart', { host: 'a' }, { app: 'bank', userId: 'only' });
    const other = await desk.asked('restart', { host: 'a' }, { app: 'bank', userId: 'more' });
    const cases: [readonly Grant[], string | undefined, object[]][] = [
      [[{ app: 'bank', roles: ['approve'], user: 'only' }], undefined, [{ app: 'bank', userId: 'only' }]],
      [[{ app: 'bank', roles: ['read'] }], 'only', [{ app: 'bank', userId: 'only' }]],
      [[{ app: '*', roles: ['approve'] }], 'only', [{ userId: 'only' }]],
      [
        [
          { app: 'bank', roles: ['read'] },
          { app: 'bank', roles: ['approve'], user: 'only' },
          { app: 'shop', roles: ['run'] },
        ],
        undefined,
        [{ app: 'bank' }],
      ],
      [
        [
          { app: 'bank', roles: ['read'], user: 'only' },
          { app: 'bank', roles: ['approve'], user: 'more' },
        ],
        undefined,
        [
          { app: 'bank', userId: 'only' },
          { app: 'bank', userId: 'more' },
        ],
      ],
      [[{ app: 'shop', roles: ['run', 'operate'] }], undefined, []],
      [[EVERYTHING], undefined, [{}]],
    ];
    for (const [grants, userId, sources] of cases) {
      const principal = grantedPrincipal({ name: 'key:k', grants, ...(userId && { userId }) });
      const filter = { status: ['pending'], order: 'oldest' } as const;
      asked.length = 0;
      const approvals = spied((of) => client.approvals.list(of));
      const { rows } = await visibleRequests(approvals, principal, { ...filter, kind: 'confirmation' });
      expect(asked).toEqual(sources.map((source) => ({ ...source, kind: 'confirmation' })));
      const ids = rows.map(({ requestId }) => requestId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.includes(other.requestId)).toBe(
        sources.some((source) => !('userId' in source)) || sources.length > 1,
      );
      if (sources.length > 0 && rows.length < 25) expect(ids).toContain(mine.requestId);
      asked.length = 0;
      await visibleRequests(approvals, principal, { ...filter, app: 'shop' });
      for (const each of asked) expect(each).toMatchObject({ app: 'shop' });
    }
  });

  test('has jobs that run, and those that have ended, the newest first [inbox.jobs]', async () => {
    const { client } = desk.options;
    const userId = `u-${randomUUID()}`;
    const begun: string[] = [];
    for (let n = 0; n < 27; n += 1) {
      const names = { app: 'bank', userId, sessionId: randomUUID() };
      await client.sendMessage({ ...names, message: JSON.stringify({ name: 'train', args: { n } }) });
      await until(async () => expect(await client.jobs.list(names)).toHaveLength(1));
      const [job] = await client.jobs.list(names);
      begun.push(job?.jobId ?? '');
    }
    const { read } = await signedIn('trainer', [{ app: 'bank', roles: ['read'], user: userId }]);
    const idsOf = (text: string) => [...text.matchAll(/<bdi>(job-[\w-]{22})/g)].map(([, id]) => id);
    expect(idsOf((await read('/inbox/jobs')).text)).toEqual(begun.slice(0, 25));
    expect((await read('/inbox/jobs?status=ended')).text).toContain('No job has ended');
    for (const jobId of begun.slice(1)) await client.jobs.complete(jobId, { result: 'done' });
    expect(idsOf((await read('/inbox/jobs')).text)).toEqual(begun.slice(0, 1));
    const first = await read('/inbox/jobs?status=ended&app=bank');
    expect(first.text).toMatch(/<option value="ended" selected>/);
    expect(first.text).toContain('Completed');
    const more =
      /href="(\/inbox\/jobs\?[^"]*after=[^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(more).toContain('status=ended');
    const second = await read(more);
    expect([...idsOf(first.text), ...idsOf(second.text)]).toEqual(begun.slice(1).reverse());
  });

  test('comes page by page, the oldest first, and what was decided the newest first [inbox.pages]', async () => {
    const userId = `u-${randomUUID()}`;
    const rows = [];
    for (let n = 0; n < 27; n += 1) rows.push(await desk.asked('restart', { n }, { app: 'bank', userId }));
    const { read } = await signedIn('pager', [{ app: 'bank', roles: ['approve'], user: userId }]);
    const idsOf = (text: string) =>
      [...text.matchAll(/\/inbox\/requests\/(rq-[\w.-]+)/g)].map(([, id]) => id);
    const first = await read('/inbox');
    const more = /href="(\/inbox\?after=[^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = await read(more);
    expect([idsOf(first.text).length, idsOf(second.text).length]).toEqual([25, 2]);
    expect([...idsOf(first.text), ...idsOf(second.text)]).toEqual(rows.map(({ requestId }) => requestId));
    expect(second.text).not.toContain('Show more');
    expect((await read('/inbox?kind=input')).text).toContain('Nothing waits');
    expect((await read(`/inbox?after=${'9'.repeat(40)}~x&kind=<script>&app=<b>`)).text).not.toMatch(
      /<script|<b>&lt;/,
    );
    for (const row of rows.slice(0, 2)) {
      await desk.options.client.approvals.confirm({ requestId: row.requestId }, { confirmed: false });
      await until(async () => expect((await desk.now(row)).status).toBe('rejected'));
    }
    const decided = await read('/inbox/decided');
    expect(idsOf(decided.text)).toEqual([rows[1]?.requestId, rows[0]?.requestId]);
  });
});

describe('a decision', () => {
  test('is theirs, by the inbox, and may be taken back while more are needed [inbox.access]', async () => {
    const row = await desk.asked('wire_money', { cents: 5 });
    const path = `/inbox/requests/${row.requestId}`;
    const [mira, jo] = [await signedIn('mira'), await signedIn('jo')];
    const approve = async ({ read }: typeof mira) =>
      await sendForm(at(path), await read(path), { do: 'approve' });
    expect((await approve(mira)).headers.get('location')).toBe(`${path}?sent`);
    const voted = await mira.read(path);
    expect(voted.text).toContain('Take my vote back');
    expect((await sendForm(at(path), voted, { do: 'withdraw' })).status).toBe(303);
    expect(await desk.now(row)).toMatchObject({ status: 'pending', votes: [] });
    expect((await approve(jo)).status).toBe(303);
    expect((await approve(mira)).status).toBe(303);
    await until(() => expect(desk.ranOf(row)).toHaveLength(1));
    const { votes } = await desk.now(row);
    expect(votes.map(({ by }) => [by.principal, by.channel, by.verified])).toEqual([
      ['jo', 'inbox', true],
      ['mira', 'inbox', true],
    ]);
    const late = await sendForm(at(path), voted, { do: 'reject' });
    expect([late.status, late.text]).toEqual([
      409,
      expect.stringMatching(/Approved<\/strong> by <b><bdi>jo/),
    ]);
  });

  test('is about what the page has shown, not about what asks by the same id since [inbox.shown]', async () => {
    const { read } = await signedIn('mira');
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID(), messageId: randomUUID() };
    const asked = async (name: string, args: Record<string, unknown>) => await desk.asked(name, args, names);
    let row = await asked('restart', { host: 'one' });
    const path = `/inbox/requests/${row.requestId}`;
    const answers: [string, Record<string, unknown>][] = [
      ['restart', { host: 'one' }],
      ['restart', { host: 'two' }],
    ];
    for (const [name, args] of answers) {
      const page = await read(path);
      await desk.options.client.sessions.delete({ ...names, cancelRunning: true });
      const next = await asked(name, args);
      expect([next.requestId, next.session === row.session]).toEqual([row.requestId, false]);
      row = next;
      for (const said of ['approve', 'reject', 'preview', 'edit']) {
        const sent = await sendForm(at(path), page, { do: said });
        expect([sent.status, sent.text]).toEqual([
          409,
          expect.stringContaining('has changed since it was shown'),
        ]);
        expect(sent.text).toContain(String(args.host));
      }
      expect(await desk.now(row)).toMatchObject({ status: 'pending', history: [] });
    }
    const page = await read(path);
    const others = { session: randomUUID(), digest: 'x', asked: 'x' };
    for (const [name, value] of Object.entries(others)) {
      const forged = { ...page, hidden: { ...page.hidden, [name]: value } };
      expect((await sendForm(at(path), forged, { do: 'approve' })).status).toBe(409);
    }
    expect((await sendForm(at(path), page, { do: 'approve' })).status).toBe(303);
    await until(() => expect(desk.ranOf(row)).toMatchObject([{ args: { host: 'two' } }]));
  });

  test('is lost where its request is made anew while it is on its way [inbox.shown]', async () => {
    const key = await desk.key('mira', [EVERYTHING]);
    const address = { 'in-0': 'Elm 1', 'in-1': '', 'in-2': 'false', 'in-3': '1' };
    for (const [answering, tool, fields] of [
      ['confirm', 'restart', { do: 'approve' }],
      ['provideInput', 'ship', { ...address, do: 'answer' }],
      ['provideCredential', 'charge_card', { kind: 'bearer', 'bearer-secret': 'sk-1', do: 'credential' }],
    ] as const) {
      const names = { app: 'shop', userId: `new-${tool}`, sessionId: randomUUID(), messageId: randomUUID() };
      const row = await desk.asked(tool, { n: 1 }, names);
      const { credentials } = desk.options.client;
      const again = async () => {
        // With one the call would ask for none.
        for (const { credentialRef } of await credentials.list(names)) {
          await credentials.remove({ ...names, credentialRef });
        }
        await desk.options.client.sessions.delete({ ...names, cancelRunning: true });
        const other = await desk.asked(tool, { n: 1 }, names);
        expect([other.requestId, other.session === row.session]).toEqual([row.requestId, false]);
      };
      const late = await lateGateway(desk.options, answering, again);
      try {
        const form = await readPage(`${late.url}/inbox/sign-in`);
        const { cookie } = await sendForm(`${late.url}/inbox/sign-in`, form, { key: key.text });
        const path = `${late.url}/inbox/requests/${row.requestId}`;
        const page = await readPage(path, { headers: { cookie } });
        const sent = await sendForm(path, { ...page, cookie }, fields);
        expect([sent.status, sent.text]).toEqual([409, expect.stringContaining('doesn’t count')]);
        expect(await desk.now(row)).toMatchObject({ status: 'pending', history: [] });
        expect(await credentials.list(names)).toEqual([]);
      } finally {
        await late.close();
      }
    }
  });

  test('is taken from the page of whoever is signed in only [link.csrf]', async () => {
    const row = await desk.asked('restart', { host: 'x' });
    const path = `/inbox/requests/${row.requestId}`;
    const [mira, jo] = [await signedIn('mira'), await signedIn('jo')];
    const [page, other] = [await mira.read(path), await jo.read(path)];
    const hidden = page.hidden;
    for (const [shown, headers] of [
      [{ ...page, cookie: '' }, {}],
      [{ ...page, hidden: { digest: row.argsDigest } }, {}],
      [{ ...page, hidden: other.hidden }, {}],
      [{ ...other, hidden }, {}],
      [page, { origin: 'https://evil.example' }],
      [page, { 'sec-fetch-site': 'cross-site' }],
      [page, { 'sec-fetch-site': 'same-site' }],
    ] as const) {
      expect((await sendForm(at(path), shown, { do: 'approve' }, headers)).status).toBe(403);
    }
    for (const method of ['GET', 'HEAD']) {
      await fetch(at(`${path}?do=approve&token=${hidden.token}`), {
        method,
        headers: { cookie: mira.cookie },
      });
    }
    expect((await readPage(at(path), { method: 'PUT', headers: { cookie: mira.cookie } })).status).toBe(405);
    expect(await desk.now(row)).toMatchObject({ status: 'pending', history: [] });
    expect((await sendForm(at(path), page, { do: 'approve' })).status).toBe(303);
  });
});

test('who makes cookies up costs the store little, is slowed down and noted, and locks nobody out [inbox.guessed]', async () => {
  const looks: number[] = [];
  const { store } = desk.environment;
  const { keys } = store;
  const findSignIns: typeof keys.findSignIns = async (hashes) => {
    looks.push(hashes.length);
    return await keys.findSignIns(hashes);
  };
  const records = { ...store, keys: { ...keys, findSignIns } };
  const strangers = { perSecond: 0.001, burst: 5 };
  const counted = await serveGateway({
    gateway: { ...desk.options, records, settings: { access: { rateLimits: { strangers } } } },
  });
  try {
    const ask = async (cookie: string, path = '/inbox') =>
      (await readPage(`${counted.url}${path}`, { headers: { cookie } })).status;
    for (const wrong of ['x', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}%`, 'A'.repeat(9_000)]) {
      expect(await ask(`holdfast=${wrong}`)).toBe(303);
    }
    expect(looks).toEqual([]);
    const began = performance.now();
    const madeUp = Array.from({ length: 200 }, () => `holdfast=${randomBytes(32).toString('base64url')}`);
    const answers = await Promise.all(madeUp.map((cookie) => ask(cookie)));
    expect(answers.filter((status) => status === 303)).toHaveLength(5);
    expect(answers.filter((status) => status === 429)).toHaveLength(195);
    expect(looks.length).toBeLessThanOrEqual((performance.now() - began) / 20 + 2);
    const before = looks.length;
    for (const path of ['/inbox', '/inbox/sign-in', '/inbox/jobs']) {
      expect(await ask(madeUp[0] ?? '', path)).toBe(429);
    }
    expect(looks).toHaveLength(before);
    const key = await desk.key('mira', [EVERYTHING]);
    const form = await readPage(`${counted.url}/inbox/sign-in`);
    const { cookie } = await sendForm(`${counted.url}/inbox/sign-in`, form, { key: key.text });
    expect(await ask(cookie)).toBe(200);
    await counted.close();
    const denials = await store.keys.listDenials({ limit: 1_000 });
    for (const reason of ['unauthenticated', 'rate-limited']) {
      expect(denials).toContainEqual(
        expect.objectContaining({ reason, route: 'GET /inbox', address: '127.0.0.1' }),
      );
    }
  } finally {
    await counted.close();
  }
});

test('who guesses at keys is slowed down, and locks nobody out [inbox.session]', async () => {
  const strangers = { perSecond: 0.001, burst: 5 };
  const slow = await serveGateway({
    gateway: { ...desk.options, settings: { access: { rateLimits: { strangers } } } },
  });
  try {
    const form = await readPage(`${slow.url}/inbox/sign-in`);
    const key = await desk.key('mira', [EVERYTHING]);
    const guess = async (text: string) =>
      (await sendForm(`${slow.url}/inbox/sign-in`, form, { key: text })).status;
    const wrong = `hf_0000000000000000_${'A'.repeat(43)}`;
    const answers = [];
    for (let n = 0; n < 8; n += 1) answers.push(await guess(wrong));
    expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect(await guess(key.text)).toBe(303);
    const request = await desk.asked('restart', { host: 'slow' });
    const link = desk.link(request).replace(desk.served.url, slow.url);
    expect((await readPage(link)).status).toBe(200);
    expect((await readPage(`${slow.url}/a/none`)).status).toBe(429);
  } finally {
    await slow.close();
  }
});

test('an inbox that is turned off, or has no store, is not there [inbox.access]', async () => {
  const { createGateway, defineGateway } = await import('../../src/gateway/index.ts');
  const { records: _records, ...without } = desk.options;
  const host = new URL(desk.served.url).host;
  for (const options of [
    without,
    { ...desk.options, settings: defineGateway({ inbox: { enabled: false } }) },
    // Who may sign in by a key nowhere else may not do so here.
    { ...desk.options, settings: defineGateway({ access: { keys: false } }) },
  ]) {
    const gateway = createGateway({ ...options, access: { ...options.access, screen: () => undefined } });
    for (const path of ['/inbox', '/inbox/sign-in']) {
      expect((await gateway.request(`http://${host}${path}`)).status).toBe(401);
    }
  }
});

describe('plans of the session', () => {
  test('stand on the page of a request, for who may read it [plan.shown]', async () => {
    const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
    const state = { plan_of_clerk: [{ text: 'Look at <b>it</b>', status: 'done' }] };
    await desk.options.client.sessions.create({ ...names, state });
    const { requestId } = await desk.asked('restart', { host: 'p' }, names);
    const reader = await signedIn('petra', [{ app: '*', roles: ['read'] }]);
    const page = await reader.read(`/inbox/requests/${requestId}`);
    expect(page.text).toContain('☑ Look at &lt;b&gt;it&lt;/b&gt;');
    const decider = await signedIn('paul', [{ app: '*', roles: ['approve'] }]);
    expect((await decider.read(`/inbox/requests/${requestId}`)).text).not.toContain('Look at');
  });
});

describe('files of the session', () => {
  test('are links for who may read it, downloads and no pages, and nobody else’s [artifact.clients]', async () => {
    const row = await desk.asked('restart', { host: 'a' });
    const { app, userId, sessionId } = row;
    const name = 'bills/<b>März</b>.html';
    await desk.options.client.artifacts.put({
      ...{ app, userId, sessionId, name, mimeType: 'text/html' },
      bytes: Buffer.from('<script>alert(1)</script>'),
    });
    const path = `/inbox/requests/${row.requestId}`;
    const reader = await signedIn('rita', [{ app: '*', roles: ['read'] }]);
    const page = await reader.read(path);
    expect(page.text).toContain('Files of the session');
    expect(page.text).toContain('bills/&lt;b&gt;März&lt;/b&gt;.html');
    expect(page.text).not.toContain('<b>März</b>');
    const file = `${path}/files/${encodeURIComponent(name)}`;
    expect(page.text).toContain(file);
    const answer = await fetch(at(file), { headers: { cookie: reader.cookie } });
    expect([answer.status, await answer.text()]).toEqual([200, '<script>alert(1)</script>']);
    expect(answer.headers.get('content-disposition')).toMatch(/^attachment; /);
    expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    const decider = await signedIn('mira', [{ app: '*', roles: ['approve'] }]);
    expect((await decider.read(path)).text).not.toContain('Files of the session');
    expect((await decider.read(file)).status).toBe(404);
    expect((await reader.read(`${path}/files/none.txt`)).status).toBe(404);
    expect((await reader.read(`${path}/files/..%2Fx`)).status).toBe(400);
    expect((await readPage(at(file))).status).toBe(303);
  });

  test('are downloads by their session as well, for who may read it [artifact.clients] [slack.files]', async () => {
    const { app, userId, sessionId } = await desk.asked('restart', { host: 'b' });
    await desk.options.client.artifacts.put({
      ...{ app, userId, sessionId, name: 'a.txt', mimeType: 'text/plain' },
      bytes: Buffer.from('Hello.'),
    });
    const file = `/inbox/files/${[app, userId, sessionId, 'a.txt'].map(encodeURIComponent).join('/')}`;
    const reader = await signedIn('ron', [{ app, roles: ['read'] }]);
    const answer = await reader.read(file);
    expect([answer.status, answer.text]).toEqual([200, 'Hello.']);
    const others = await signedIn('rob', [{ app: 'other', roles: ['read'] }]);
    const decider = await signedIn('max', [{ app, roles: ['approve'] }]);
    expect((await others.read(file)).status).toBe(404);
    expect((await decider.read(file)).status).toBe(404);
    expect((await readPage(at(file))).status).toBe(303);
  });
});
