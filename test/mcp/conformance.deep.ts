import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';

const client = fileURLToPath(new URL('conformance-client-program.ts', import.meta.url));
const suite = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const page = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');

/** Rows of the page's table: scenarios, and the revisions in which they pass. */
const ROWS = [...page.matchAll(/^\| `([\w-]+)` +\| (\d{4}-\d{2}-\d{2}) +\| passes/gm)].map(
  ([, scenario = '', revision = '']) => [scenario, revision] as const,
);

describe('the conformance suite of MCP', () => {
  test('has rows on the page [mcp.conformance]', () => {
    expect(ROWS.length).toBeGreaterThan(12);
  });

  test.each(ROWS)('%s of %s passes [mcp.conformance]', async (scenario, revision) => {
    const command = `"${process.execPath}" "${client}"`;
    const args = ['client', '--command', command, '--scenario', scenario, '--spec-version', revision];
    const ran = promisify(execFile)(process.execPath, [suite, ...args]);
    await expect(ran).resolves.toBeDefined();
  });
});
