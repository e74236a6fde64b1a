import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { requirementProblems, titlesOf } from './requirements/requirement-problems.ts';
import { SOURCES } from './requirements/row.ts';
import { unshown } from './requirements/unshown.ts';
import { REQUIREMENTS } from './requirements.ts';

const folder = import.meta.dirname;
/** Tests of both tiers, and the suites that they share. */
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.(test|deep)\.ts$|\/suite\/.*\.ts$/.test(path) && path !== 'requirements.test.ts');
const titles = files.flatMap((file) => titlesOf(file, readFileSync(join(folder, file), 'utf8')));

describe('the manifest', () => {
  test('every delivered promise is shown by a test, and every id has a row', () => {
    expect(requirementProblems(REQUIREMENTS, titles)).toEqual([]);
  });

  test('every row names a source that is known', () => {
    const unknown = REQUIREMENTS.filter(({ source }) => !Object.hasOwn(SOURCES, source.split(': ')[0] ?? ''));
    expect(unknown).toEqual([]);
  });

  test('the titles of all folders were read', () => {
    for (const room of ['turn', 'cli', 'definitions', 'models', 'store', 'testing', 'worker', 'flows']) {
      expect(titles.some(({ file }) => file.startsWith(`${room}/`))).toBe(true);
    }
  });
});

describe('the check of the manifest', () => {
  const row = (id: string, isPlanned = false) => ({
    id,
    isPlanned,
    behaviour: 'It works.',
    tier: 'test' as const,
  });
  const deep = (id: string) => ({ ...row(id), tier: 'deep' as const });
  const shown = (...ids: string[]) => [{ file: 'a.test.ts', ids, tier: 'test' as const }];
  const shownDeep = (...ids: string[]) => [{ file: 'a.deep.ts', ids, tier: 'deep' as const }];

  test('passes rows that tests show, and rows that are planned', () => {
    expect(requirementProblems([row('a.b'), row('c', true)], shown('a.b'))).toEqual([]);
  });

  test('passes rows of either tier that a test of it shows', () => {
    const titles = [...shownDeep('a', 'b'), ...shown('a')];
    expect(requirementProblems([row('a'), deep('b')], titles)).toEqual([]);
  });

  test.each<[string, Parameters<typeof requirementProblems>, string]>([
    ['an id without a row', [[row('a')], shown('a', 'b')], 'a.test.ts: no row has the id b'],
    ['a row without a test', [[row('a'), row('b')], shown('a')], 'b: no test names it'],
    [
      'a row that npm test shows no more',
      [[row('a')], shownDeep('a')],
      'a: its row says npm test, and npm run test:deep is the first to show it',
    ],
    [
      'a row that npm test shows after all',
      [[deep('a')], [...shownDeep('a'), ...shown('a')]],
      'a: its row says npm run test:deep, and npm test is the first to show it',
    ],
    ['two rows of one id', [[row('a'), row('a', true)], shown('a')], 'a: two rows have this id'],
    ['an odd id', [[row('a-b')], shown('a-b')], 'a-b: ids are words with dots between'],
    ['no sentence', [[{ ...row('a'), behaviour: 'works' }], shown('a')], 'a: the behaviour is no sentence'],
  ])('finds %s', (_name, args, problem) => {
    expect(requirementProblems(...args)).toEqual([problem]);
  });

  const b = '[a.b]';
  test.each<[string, string, string[][]]>([
    ['one id', `test('does it ${b}', () => {});`, [['a.b']]],
    ['several ids', `test("it's done [c] ${b}", async () => {});`, [['c', 'a.b']]],
    [
      'a title on a line of its own',
      `test.each([1])(\n  'does %s ${b}',\n  { timeout: 1 },\n  () => {});`,
      [['a.b']],
    ],
    ['a group', `describe('group ${b}', () => {});`, [['a.b']]],
    ['conditional tests', `test.skipIf(windows)('does it ${b}', () => {});`, [['a.b']]],
    [
      'no tests that never run',
      `test.skip('does it ${b}', () => {});\ntest.todo('later ${b}', () => {});`,
      [],
    ],
    ['no brackets elsewhere', `test('gives ${b} back', () => {});\nexpect(list).toEqual(['x ${b}', 1]);`, []],
    ['no list in a title', `test('wraps [1,2]', () => {});`, []],
  ])('reads %s', (_name, source, ids) => {
    expect(titlesOf('a.test.ts', source).map((title) => title.ids)).toEqual(ids);
  });

  test('knows what only a deep run does', () => {
    const test = (title: string) => `test('${title}', () => {});\n`;
    const block = `if (isDeep) {\n  ${test(`more ${b}`)}}\n`;
    const tiers = (file: string) => titlesOf(file, `${test('does it [c]')}${block}${test('and so on [d]')}`);
    expect(tiers('a.test.ts').map(({ tier }) => tier)).toEqual(['test', 'deep', 'test']);
    expect(tiers('a.deep.ts').map(({ tier }) => tier)).toEqual(['deep', 'deep', 'deep']);
  });
});

test('a promise counts as shown by a run once a test that names it has passed', () => {
  const row = (id: string) => ({ id, isPlanned: false, tier: 'test' as const });
  const rows = [
    ...['shown', 'shown.too', 'failed', 'skipped', 'nowhere'].map(row),
    { ...row('later'), isPlanned: true },
    { ...row('deep'), tier: 'deep' as const },
  ];
  const outcomes = [
    { fullName: 'a group [shown] > one', state: 'passed' as const },
    { fullName: 'two [shown.too]', state: 'skipped' as const },
    { fullName: 'three [shown] [shown.too]', state: 'passed' as const },
    { fullName: 'four [failed]', state: 'failed' as const },
    { fullName: 'five [skipped]', state: 'skipped' as const },
  ];
  expect(unshown(rows, 'test', outcomes)).toEqual([
    { id: 'failed', isSkipped: false },
    { id: 'skipped', isSkipped: true },
    { id: 'nowhere', isSkipped: false },
  ]);
});
