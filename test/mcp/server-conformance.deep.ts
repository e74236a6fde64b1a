import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConformanceServer } from './conformance-server.ts';
import { conformancePage, expectWholePage, runSuite } from './conformance-suite.ts';

const page = conformancePage('mcp-server-conformance.md');

let server: Awaited<ReturnType<typeof openConformanceServer>>;
beforeAll(async () => {
  server = await openConformanceServer();
});
afterAll(() => server?.close());

describe('the conformance suite of MCP, for servers', () => {
  test('has rows on the page [mcp.server.conformance]', () => {
    expect(page.rows.length).toBeGreaterThan(30);
  });

  test('is on the page whole: each scenario has a row, or a reason why it has none [mcp.server.conformance]', async () => {
    await expectWholePage(page, 'server', ['2025-11-25', '2026-07-28', 'extension']);
  });

  test.each(page.rows)('%s of %s %s [mcp.server.conformance]', async (scenario, revision, outcome) => {
    const of = revision === 'extension' ? [] : ['--spec-version', revision];
    const args = ['server', '--url', server.url, '--scenario', scenario, ...of];
    const ran = runSuite(...args).then(
      () => 0,
      ({ stdout }: { stdout: string }) => stripVTControlCharacters(stdout).match(/\] FAILURE /g)?.length,
    );
    if (outcome === 'passes') expect(await ran).toBe(0);
    else expect([1, 2]).toContain(await ran);
  });
});
