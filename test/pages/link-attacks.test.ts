import { createHmac, hkdfSync } from 'node:crypto';
import * as fc from 'fast-check';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { signApprovalLink } from '../../src/approvals/approval-link.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { CredentialKeyRing } from '../../src/credentials/credential-keys.ts';
import { GatewayAttester } from '../../src/gateway/approvals/gateway-attester.ts';
import { UNDO_SCRIPT } from '../../src/gateway/pages/undo-script.ts';
import { inTier } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { FROM_OWN_PAGE, type ReadPage, readPage, sendForm } from './browser-form.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
let request: ApprovalRow;
let url: string;
let shown: ReadPage;
beforeAll(async () => {
  desk = await openPageDesk();
  request = await desk.asked('refund_order', { order: 'A-1', cents: 700 });
  url = desk.link(request);
  shown = await readPage(url);
});
afterAll(() => desk.close());

/** But for the blank. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]|(?! )\p{Zs}/u;
const FORM = 'application/x-www-form-urlencoded';
const undecided = async (row = request) =>
  expect(await desk.now(row)).toMatchObject({ status: 'pending', votes: [], history: [] });
const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1);
const at = (token: string) => `${desk.served.url}/a/${token}`;
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function resigned(token: string, header: object, claims: object, use = 'holdfast approval links'): string {
  const [h = '', p = ''] = token.split('.');
  const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  const text = `${encoded({ ...decoded(h), ...header })}.${encoded({ ...decoded(p), ...claims })}`;
  const secret = new Uint8Array(hkdfSync('sha256', Buffer.alloc(32, 7), '', use, 32));
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

/** Id of an argument’s field. */
function fieldOf(text: string | undefined, name: string): string {
  return new RegExp(`<label for="(arg-\\d+)"><code>${name}</code>`).exec(text ?? '')?.[1] ?? 'none';
}

describe('tokens that are none', () => {
  test('are one page, which tells nothing, and decide nothing [link.forged]', async () => {
    const token = tokenOf(url);
    const [header = '', payload = '', signature = ''] = token.split('.');
    const elsewhere = new CredentialKeyRing([{ id: 'k1', bytes: Buffer.alloc(32, 7) }]);
    const { session, requestId } = request;
    const forged = [
      signApprovalLink(elsewhere, { session, requestId, approver: 'mira' }, Date.now()),
      resigned(token, {}, {}),
      resigned(token, { alg: 'none' }, {}),
      `${encoded({ alg: 'none', typ: 'holdfast-link+jwt', kid: 'k1' })}.${payload}.`,
      `${header}.${encoded({ sub: requestId, ses: session, apr: 'otto', exp: 9e9, jti: 'x' })}.${signature}`,
      tokenOf(desk.link({ ...request, session: '0190a7c2-0000-7000-8000-000000000001' })),
      tokenOf(desk.link({ ...request, requestId: 'rq-none.1.0.1' })),
      token.slice(0, -1),
      `${token}A`,
      `${token}%00`,
      `${token}%2e`,
      token.toUpperCase(),
      '..%2f..%2fv1%2fhealth',
      'a.b.c',
      'x'.repeat(5_000),
      '%F0%9F%98%80',
    ];
    const none = await readPage(at('none'));
    expect(none.status).toBe(404);
    for (const each of forged) {
      const got = await readPage(at(each));
      expect([got.status, got.text]).toEqual([404, none.text]);
      const sent = await sendForm(at(each), shown, { do: 'approve' });
      expect([sent.status, sent.text]).toEqual([404, none.text]);
    }
    for (let length = 0; length < token.length; length += 1) {
      const cut = await readPage(at(token.slice(0, length)));
      expect([401, 404]).toContain(cut.status);
    }
    await undecided();
  });

  test('that have expired say so, only where their signature holds [link.forged]', async () => {
    const old = desk.link(request, 'mira', Date.now() - 1_000);
    const page = await readPage(old);
    expect([page.status, page.text]).toEqual([410, expect.stringContaining('has expired')]);
    expect((await sendForm(old, shown, { do: 'approve' })).status).toBe(410);
    const forged = await readPage(`${old.slice(0, -1)}${old.endsWith('A') ? 'E' : 'A'}`);
    expect([forged.status, forged.text]).toEqual([404, expect.not.stringContaining('expired')]);
    await undecided();
  });
});

