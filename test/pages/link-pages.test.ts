import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import { readPage, sendForm } from './browser-form.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
beforeAll(async () => {
  desk = await openPageDesk();
});
afterAll(() => desk.close());

const ORDER = { order: 'A-1', cents: 700 };

describe('a link', () => {
  test('shows a request, and decides by POST, once [link.once]', async () => {
    const request = await desk.asked('refund_order', ORDER);
    const url = desk.link(request);
    const shown = await readPage(url);
    expect(shown.status).toBe(200);
    for (const text of ['refund_order', 'Refund 7 € of order A-1?', '700', 'support', 'shop', 'mira']) {
      expect(shown.text).toContain(text);
    }
    const sent = await sendForm(url, shown, { do: 'approve', reason: 'as agreed' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, new URL(url).pathname]);
    await until(() => expect(desk.ranOf(request)).toHaveLength(1));
    const row = await desk.now(request);
    expect(row).toMatchObject({
      status: 'approved',
      reason: 'as agreed',
      votes: [{ by: { principal: 'mira', verified: true, channel: 'link' }, confirmed: true }],
    });
    const again = await sendForm(url, shown, { do: 'reject' });
    expect(again.status).toBe(409);
    for (const page of [again, await readPage(url)]) {
      expect(page.text).toMatch(/Approved<\/strong> by <b><bdi>mira<\/bdi><\/b> by a link, <time/);
      expect(page.text).not.toContain('<form');
    }
    const other = await readPage(desk.link(request, 'jo'));
    expect(other.text).toMatch(/Approved<\/strong> by <b><bdi>mira/);
    expect((await sendForm(desk.link(request, 'jo'), other, { do: 'reject' })).status).toBe(403);
    expect(await desk.now(request)).toEqual(row);
  });

  test('is given back where the decision doesn’t count, and says why [link.once]', async () => {
    const request = await desk.asked('refund_order', ORDER);
    const url = desk.link(request, 'eve');
    const refused = await sendForm(url, await readPage(url), { do: 'approve' });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('may not decide the request');
    expect(await desk.now(request)).toMatchObject({ status: 'pending' });
    const token = url.slice(url.lastIndexOf('/') + 1);
    const { jti } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(await desk.environment.store.keys.findUsedLink(jti)).toBeUndefined();
  });

  test('counts as one vote of several, and tells how many are needed [link.once]', async () => {
    const request = await desk.asked('wire_money', { cents: 1 });
    const [one, two] = [desk.link(request, 'mira'), desk.link(request, 'jo')];
    expect((await sendForm(one, await readPage(one), { do: 'approve' })).status).toBe(303);
    expect((await readPage(one)).text).toContain('1 of 2 approvals: more are needed');
    const second = desk.link(request, 'mira');
    expect((await sendForm(second, await readPage(second), { do: 'reject' })).status).toBe(409);
    expect((await sendForm(two, await readPage(two), { do: 'approve' })).status).toBe(303);
    await until(() => expect(desk.ranOf(request)).toHaveLength(1));
  });

  test('rejects, with a reason that the model is told [link.once]', async () => {
    const request = await desk.asked('restart', { host: 'db-1' });
    const url = desk.link(request);
    const refused = await sendForm(url, await readPage(url), { do: 'reject', reason: '😀'.repeat(2_001) });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('at most 2000 are allowed');
    const reason = `not <b>today</b>${'😀'.repeat(1_500)}`;
    await sendForm(url, await readPage(url), { do: 'reject', reason });
    await until(async () => expect(await desk.now(request)).toMatchObject({ status: 'rejected', reason }));
    expect((await readPage(url)).text).toContain('not &lt;b&gt;today&lt;/b&gt;');
    expect(desk.ranOf(request)).toEqual([]);
  });

  test('of a session that was deleted and made again is none [link.forged]', async () => {
    const request = await desk.asked('restart', { host: 'db-1' });
    const forged = desk.link({ ...request, session: '0190a7c2-0000-7000-8000-000000000001' });
    const none = await readPage(`${desk.served.url}/a/none`);
    const found = await readPage(forged);
    expect([found.status, found.text]).toEqual([404, none.text]);
    expect((await readPage(desk.link({ ...request, requestId: `${request.requestId}9` }))).text).toBe(
      none.text,
    );
  });
});

