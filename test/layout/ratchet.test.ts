import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { aboveLimits, countHouse, type HouseCounts, type Ratchet } from '../../scripts/ratchet.ts';

const IMPORTS = "import '../src/errors.ts';";
const TREE = {
  'src/errors.ts': "class Refused<T extends object>\n  extends codedError('REFUSED') {}\n",
  'src/late.ts':
    'class Late extends Refused<object> {}\nclass Lost extends Error {}\nclass List extends Array {}\n',
  'workflows/reads.ts': `${IMPORTS}\nconst a = { ...(b === undefined\n  ? {} : { b }) };\n`,
  'activities/reads.ts': `${IMPORTS}\nimport('../src/late.ts');\n`,
  'src/schema.sql': '\n',
  'src/README.md': '\n',
  'test/late.test.ts': '\n',
};
const limits: HouseCounts = {
  productLines: 11,
  productFiles: 5,
  smallFiles: 1,
  errorClasses: 3,
  conditionalSpreads: 1,
  testLines: 1,
};

/** A file for each count that brings one more of that, and no more of another. */
const PLANTED: Record<keyof HouseCounts, [path: string, text: string]> = {
  productLines: ['src/schema.sql', '\n\n'],
  productFiles: ['bin/empty.js', ''],
  smallFiles: ['workflows/reads.ts', TREE['workflows/reads.ts'].replace(IMPORTS, '')],
  errorClasses: ['src/late.ts', TREE['src/late.ts'].replace('Array', 'Late')],
  conditionalSpreads: [
    'activities/reads.ts',
    `${TREE['activities/reads.ts'].trim()} c === undefined ? {} : c;\n`,
  ],
  testLines: ['test/setup/late.mjs', '\n'],
};

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-ratchet-'));
  for (const [path, text] of Object.entries(TREE)) plant(path, text);
});
afterEach(() => rmSync(root, { recursive: true }));

function plant(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

for (const [name, planted] of Object.entries(PLANTED))
  test(`one more of ${name} than the limit fails, but for a part's budget [layout.ratchet]`, () => {
    expect(countHouse(root)).toEqual(limits);
    plant(...planted);
    const counts = countHouse(root);
    const above = aboveLimits(counts, { limits, budgets: [] });
    expect(above).toEqual([expect.stringMatching(`^${name}: \\d+, 1 above the limit of \\d+\\. Delete `)]);
    const budgets = [{ for: 'late reads', adds: { [name]: 1 } }];
    expect(aboveLimits(counts, { limits, budgets })).toEqual([]);
  });

test('the script lowers limits to what there is, unless it only checks or a part has a budget [layout.ratchet]', () => {
  const script = join(root, 'scripts/ratchet.ts');
  cpSync(fileURLToPath(new URL('../../scripts/ratchet.ts', import.meta.url)), script);
  const run = (ratchet: Ratchet, CI: string) => {
    plant('scripts/ratchet.json', JSON.stringify(ratchet));
    const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
      env: { ...process.env, CI },
      encoding: 'utf8',
    });
    const left: Ratchet = JSON.parse(readFileSync(join(root, 'scripts/ratchet.json'), 'utf8'));
    return { status, stdout, stderr, left };
  };
  const well = { status: 0, stdout: '', stderr: '' };
  const loose = { limits: { ...limits, productLines: 20 }, budgets: [] };
  const couldBe = 'productLines: the limit could be 11, after 20.\n';
  expect(run(loose, 'true')).toEqual({ ...well, stdout: couldBe, left: loose });
  const open = { ...loose, budgets: [{ for: 'late reads', adds: { testLines: 5 } }] };
  expect(run(open, '')).toEqual({ ...well, left: open });
  const isNow = couldBe.replace('could be', 'is now');
  expect(run(loose, '')).toEqual({ ...well, stdout: isNow, left: { limits, budgets: [] } });
  const tight = { limits: { ...limits, smallFiles: 0, testLines: 9 }, budgets: [] };
  const above = expect.stringMatching(/^smallFiles: 1, 1 above the limit of 0\..*\n$/);
  expect(run(tight, '')).toEqual({ status: 1, stdout: '', stderr: above, left: tight });
});