describe('a gateway whose clock is set wrong', () => {
  const EIGHT_DAYS = 8 * 86_400_000;
  afterEach(() => void vi.useRealTimers());
  const setWrongBy = (offset: number) => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offset });

  test('takes links for as long as the store’s clock says [time.store]', async () => {
    const ofAnHour = desk.link(request, 'mira', Date.now() + 3_600_000);
    const old = desk.link(request, 'mira', Date.now() - 1_000);
    setWrongBy(EIGHT_DAYS);
    expect((await readPage(ofAnHour)).status).toBe(200);
    setWrongBy(-2 * EIGHT_DAYS);
    expect((await readPage(old)).status).toBe(410);
    await undecided();
  });

  test('attests decisions that count, and messages that name their sender [time.store]', async () => {
    const asked = await desk.asked('refund_order', { order: 'A-2', cents: 700 });
    setWrongBy(EIGHT_DAYS);
    const attester = new GatewayAttester(desk.options);
    const names = { app: 'shop', userId: 'ada', sessionId: 's1', messageId: 'm1' };
    const message: OutgoingMessage & { messageId: string } = { ...names, message: 'hello' };
    const { attestation } = await attester.attestMessage('ada', message);
    const { confirmed } = await attester.confirm({ person: 'mira', channel: 'http' }, asked, {
      confirmed: true,
    });
    vi.useRealTimers();
    expect(confirmed).toBe(true);
    const { iat } = decodeJwt(String(attestation));
    expect(Math.abs(Number(iat) * 1_000 - Date.now())).toBeLessThan(60_000);
    await until(async () => expect(await desk.now(asked)).toMatchObject({ status: 'approved' }));
  });
});

