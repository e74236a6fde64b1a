import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { BrowserContextOptions } from 'playwright-core';
import { ABOUT } from '../test/gateway/gateway-stub.ts';
import { openPageDesk } from '../test/pages/page-desk.ts';
import { NO_BROWSER, openBrowser, PHONE, visit } from '../test/setup/browser.ts';
import { makeStore } from '../test/setup/made-store.ts';
import { buildBundle } from './build-bundle.ts';

/** Draws the pages for people as they are, into `docs/images`. */
if (NO_BROWSER !== undefined) throw new Error(NO_BROWSER);
const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
mkdirSync(folder, { recursive: true });
await buildBundle();
await makeStore();

const NARROW = { viewport: { width: 760, height: 600 } } as const;
const WIDE = { viewport: { width: 1_000, height: 400 } } as const;

const desk = await openPageDesk({ about: () => ({ ...ABOUT, apps: ['shop', 'bank'] }) });
const browser = await openBrowser();
try {
  const of = (sessionId: string, app = 'shop') => ({ app, userId: 'ada', sessionId, requester: 'nora' });
  const order = { order: 'A-1042', cents: 12_900, items: [{ sku: 'TENT-2P', count: 1 }] };
  const refund = await desk.asked('refund_order', { ...order, note: 'torn door, two photos' }, of('s-2041'));
  const invoice = { order: 'A-0977', cents: 4_500, memo: 'invoice\u202efdp.exe' };
  const hidden = await desk.asked('refund_order', invoice, of('s-2044'));
  await desk.asked('wire_money', { iban: 'DE02 1203 0000 0000 2020 51', cents: 990_000 }, of('s-17', 'bank'));
  await desk.asked('ship', { order: 'A-1042' }, of('s-2042'));
  await desk.asked('charge_card', { cents: 12_900 }, of('s-2043'));
  const { text } = await desk.key('mira', [{ app: '*', roles: ['read', 'approve'] }]);

  await picture('approval-link.png', { ...NARROW, colorScheme: 'light' }, async (page) => {
    await page.goto(desk.link(refund));
  });
  await picture('approval-link-phone.png', { ...PHONE, colorScheme: 'dark' }, async (page) => {
    await page.goto(desk.link(hidden));
  });
  await picture('approval-edit.png', { ...NARROW, colorScheme: 'light' }, async (page) => {
    await page.goto(`${desk.link(refund)}?edit`);
    await page.getByLabel('cents', { exact: true }).fill('9900');
    await page.click('text=Preview the change');
    await page.waitForSelector('text=Not sent yet');
  });
  await picture('inbox.png', { ...WIDE, colorScheme: 'light' }, async (page) => {
    await page.goto(`${desk.served.url}/inbox`);
    await page.getByLabel('API key').fill(text);
    await page.click('button:has-text("Sign in")');
    await page.waitForSelector('text=Waiting for an answer');
  });
} finally {
  await browser.close();
  await desk.close();
}
// Temporal's worker leaves a thread open.
process.exit(0);

type Page = Awaited<ReturnType<typeof visit>>['page'];

async function picture(
  name: string,
  options: BrowserContextOptions,
  open: (page: Page) => Promise<void>,
): Promise<void> {
  const { page, context } = await visit(browser, options);
  await open(page);
  // A phone shows what is in its window: the buttons stay at the bottom of that.
  await page.screenshot({ path: `${folder}${name}`, fullPage: options.isMobile !== true });
  await context.close();
}
