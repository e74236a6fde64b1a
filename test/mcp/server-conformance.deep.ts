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

/** Scenarios that the page leaves out, in one revision or in `each`. */
const LEFT_OUT = [...page.matchAll(/^\| (`[\w-]+`(?:, `[\w-]+`)*) \| ([\w-]+) \| [^|]+ \|$/gm)].flatMap(
  ([, scenarios = '', revision = '']) =>
    scenarios
      .replaceAll('`', '')
      .split(', ')
      .map((name) => `${name} ${revision}`),
);

/** The suite's scenarios for servers: `<scenario> <revision>`, for the revisions of the page. */
async function scenariosOfSuite(): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [suite, 'list', '--server']);
  const [ofServers = ''] = stdout.split('Client scenarios');
  return [...ofServers.matchAll(/^ *- ([\w-]+) \[([\w,-]+)\]/gm)].flatMap(
    ([, scenario = '', revisions = '']) =>
      revisions
        .split(',')
        .filter((revision) => ['2025-11-25', '2026-07-28', 'extension'].includes(revision))
        .map((revision) => `${scenario} ${revision}`),
  );
}

let server: Awaited<ReturnType<typeof openConformanceServer>>;
beforeAll(async () => {
  server = await openConformanceServer();
});
afterAll(() => server?.close());

describe('the conformance suite of MCP, for servers', () => {
  test('has rows on the page [mcp.server.conformance]', () => {
    expect(ROWS.length).toBeGreaterThan(30);
  });

  test('is on the page whole: each scenario has a row, or a reason why it has none [mcp.server.conformance]', async () => {
    const all = await scenariosOfSuite();
    const namesOf = (scenario: string) => [scenario, scenario.replace(/ .*/, ' each')];
    const rows = ROWS.map(([scenario, revision]) => `${scenario} ${revision}`);
    const leftOut = all.filter((scenario) => namesOf(scenario).some((name) => LEFT_OUT.includes(name)));
    expect([...rows, ...leftOut].sort()).toEqual(all.toSorted());
    expect(LEFT_OUT.filter((name) => !all.flatMap(namesOf).includes(name))).toEqual([]);
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