describe('requests that are no form of the page', () => {
  test('storms of GET and HEAD decide nothing, whatever they ask for [link.csrf]', async () => {
    const queries = [
      '',
      '?do=approve',
      '?edit',
      `?do=approve&token=${shown.hidden.token}`,
      '?confirmed=true',
    ];
    await Promise.all(
      Array.from({ length: 150 }, async (_, index) => {
        const method = index % 2 === 0 ? 'GET' : 'HEAD';
        const answer = await fetch(`${url}${queries[index % queries.length]}`, {
          method,
          headers: { cookie: shown.cookie },
        });
        expect(answer.status).toBe(200);
        await answer.arrayBuffer();
      }),
    );
    await undecided();
  });

  test.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
    '%s is no way to ask [link.csrf]',
    async (method) => {
      for (const target of [url, at('none')]) {
        const answer = await fetch(target, { method, headers: { cookie: shown.cookie } });
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, POST']);
      }
      await undecided();
    },
  );

  const body = () => new URLSearchParams({ ...shown.hidden, do: 'approve' }).toString();
  test.each<[string, () => RequestInit & { headers: Record<string, string> }, number]>([
    [
      'JSON',
      () => ({ body: JSON.stringify({ confirmed: true }), headers: { 'content-type': 'application/json' } }),
      415,
    ],
    ['text', () => ({ body: body(), headers: { 'content-type': 'text/plain' } }), 415],
    [
      'of several parts',
      () => ({ body: body(), headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
      415,
    ],
    [
      'in another charset',
      () => ({ body: body(), headers: { 'content-type': `${FORM}; charset=utf-16` } }),
      415,
    ],
    [
      'compressed',
      () => ({ body: body(), headers: { 'content-type': FORM, 'content-encoding': 'gzip' } }),
      415,
    ],
    ['with a field twice', () => ({ body: `${body()}&do=reject`, headers: { 'content-type': FORM } }), 400],
    [
      'too large',
      () => ({ body: `${body()}&x=${'y'.repeat(300_000)}`, headers: { 'content-type': FORM } }),
      413,
    ],
    [
      'of a foreign origin',
      () => ({ body: body(), headers: { 'content-type': FORM, origin: 'https://evil.example' } }),
      403,
    ],
    [
      'of another port',
      () => ({ body: body(), headers: { 'content-type': FORM, origin: 'http://127.0.0.1:1' } }),
      403,
    ],
    [
      'of a cross-site page',
      () => ({ body: body(), headers: { 'content-type': FORM, 'sec-fetch-site': 'cross-site' } }),
      403,
    ],
    [
      'of a same-site page',
      () => ({ body: body(), headers: { 'content-type': FORM, 'sec-fetch-site': 'same-site' } }),
      403,
    ],
    [
      'that nobody has seen a form of',
      () => ({ body: body(), headers: { 'content-type': FORM, 'sec-fetch-site': 'none' } }),
      403,
    ],
    [
      'of a sandboxed frame',
      () => ({ body: body(), headers: { 'content-type': FORM, origin: 'null', 'sec-fetch-site': '' } }),
      403,
    ],
    ['without a cookie', () => ({ body: body(), headers: { 'content-type': FORM, cookie: '' } }), 403],
    [
      'with another cookie',
      () => ({
        body: body(),
        headers: { 'content-type': FORM, cookie: shown.cookie.replace(/=.*/, `=${'A'.repeat(22)}`) },
      }),
      403,
    ],
    ['without a token', () => ({ body: 'do=approve', headers: { 'content-type': FORM } }), 403],
    ['with an empty token', () => ({ body: 'do=approve&token=', headers: { 'content-type': FORM } }), 403],
  ])('a form %s is refused [link.csrf]', async (_what, made, status) => {
    const { headers, ...init } = made();
    const sent = { ...FROM_OWN_PAGE, cookie: shown.cookie, ...headers };
    const kept = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ''));
    const answer = await readPage(url, { method: 'POST', ...init, headers: kept });
    expect(answer.status).toBe(status);
    await undecided();
  });

  test('a form of another link, another request, or another browser is refused [link.csrf]', async () => {
    const other = await desk.asked('refund_order', { order: 'A-2', cents: 1 });
    const links = [
      desk.link(request, 'mira'),
      desk.link(request, 'jo'),
      desk.link(other),
      desk.link(other, 'jo'),
    ];
    for (const link of links) {
      const page = await readPage(link);
      for (const [token, cookie] of [
        [shown.hidden.token, shown.cookie],
        [shown.hidden.token, page.cookie],
        [page.hidden.token, shown.cookie],
        [page.hidden.token, `${page.cookie.split('=')[0]}=${shown.cookie.split('=')[1]}`],
      ] as const) {
        const mixed = { hidden: { ...page.hidden, token: token ?? '' }, cookie };
        expect((await sendForm(link, mixed, { do: 'approve' })).status).toBe(403);
      }
    }
    await undecided();
    await undecided(other);
  });

  test('one of a page that is out of date decides nothing [link.csrf]', async () => {
    const page = await readPage(url);
    const stale = { ...page, hidden: { ...page.hidden, digest: 'another' } };
    const answer = await sendForm(url, stale, { do: 'approve' });
    expect([answer.status, answer.text]).toEqual([409, expect.stringContaining('out of date')]);
    for (const what of ['', 'answer', 'credential', 'withdraw', 'APPROVE', 'constructor']) {
      expect((await sendForm(url, page, { do: what, answer: '1', kind: 'apiKey' })).status).toBe(409);
    }
    await undecided();
  });
});