describe('an edit', () => {
  test('is previewed before it is sent, and runs [link.edit]', async () => {
    const args = {
      ...ORDER,
      items: [{ sku: 'T', n: 1 }],
      note: 'line 1\nline 2\n',
      gift: false,
      odd: 'a\u200bb\r\n',
    };
    const request = await desk.asked('refund_order', args);
    const url = desk.link(request);
    const form = await readPage(`${url}?edit`);
    // By name: cents, gift, items, note, odd, order. As a browser sends what it was given.
    const untouched = {
      'arg-0': '700',
      'arg-1': 'false',
      'arg-2': '[\r\n  {\r\n    "sku": "T",\r\n    "n": 1\r\n  }\r\n]',
      'arg-3': 'line 1\r\nline 2\r\n',
      'arg-4': '"a\\u200bb\\r\\n"',
      'arg-5': 'A-1',
    };
    const same = await sendForm(url, form, { ...untouched, do: 'preview' });
    expect(same.text).toContain('Nothing is changed');
    const wrong = await sendForm(url, form, {
      ...untouched,
      'arg-0': '7 euros',
      'arg-2': '{',
      do: 'preview',
    });
    expect(wrong.status).toBe(400);
    expect(wrong.text.match(/aria-invalid="true"/g)).toHaveLength(2);
    const preview = await sendForm(url, form, {
      ...untouched,
      'arg-0': '500',
      do: 'preview',
      reason: 'less',
    });
    expect(preview.text).toContain('5 other arguments stay');
    expect(preview.text).toContain('less');
    expect(await desk.now(request)).toMatchObject({ status: 'pending' });
    const back = await sendForm(url, preview, { do: 'edit' });
    expect(back.text).toContain('value="500"');
    expect((await sendForm(url, preview, { do: 'approve' })).status).toBe(303);
    await until(() => expect(desk.ranOf(request)).toMatchObject([{ args: { ...args, cents: 500 } }]));
    expect((await readPage(url)).text).toContain('Changed to');
  });

  test('that the tool’s schema refuses is not sent, and the link stays good [link.edit]', async () => {
    const request = await desk.asked('refund_order', ORDER);
    const url = desk.link(request);
    const preview = await sendForm(url, await readPage(`${url}?edit`), { 'arg-0': '900000', do: 'preview' });
    const refused = await sendForm(url, preview, { do: 'approve' });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain('That doesn’t count');
    expect((await sendForm(url, await readPage(url), { do: 'approve' })).status).toBe(303);
    await until(() => expect(desk.ranOf(request)).toMatchObject([{ args: ORDER }]));
  });

  test('keeps what is sensitive as it is, and out of every page [link.edit]', async () => {
    const request = await desk.asked('restart', { host: 'db-1', password: 'hunter2-planted' });
    const url = desk.link(request);
    const pages = [await readPage(url), await readPage(`${url}?edit`)];
    const preview = await sendForm(url, await readPage(`${url}?edit`), { 'arg-0': 'db-2', do: 'preview' });
    expect(preview.text).toContain('(sensitive)');
    for (const { text } of [...pages, preview]) expect(text).not.toContain('hunter2');
    const smuggled = { edited: JSON.stringify({ host: 'db-2', password: 'mine' }), do: 'approve' };
    expect((await sendForm(url, preview, smuggled)).status).toBe(409);
    expect((await sendForm(url, preview, { do: 'approve' })).status).toBe(303);
    await until(() =>
      expect(desk.ranOf(request)).toMatchObject([{ args: { host: 'db-2', password: 'hunter2-planted' } }]),
    );
  });

  test('shows a number of cents as it runs, and the amount beside it [link.amount]', async () => {
    const args = { order: 'A-1', cents: 12_900, feeInCents: -5, tax_cents: 0, percents: 25, centsText: 100 };
    const { text } = await readPage(desk.link(await desk.asked('refund_order', args)));
    const shown = [
      ...text.matchAll(/<code class="number">(-?\d+)<\/code>(?:<small class="amount">= ([-.\d]+)<)?/g),
    ];
    expect(Object.fromEntries(shown.map(([, value, amount]) => [value, amount]))).toEqual({
      ...{ 12900: '129.00', '-5': '-0.05', 0: '0.00' },
      ...{ 25: undefined, 100: undefined },
    });
  });

  test('is for tools only that allow it [link.edit]', async () => {
    const request = await desk.asked('wire_money', { cents: 1 });
    const url = desk.link(request);
    expect((await readPage(url)).text).not.toContain('Edit arguments');
    const form = await readPage(`${url}?edit`);
    expect(form.text).toContain('>Approve<');
    const edited = { edited: JSON.stringify({ cents: 2 }), do: 'approve' };
    expect((await sendForm(url, form, edited)).status).toBe(409);
    expect(await desk.now(request)).toMatchObject({ status: 'pending', votes: [] });
  });
});

