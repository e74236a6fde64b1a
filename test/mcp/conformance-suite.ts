import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const program = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** Runs `@modelcontextprotocol/conformance`, and returns what it prints. Rejects where a check fails. */
export async function runSuite(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args]);
  return stdout;
}

/** The scenarios of the suite that a page names. */
export interface ConformancePage {
  /** Scenarios, revisions and outcomes. */
  rows: (readonly [scenario: string, revision: string, outcome: string])[];
  /** Scenarios without a row, in one revision or in `each`. `auth/*` is all that begin so. */
  leftOut: (readonly [scenario: string, revision: string])[];
}

/** @param name of a page in `docs`. */
export function conformancePage(name: string): ConformancePage {
  const page = readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
  const lines = page.matchAll(/^\| (`[\w/*-]+`(?:, `[\w/*-]+`)*) +\| ([\w-]+) +\| ([^|]+?) +\|/gm);
  const each = [...lines].flatMap(([, scenarios = '', revision = '', outcome = '']) =>
    scenarios
      .replaceAll('`', '')
      .split(', ')
      .map((scenario) => [scenario, revision, outcome] as const),
  );
  const isRow = ([, , outcome]: (typeof each)[number]) => /^(passes|partly)$/.test(outcome);
  return {
    rows: each.filter(isRow),
    leftOut: each.filter((line) => !isRow(line)).map(([scenario, revision]) => [scenario, revision] as const),
  };
}

/** Each scenario of the suite has one row in each of the revisions that it has, or a reason why it has none. No reason is for nothing. */
export async function expectWholePage(
  { rows, leftOut }: ConformancePage,
  side: 'client' | 'server',
  revisions: readonly string[],
): Promise<void> {
  const listed = await runSuite('list', `--${side}`);
  const all = [...listed.matchAll(/^ *- ([\w/-]+) \[([\w,-]+)\]/gm)].flatMap(([, scenario = '', of = '']) =>
    of
      .split(',')
      .filter((revision) => revisions.includes(revision))
      .map((revision) => [scenario, revision] as const),
  );
  const isReason = ([name, of]: readonly [string, string], [scenario, revision]: readonly [string, string]) =>
    (of === 'each' || of === revision) &&
    (name.endsWith('*') ? scenario.startsWith(name.slice(0, -1)) : scenario === name);
  const withReason = all.filter((each) => leftOut.some((reason) => isReason(reason, each)));
  const onPage = [...rows, ...withReason].map(([scenario, revision]) => `${scenario} ${revision}`);
  expect(onPage.sort()).toEqual(all.map((each) => each.join(' ')).sort());
  expect(leftOut.filter((reason) => !all.some((each) => isReason(reason, each)))).toEqual([]);
}