describe('a page', () => {
  test('runs, loads, frames, keeps and tells others of nothing [link.page]', async () => {
    const { headers } = shown;
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      expect.stringMatching(/^script-src 'sha256-[\w+/]+='$/),
      expect.stringMatching(/^style-src 'sha256-[\w+/]+='$/),
    ]);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex, nofollow',
    });
    const own = shown.text.replace(`<script>${UNDO_SCRIPT}</script>`, '');
    expect(own).not.toMatch(/<script|javascript:|\son\w+=|\sstyle=|<img|<link|<iframe|https?:/i);
    const [cookie = ''] = headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    expect(cookie).toMatch(/Path=\//);
  });

  test('behind TLS has cookies that nobody else can set, and its own origin [link.csrf]', async () => {
    const publicUrl = 'https://agents.example.com/desk';
    const behind = await openBehind(publicUrl);
    const page = await behind(url);
    expect(page.headers.getSetCookie()[0]).toMatch(/^__Host-holdfast-link-.*; Secure/);
    expect(page.text).toContain(`action="/desk/a/${tokenOf(url)}"`);
    for (const origin of [
      'https://agents.example.com.evil.example',
      'http://agents.example.com',
      'https://evil.example',
    ]) {
      expect((await behind(url, page, { origin })).status).toBe(403);
    }
    await undecided();
  });

  test('by any other name of the gateway has such cookies, too; by this machine’s own it can’t [link.csrf]', async () => {
    const publicUrl = 'https://agents.example.com/desk';
    const behind = await openBehind(publicUrl, 'desk.example.com:8443');
    const page = await behind(url);
    expect(page.headers.getSetCookie()[0]).toMatch(/^__Host-holdfast-link-.*; Secure/);
    expect(page.text).toContain(`action="/a/${tokenOf(url)}"`);
    const origins = [
      'http://desk.example.com:8443',
      'https://desk.example.com',
      'https://agents.example.com',
    ];
    for (const origin of origins) expect((await behind(url, page, { origin })).status).toBe(403);
    const plain = { ...page, cookie: page.cookie.replaceAll('__Host-', '') };
    expect((await behind(url, plain, { origin: 'https://desk.example.com:8443' })).status).toBe(403);
    await undecided();
    const kept = await behind(url, page, { origin: 'https://desk.example.com:8443' });
    expect(kept.status).not.toBe(403);
    expect(shown.headers.getSetCookie()[0]).toMatch(/^holdfast-link-/);
  });

  async function openBehind(publicUrl: string, host = 'agents.example.com') {
    const { configuredAccess, createGateway } = await import('../../src/gateway/index.ts');
    const settings = { publicUrl, access: { hosts: [host] } };
    const gateway = createGateway({
      ...desk.options,
      ...{ publicUrl, access: configuredAccess({ ...desk.options, settings }) },
    });
    return async (link: string, page?: ReadPage, headers: Record<string, string> = {}): Promise<ReadPage> => {
      const cookie = page?.cookie ?? '';
      const answer = await gateway.request(`http://${host}/a/${tokenOf(link)}`, {
        headers: { host, cookie, 'content-type': FORM, ...headers },
        ...(page === undefined
          ? {}
          : { method: 'POST', body: new URLSearchParams({ ...page.hidden, do: 'approve' }).toString() }),
      });
      const text = await answer.text();
      const token = /name="token" value="([^"]*)"/.exec(text)?.[1] ?? '';
      const digest = /name="digest" value="([^"]*)"/.exec(text)?.[1] ?? '';
      const set = answer.headers.getSetCookie().map((each) => each.split(';', 1)[0]);
      return {
        status: answer.status,
        text,
        headers: answer.headers,
        cookie: set.join('; '),
        hidden: { token, digest },
      };
    };
  }

  test('whatever names and values say, it is text in its own cell [link.page]', async () => {
    const evil = [
      '<script>alert(1)</script>',
      '"><img src=x onerror=alert(1)>',
      '</textarea></form><form action=https://evil.example>',
      "javascript:alert(1)' onfocus='alert(2)",
      '</style><style>*{display:none}',
      '&lt;b&gt;',
      '\u202egnp.exe\u2066',
      'a\u200bb\u00adc\ufeffd\u{e0041}',
      '\u0000\u001b[31mred\u007f',
      '\ud800 alone',
      '{{7*7}}#{7*7}<%= 7 %>',
      ' \u00a0\u2003 ',
    ];
    const values = Object.fromEntries(evil.map((text, index) => [`a${index}`, text]));
    const names = Object.fromEntries(evil.map((text, index) => [text, { [text]: [text, index] }]));
    const hostile = await desk.asked(
      'restart',
      { ...values, ...names, ['__proto__']: 'x' },
      { userId: '<i>ada\u202e' },
    );
    const link = desk.link(hostile, '<b>mira\u200b');
    const pages = [await readPage(link), await readPage(`${link}?edit`)];
    pages.push(
      await sendForm(link, pages[1] as ReadPage, {
        [fieldOf(pages[1]?.text, 'a0')]: evil[1] ?? '',
        do: 'preview',
      }),
    );
    for (const { status, text } of pages) {
      expect(status).toBe(200);
      const drawn = text
        .replace(/<style>[\s\S]*?<\/style>/, '')
        .replace(`<script>${UNDO_SCRIPT}</script>`, '');
      expect(drawn).not.toMatch(/<(script|img|iframe|i|style)\b/i);
      expect(drawn.match(/<form/g)).toHaveLength(1);
      expect(drawn).not.toMatch(/<form[^>]*evil/);
      expect(drawn.replaceAll('\n', '')).not.toMatch(UNSEEN);
    }
    expect(pages[0]?.text).toContain('<span class="esc">\\u202e</span>');
    await undecided(hostile);
  });

  test('any arguments are shown and edited without loss [link.edit]', async () => {
    const json = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 12, unit: 'binary' }),
      fc.jsonValue({ maxDepth: 3 }),
      {
        maxKeys: 5,
      },
    );
    const { editFields, readEdit } = await import('../../src/gateway/pages/edit-fields.ts');
    const { argumentTable } = await import('../../src/gateway/pages/shown-value.ts');
    const holds = fc.property(json, (args) => {
      const row = { args, sensitive: false as const };
      expect(String(argumentTable(args, false, 'x'))).not.toMatch(/<script/i);
      const sent = new Map(editFields(row).map(({ field, before }) => [field.id, before]));
      expect(readEdit(row, sent).args).toEqual(args);
      const touched = new Map([...sent].map(([id, text]) => [id, field(id, text, row)]));
      const { args: read } = readEdit(row, touched);
      expect(Object.keys(read ?? {})).toEqual(Object.keys(readEdit(row, sent).args ?? {}));
    });
    await fc.assert(holds, { numRuns: inTier(30, 300) });
    /** JSON fields with a blank behind, which changes the text and not the value. */
    function field(
      id: string,
      text: string,
      row: { args: Record<string, unknown>; sensitive: false },
    ): string {
      const found = editFields(row).find((each) => each.field.id === id)?.field.control;
      return found === 'json' ? `${text} ` : text;
    }
  });

  test('no log line has a token, a cookie or what a form said [link.page]', async () => {
    const lines = JSON.stringify(desk.lines);
    for (const secret of [tokenOf(url), shown.cookie.split('=')[1] ?? '', shown.hidden.token ?? '']) {
      expect(secret.length).toBeGreaterThan(20);
      expect(lines).not.toContain(secret);
    }
    expect(desk.lines.some(({ attributes }) => attributes.route === '/a/:token')).toBe(true);
    expect(desk.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });
});

