import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { accessibilityProblems, DESKTOP, NO_BROWSER, openBrowser, PHONE, visit } from '../setup/browser.ts';
import { APP, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let desk: OAuthDesk;
let ofDevices: OAuthDesk;
let browser: Browser;
beforeAll(async () => {
  if (NO_BROWSER !== undefined) return;
  [desk, ofDevices, browser] = await Promise.all([
    openOAuthDesk(),
    openOAuthDesk({ provider: { grant: 'device_code' } }),
    openBrowser(),
  ]);
});
afterAll(async () => {
  await Promise.all([desk?.close(), ofDevices?.close(), browser?.close()]);
});

describe.each([
  ['a phone', PHONE],
  ['a desktop', DESKTOP],
])('on %s', (where, options) => {
  const userId = where.replace(' ', '-');

  test('a person comes from a request’s link, consents, and sees that they are connected [oauth.pages]', async ({
    skip,
  }) => {
    skip(NO_BROWSER !== undefined, NO_BROWSER);
    const turn = await desk.send(userId);
    const [request] = await desk.pending(userId);
    const { session = '', requestId = '' } = request ?? {};
    const { page, context, complaints } = await visit(browser, options);
    await page.goto(
      linkUrl(
        desk.served.url,
        signApprovalLink(desk.keys, { session, requestId, approver: userId }, Date.now()),
      ),
    );
    await page.getByRole('link', { name: 'Connect', exact: true }).click();
    await page.waitForURL(/\/connect\//);
    expect(await page.locator('main').innerText()).toContain(`for the user ${userId}`);
    expect(await accessibilityProblems(page)).toEqual([]);
    const width = await page.evaluate('document.documentElement.scrollWidth <= window.innerWidth');
    expect(width).toBe(true);
    await page.getByRole('link', { name: /^Continue to/ }).click();
    await page.getByPlaceholder('Enter any login').fill('ada@example.com');
    await page.getByPlaceholder('and password').fill('x');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.waitForURL(/\/connect\//);
    expect(await page.locator('main').innerText()).toContain('as ada@example.com');
    expect(await accessibilityProblems(page)).toEqual([]);
    expect(page.url()).not.toMatch(/code=|state=/);
    expect((await turn.result()).text).toBe('[{"events":43}]');
    expect(complaints.filter((line) => line.includes(desk.served.url))).toEqual([]);
    await context.close();
  });

  test('a person gets a code for another device [oauth.pages]', async ({ skip }) => {
    skip(NO_BROWSER !== undefined, NO_BROWSER);
    const { page, context } = await visit(browser, options);
    // A worker has told of its provider.
    await ofDevices.send(userId);
    await ofDevices.pending(userId);
    await page.goto(`${await ofDevices.link(userId, ['calendar.read'])}`);
    await page.getByRole('link', { name: /^Continue to/ }).click();
    expect(await page.locator('code').innerText()).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(await accessibilityProblems(page)).toEqual([]);
    await context.close();
  });

  test('an operator sees who is connected, and disconnects them at the server, too [oauth.inbox]', async ({
    skip,
  }) => {
    skip(NO_BROWSER !== undefined, NO_BROWSER);
    const [mine, other] = [`${userId}-mine`, `${userId}-other`];
    await Promise.all([desk.connect(mine), desk.connect(other)]);
    const { keyId, text, digest } = newKeyText();
    const grants = [{ app: APP, roles: ['read', 'operate'] as const }];
    await desk.environment.store.keys.create({
      keyId,
      name: 'olga',
      userId: mine,
      grants: grants as never,
      digest,
    });
    const { page, context } = await visit(browser, options);
    await page.goto(`${desk.served.url}/inbox/connections`);
    await page.getByLabel('API key').fill(text);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/inbox\/connections$/);
    const main = await page.locator('main').innerText();
    expect(main).toContain('calendar as ada@example.com');
    expect(main).not.toContain(other);
    expect(await accessibilityProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.waitForURL(/ended=revoked/);
    expect(await page.locator('main').innerText()).toContain('has taken the tokens back');
    expect(await desk.client.credentials.list({ app: APP, userId: mine })).toEqual([]);
    expect(await desk.client.credentials.list({ app: APP, userId: other })).toHaveLength(1);
    await context.close();
  });
});
