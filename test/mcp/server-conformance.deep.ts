import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify, stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConformanceServer } from './conformance-server.ts';

const suite = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const page = readFileSync(new URL('../../docs/mcp-server.md', import.meta.url), 'utf8');

/** Rows of the page's table. */
const ROWS = [...page.matchAll(/^\| `([\w-]+)` +\| ([\w-]+) +\| (passes|partly)/gm)].map(
  ([, scenario = '', revision = '', outcome = '']) => [scenario, revision, outcome] as const,
);

let server: Awaited<ReturnType<typeof openConformanceServer>>;
beforeAll(async () => {
  server = await openConformanceServer();
});
afterAll(() => server?.close());

describe('the conformance suite of MCP, for servers', () => {
  test('has rows on the page [mcp.server.conformance]', () => {
    expect(ROWS.length).toBeGreaterThan(30);
  });

  test.each(ROWS)('%s of %s %s [mcp.server.conformance]', async (scenario, revision, outcome) => {
    const of = revision === 'extension' ? [] : ['--spec-version', revision];
    const args = ['server', '--url', server.url, '--scenario', scenario, ...of];
    const ran = promisify(execFile)(process.execPath, [suite, ...args]).then(
      () => 0,
      ({ stdout }: { stdout: string }) => stripVTControlCharacters(stdout).match(/\] FAILURE /g)?.length,
    );
    if (outcome === 'passes') expect(await ran).toBe(0);
    else expect([1, 2]).toContain(await ran);
  });
});