describe('races', () => {
  test('of many on one link there is one decision [link.once]', async () => {
    const row = await desk.asked('refund_order', { order: 'A-3', cents: 3 });
    const link = desk.link(row);
    const pages = await Promise.all(Array.from({ length: 8 }, () => readPage(link)));
    const sent = await Promise.all(
      pages.flatMap((page, index) => [
        sendForm(link, page, { do: index % 2 === 0 ? 'approve' : 'reject' }),
        sendForm(link, page, { do: 'approve' }),
      ]),
    );
    expect(sent.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(sent.filter(({ status }) => status === 409)).toHaveLength(sent.length - 1);
    await until(async () => expect((await desk.now(row)).status).not.toBe('pending'));
    const { votes, status } = await desk.now(row);
    expect(votes).toHaveLength(1);
    await until(() => expect(desk.ranOf(row)).toHaveLength(status === 'approved' ? 1 : 0));
  });

  test('of links of several people, and of HTTP, there is one decision [channel.race]', async () => {
    const rows = await Promise.all(
      Array.from({ length: 6 }, (_, cents) => desk.asked('restart', { host: `db-${cents}` })),
    );
    for (const row of rows) {
      const [mira, jo] = [desk.link(row, 'mira'), desk.link(row, 'jo')];
      const [page, other] = await Promise.all([readPage(mira), readPage(jo)]);
      const over = async (confirmed: boolean) =>
        await desk.options.client.approvals.confirm({ requestId: row.requestId }, { confirmed }).then(
          (receipt) => (receipt.confirmed ? 'counts' : 'sent'),
          () => 'refused',
        );
      const [one, two, http] = await Promise.all([
        sendForm(mira, page, { do: 'approve' }),
        sendForm(jo, other, { do: 'reject' }),
        over(true),
      ]);
      await until(async () => expect((await desk.now(row)).status).not.toBe('pending'));
      const { status, votes, history } = await desk.now(row);
      const said = status === 'approved';
      const taken = [one.status === 303 && said, two.status === 303 && !said, http !== 'refused' && said];
      expect(taken).toContain(true);
      // A worker that does not answer in time gets the answer by a signal, and its sender goes on: nobody is told that it counts.
      expect([303, 409]).toContain(said ? two.status : one.status);
      if (!said) expect(http).not.toBe('counts');
      expect(votes.every(({ confirmed }) => confirmed === said)).toBe(true);
      expect(history.filter(({ kind }) => kind === 'approved' || kind === 'rejected')).toHaveLength(1);
      if (said) await until(() => expect(desk.ranOf(row)).toHaveLength(1));
      else expect(desk.ranOf(row)).toEqual([]);
    }
  });
});
