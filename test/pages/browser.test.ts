import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import {
  accessibilityProblems,
  DESKTOP,
  NO_BROWSER,
  openBrowser,
  overflowOf,
  PHONE,
  visit,
} from '../setup/browser.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
let browser: Browser;
beforeAll(async () => {
  if (NO_BROWSER !== undefined) return;
  desk = await openPageDesk();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await desk?.close();
});

const LONG = 'The tent arrived with a torn inner door. '.repeat(60);
const HARD = {
  ...{ order: 'A-1042', cents: 12_900, notify: true, nothing: null, none: [], reason: `${LONG}\n\n${LONG}` },
  wide: 'x'.repeat(2_000),
  items: [{ sku: 'TENT-2P', price: { cents: 12_900, tax: { percent: 25, of: { country: 'NO' } } } }],
  'a\u202elong name that has many words and does not end soon': '\u200b<b>bold</b>',
};

/** What has focus, by its name: as somebody who can’t see the page is told of it. */
const focused = (page: Page) =>
  page.evaluate<string>(
    '(document.activeElement.getAttribute("value") ?? document.activeElement.id) || document.activeElement.textContent.trim()',
  );

async function tabTo(page: Page, name: string): Promise<void> {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    if ((await focused(page)) === name) return;
  }
  throw new Error(`the keyboard never reaches ${name}`);
}

