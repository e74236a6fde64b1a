import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { conformancePage, expectWholePage, runSuite } from './conformance-suite.ts';

const programOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const client = programOf('conformance-client-program.ts');
const consenting = programOf('conformance-auth-program.ts');
const page = conformancePage('mcp-conformance.md');

describe('the conformance suite of MCP', () => {
  test('has rows on the page, all of which pass [mcp.conformance]', () => {
    expect(page.rows.length).toBeGreaterThan(14);
    expect(page.rows.filter(([, , outcome]) => outcome !== 'passes')).toEqual([]);
  });

  test('is on the page whole: each scenario has a row, or a reason why it has none [mcp.conformance]', async () => {
    await expectWholePage(page, 'client', ['2025-06-18', '2025-11-25', '2026-07-28', 'extension']);
  });

  test.each(page.rows)('%s of %s passes [mcp.conformance]', async (scenario, revision) => {
    const command = `"${process.execPath}" "${scenario.startsWith('auth/') ? consenting : client}"`;
    const args = ['client', '--command', command, '--scenario', scenario, '--spec-version', revision];
    await expect(runSuite(...args)).resolves.toBeDefined();
  });
});