describe('an answer', () => {
  test('is given by fields of the schema, and checked [link.page]', async () => {
    const request = await desk.asked('ship', { order: 'A-1' });
    const url = desk.link(request);
    const form = await readPage(url);
    expect(form.text).toContain('Where should the parcel go?');
    const wrong = await sendForm(url, form, {
      'in-0': '',
      'in-1': 'two',
      'in-2': 'true',
      'in-3': '9',
      do: 'answer',
    });
    expect(wrong.status).toBe(400);
    expect(wrong.text.match(/class="error"/g)).toHaveLength(3);
    const part = await sendForm(url, form, {
      'in-0': 'Elm 1',
      'in-1': '1.5',
      'in-2': 'true',
      'in-3': '1',
      do: 'answer',
    });
    expect(part.status).toBe(409);
    expect(part.text).toContain('That doesn’t count');
    const sent = await sendForm(url, form, {
      'in-0': 'Elm 1',
      'in-1': '',
      'in-2': 'false',
      'in-3': '1',
      do: 'answer',
    });
    expect(sent.status).toBe(303);
    const address = { street: 'Elm 1', gift: false, size: 'M' };
    await until(() => expect(desk.ranOf(request)).toMatchObject([{ args: { order: 'A-1', address } }]));
    expect((await readPage(url)).text).toContain('answered this');
  });

  test('that is a credential is stored and handed over, and stands on no page [link.page]', async () => {
    const secret = 'sk-planted-page-93Kd';
    const request = await desk.asked('charge_card', { cents: 5 }, { userId: 'cleo' });
    const url = desk.link(request);
    const form = await readPage(url);
    const given = { kind: 'bearer', 'bearer-secret': secret, do: 'credential' };
    const empty = await sendForm(url, form, { ...given, 'bearer-secret': '' });
    expect(empty.status).toBe(400);
    const wrong = await sendForm(url, form, { ...given, 'bearer-secret': `${secret}\u0007` });
    expect(wrong.status).toBe(400);
    expect((await sendForm(url, form, { ...given, kind: 'basic' })).status).toBe(409);
    expect((await sendForm(url, form, given)).status).toBe(303);
    await until(() => expect(desk.ranOf(request)).toMatchObject([{ args: { cents: 5, has: secret } }]));
    for (const { text } of [empty, wrong, await readPage(url)]) expect(text).not.toContain(secret);
    expect(JSON.stringify(desk.lines)).not.toContain(secret);
  });

  test('by a user name and a password, where the tool leaves that open [link.page]', async () => {
    const request = await desk.asked('call_api', {}, { userId: 'cleo' });
    const url = desk.link(request);
    const given = {
      kind: 'basic',
      'basic-username': 'cleo',
      'basic-secret': 'pw-planted-4',
      do: 'credential',
    };
    expect((await sendForm(url, await readPage(url), given)).status).toBe(303);
    const has = { username: 'cleo', password: 'pw-planted-4' };
    await until(() => expect(desk.ranOf(request)).toMatchObject([{ args: { has } }]));
  });
});
