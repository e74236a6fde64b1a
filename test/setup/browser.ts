import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';

/** Debian’s, unless another one is named. */
const CHROMIUM = process.env.HOLDFAST_CHROMIUM ?? '/usr/bin/chromium';

/** Why there is no browser to test with; undefined where there is one. */
export const NO_BROWSER = existsSync(CHROMIUM)
  ? undefined
  : `there is no ${CHROMIUM}: install Chromium, or name one with HOLDFAST_CHROMIUM`;

/** A phone of the smallest kind that people still have. */
export const PHONE = { viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true } as const;
export const DESKTOP = { viewport: { width: 1280, height: 900 } } as const;

export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });
}

/** A person at a browser, and what its console said. */
export interface Visitor {
  page: Page;
  context: BrowserContext;
  /** Errors and warnings, of pages and of what they may not do. */
  complaints: string[];
}

export async function visit(browser: Browser, options: BrowserContextOptions = DESKTOP): Promise<Visitor> {
  const context = await browser.newContext({ timezoneId: 'UTC', locale: 'en-GB', ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, context, complaints };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What a page does wrong to people who can’t see, hear or move as others do: the rules of WCAG 2.2 AA, and best practices. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // Evaluated from outside of the page, which itself may run nothing.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate<AxeResults>(
    'axe.run(document, { resultTypes: ["violations"] })',
  );
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  );
}

/** How far a page is wider than its window, in pixels. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