describe.skipIf(NO_BROWSER !== undefined)(`in a browser ${NO_BROWSER ?? ''}`, () => {
  const looks = [
    ['a phone, light', { ...PHONE, colorScheme: 'light' as const }],
    ['a phone, dark', { ...PHONE, colorScheme: 'dark' as const }],
    ['a desktop, light', { ...DESKTOP, colorScheme: 'light' as const }],
    ['a desktop, dark', { ...DESKTOP, colorScheme: 'dark' as const }],
    ['large letters', { viewport: { width: 640, height: 480 }, deviceScaleFactor: 2 }],
  ] as const;

  test.each(inTier<readonly (typeof looks)[number][]>([], looks))(
    'on %s every page fits, complains of nothing, and is accessible [inbox.pages]',
    async (_look, options) => {
      const refund = await desk.asked('refund_order', HARD);
      const others = await Promise.all([
        desk.asked('ship', { order: 'A-1' }),
        desk.asked('charge_card', { cents: 1 }, { userId: 'none' }),
        desk.asked('call_api', {}, { userId: 'none' }),
        desk.asked('wire_money', { cents: 1 }),
      ]);
      const { page, context, complaints } = await visit(browser, options);
      const look = async (what: string) => {
        expect({ what, problems: await accessibilityProblems(page) }).toEqual({ what, problems: [] });
        expect({ what, wider: await overflowOf(page), complaints }).toEqual({
          what,
          wider: 0,
          complaints: [],
        });
      };
      for (const row of [refund, ...others]) {
        await page.goto(desk.link(row));
        await look(row.tool);
      }
      await page.goto(desk.link(others[2] as ApprovalRow));
      for (const summary of await page.locator('summary').all()) await summary.click();
      await look('credentials of any kind');
      const link = desk.link(refund);
      await page.goto(link);
      await page.click('text=Edit arguments');
      await page.waitForURL(/edit$/);
      await look('the edit');
      await page.getByLabel('cents', { exact: true }).fill('x');
      await page.click('text=Preview the change');
      await page.waitForSelector('[aria-invalid]');
      expect(complaints.splice(0)).toEqual([expect.stringContaining('status of 400')]);
      await look('a wrong edit');
      await page.getByLabel('cents', { exact: true }).fill('5');
      await page.click('text=Preview the change');
      await page.waitForSelector('text=Not sent yet');
      await look('the preview');
      await page.click('text=Approve with this change');
      await page.waitForSelector('text=Approved');
      await look('the outcome');
      const { text } = await desk.key('mira', [{ app: '*', roles: ['read', 'approve'] }]);
      await page.goto(`${desk.served.url}/inbox`);
      await look('the form to sign in');
      await page.getByLabel('API key').fill(text);
      await page.click('button:has-text("Sign in")');
      for (const tab of ['Waiting', 'Decided', 'Jobs']) {
        await page.click(`nav >> text=${tab}`);
        await page.waitForSelector(`nav a[aria-current]:has-text("${tab}")`);
        await look(tab);
      }
      await page.click('nav >> text=Waiting');
      await page.locator('.rows a.row').first().click();
      await page.waitForURL(/requests/);
      await look('a request of the inbox');
      await page.click('text=Sign out');
      await page.waitForSelector('text=Signed out');
      await look('signed out');
      await context.close();
    },
  );

  test.each(['light', 'dark'] as const)(
    'a person who opens the gateway’s address finds its pages, on a phone, %s [inbox.pages]',
    async (colorScheme) => {
      const { page, context, complaints } = await visit(browser, { ...PHONE, colorScheme });
      await page.goto(`${desk.served.url}/`);
      expect(await accessibilityProblems(page)).toEqual([]);
      expect([await overflowOf(page), complaints]).toEqual([0, []]);
      await page.click('text=API document');
      await page.waitForURL(/\/openapi\.json$/);
      await page.goBack();
      await page.click('text=Inbox');
      await page.waitForURL(/\/inbox\/sign-in/);
      await context.close();
    },
  );

  test('somebody decides with the keyboard alone [inbox.pages]', async () => {
    const row = await desk.asked('refund_order', { order: 'A-1', cents: 700 });
    const { page: typed, context, complaints } = await visit(browser, PHONE);
    await typed.goto(desk.link(row));
    await typed.keyboard.press('Tab');
    expect(await focused(typed)).toBe('Skip to content');
    await tabTo(typed, 'Edit arguments');
    await typed.keyboard.press('Enter');
    await typed.waitForURL(/\?edit$/);
    await tabTo(typed, '700');
    await typed.keyboard.press('Control+A');
    await typed.keyboard.type('500');
    await tabTo(typed, 'preview');
    await typed.keyboard.press('Enter');
    await typed.waitForSelector('text=Not sent yet');
    await tabTo(typed, 'reason');
    await typed.keyboard.type('as agreed');
    await tabTo(typed, 'approve');
    await typed.keyboard.press('Enter');
    await typed.waitForSelector('text=Approved');
    await until(() => expect(desk.ranOf(row)).toMatchObject([{ args: { order: 'A-1', cents: 500 } }]));
    expect(await desk.now(row)).toMatchObject({ reason: 'as agreed' });
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('a tap is taken back for five seconds, also by the keyboard, and sent after them [inbox.undo]', async () => {
    const row = await desk.asked('refund_order', { order: 'A-1', cents: 700 });
    const { page, context, complaints } = await visit(browser, PHONE);
    const sent: (string | null)[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') sent.push(request.postData());
    });
    await page.clock.install();
    await page.goto(desk.link(row));
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await page.getByRole('button', { name: 'Reject', exact: true }).tap();
    expect(await page.getByRole('status').textContent()).toBe('Rejects in 5 seconds. Keep this page open.');
    expect(await focused(page)).toBe('Undo 5');
    expect(await page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
    await page.clock.runFor(4_900);
    await page.keyboard.press('Enter');
    expect(await focused(page)).toBe('reject');
    await page.clock.runFor(60_000);
    expect(sent).toEqual([]);
    await page.getByLabel('Reason for your decision').fill('too much');
    const {
      x = 0,
      y = 0,
      width = 0,
      height = 0,
    } = (await page.getByRole('button', { name: 'Reject', exact: true }).boundingBox()) ?? {};
    for (let tap = 0; tap < 2; tap += 1) {
      await page.touchscreen.tap(x + width / 2, y + height / 2);
      await page.clock.runFor(120);
    }
    await page.clock.runFor(5_000);
    await page.waitForSelector('text=Rejected');
    expect(sent).toEqual([expect.stringMatching(/reason=too\+much.*do=reject$/)]);
    expect(await desk.now(row)).toMatchObject({ status: 'rejected', reason: 'too much' });
    expect(complaints).toEqual([]);
    await context.close();
  });

  test('the reason is above the buttons and in view, and an amount stands at its field [inbox.reach]', async () => {
    const row = await desk.asked('refund_order', HARD);
    const { page, context } = await visit(browser, PHONE);
    await page.goto(desk.link(row));
    const [reason, approve] = await Promise.all(
      ['#reason', 'button[value=approve]'].map((each) => page.locator(each).boundingBox()),
    );
    expect((reason?.y ?? 0) + (reason?.height ?? 0)).toBeLessThanOrEqual(approve?.y ?? 0);
    expect((approve?.y ?? 0) + (approve?.height ?? 0)).toBeLessThanOrEqual(PHONE.viewport.height);
    await page.click('text=Edit arguments');
    expect(await page.locator('.field:has(label code:text-is("cents")) .hint').textContent()).toBe(
      '12900 = 129.00',
    );
    await context.close();
  });

  if (isDeep) {
    test('on a phone Approve and Reject stay in view, and cover nothing [inbox.reach]', async () => {
      const row = await desk.asked('refund_order', HARD);
      const { page, context, complaints } = await visit(browser, { ...PHONE, javaScriptEnabled: false });
      const heightOf = async (name: string) =>
        (await page.locator(name).boundingBox()) ?? { y: 0, height: 0 };
      const buttonsStay = async () => {
        for (const name of ['Approve', 'Reject']) {
          const box = await page.getByRole('button', { name, exact: true }).boundingBox();
          expect(box?.height).toBeGreaterThanOrEqual(44);
          expect(box?.y).toBeGreaterThan(0);
          expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(PHONE.viewport.height);
        }
      };
      await page.goto(desk.link(row));
      await buttonsStay();
      await page.mouse.wheel(0, 100_000);
      // Scrolled to its end, all of the page is above the bar.
      await until(async () => {
        const last = await heightOf('.foot');
        expect(last.y + last.height).toBeLessThanOrEqual((await heightOf('.decide')).y);
      });
      await buttonsStay();
      // What gets focus is scrolled to where the bar doesn't hide it.
      await page.getByText('Edit arguments').focus();
      const edit = await heightOf('.push');
      expect(edit.y + edit.height).toBeLessThanOrEqual((await heightOf('.decide')).y);
      await page.getByRole('button', { name: 'Approve', exact: true }).tap();
      await page.waitForSelector('text=Approved');
      await until(() => expect(desk.ranOf(row)).toHaveLength(1));
      expect(complaints).toEqual([]);
      await context.close();
    });
  }

  test('on a desktop the buttons stand where the form ends [inbox.reach]', async () => {
    const row = await desk.asked('refund_order', HARD);
    const { page, context } = await visit(browser, DESKTOP);
    await page.goto(desk.link(row));
    expect(await page.evaluate('getComputedStyle(document.querySelector(".decide")).position')).toBe(
      'static',
    );
    await context.close();
  });

  if (isDeep) {
    test('somebody answers, and gives a credential, on a phone without script [inbox.pages]', async () => {
      const [ship, charge] = await Promise.all([
        desk.asked('ship', { order: 'A-1' }),
        desk.asked('charge_card', {}, { userId: 'phone' }),
      ]);
      const { page, context } = await visit(browser, { ...PHONE, javaScriptEnabled: false });
      await page.goto(desk.link(ship));
      await page.getByLabel('street').fill('Elm 1\nback door');
      await page.getByLabel('No', { exact: true }).check();
      await page.getByLabel('size').selectOption('XL');
      await page.getByText('Send the answer').tap();
      await page.waitForSelector('.done');
      const address = { street: 'Elm 1\nback door', gift: false, size: 'XL' };
      await until(() => expect(desk.ranOf(ship)).toMatchObject([{ args: { address } }]));
      await page.goto(desk.link(charge));
      await page.getByLabel('Token').fill('tok-3');
      await page.getByText('Store and hand over').tap();
      await page.waitForSelector('.done');
      await until(() => expect(desk.ranOf(charge)).toMatchObject([{ args: { has: 'tok-3' } }]));
      await context.close();
    });
  }

  if (isDeep) {
    test('arguments come back from an edit as they were, line for line [link.edit]', async () => {
      const args = {
        ...{ order: 'A-1', cents: 1, text: '\n\nlines\n  and blanks  \n', quoted: `"'<>&amp;` },
        ...{
          windows: 'a\r\nb',
          bidi: 'a\u202eb',
          big: 1e21,
          small: 1e-7,
          deep: { a: [1, { b: '\n' }] },
          no: null,
        },
      };
      const row = await desk.asked('refund_order', args);
      const { page, context } = await visit(browser);
      await page.goto(`${desk.link(row)}?edit`);
      await page.click('text=Preview the change');
      await page.waitForSelector('text=Nothing is changed');
      await page.click('text=Back to editing');
      await page.getByLabel('cents', { exact: true }).fill('2');
      await page.click('text=Preview the change');
      await page.click('text=Back to editing');
      await page.click('text=Preview the change');
      await page.waitForSelector('text=Not sent yet');
      expect(await page.locator('.diff tbody tr').count()).toBe(1);
      await page.click('text=Approve with this change');
      await until(() => expect(desk.ranOf(row)).toMatchObject([{ args: { ...args, cents: 2 } }]));
      await context.close();
    });
  }

  if (isDeep) {
    test('another site’s page neither frames, nor sends, nor signs anybody in [link.csrf]', async () => {
      const row = await desk.asked('restart', { host: 'db-1' });
      const link = desk.link(row);
      const { text } = await desk.key('mira', [{ app: '*', roles: ['approve'] }]);
      const evil = createServer((_request, answer) => {
        answer.setHeader('content-type', 'text/html');
        answer.end(`<iframe src="${link}"></iframe><a id="in" href="${desk.served.url}/inbox">in</a>
        <form id="f" method="post" action="${desk.served.url}/inbox/requests/${row.requestId}"><input name="do" value="approve"></form>
        <form id="l" method="post" action="${link}"><input name="do" value="approve"></form>
        <form id="s" method="post" action="${desk.served.url}/inbox/sign-in"><input name="key" value="${text}"></form>`);
      });
      await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
      const site = `http://localhost:${(evil.address() as AddressInfo).port}`;
      const { page, context } = await visit(browser);
      await page.goto(`${desk.served.url}/inbox`);
      await page.getByLabel('API key').fill(text);
      await page.click('button:has-text("Sign in")');
      await page.waitForSelector('text=Waiting for an answer');
      await page.goto(link);
      for (const form of ['f', 'l', 's']) {
        await page.goto(site);
        const [answer] = await Promise.all([
          page.waitForResponse((each) => each.request().method() === 'POST'),
          page.waitForURL((url) => url.origin === desk.served.url),
          page.evaluate(`document.getElementById('${form}').submit()`),
        ]);
        expect(answer.status()).toBe(403);
      }
      await page.goto(site);
      const framed = page.frames().find((frame) => frame !== page.mainFrame());
      expect(await framed?.content()).not.toContain('refund');
      expect(
        await framed
          ?.locator('button')
          .count()
          .catch(() => 0),
      ).toBe(0);
      // A link in a mail: the cookie stays at home, and the page opens once more by itself.
      await page.click('#in');
      await page.waitForSelector('text=Waiting for an answer');
      expect(await desk.now(row)).toMatchObject({ status: 'pending', history: [] });
      await context.close();
      await new Promise((resolve) => evil.close(resolve));
    });
  }
});
