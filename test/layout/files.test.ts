import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { STORE_SCHEMA } from '../../src/store/schema/store-schema.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ROOMS = ['src', 'workflows', 'activities', 'worker'];
const LONGEST = 400;

function pathsOf(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      join(folder, path).replaceAll('\\', '/'),
    ),
  );
}

/** They list what is public, and grow with it. */
const ENTRY_POINTS = [
  'src/client/index.ts',
  'src/gateway/index.ts',
  'src/slack/index.ts',
  'src/index.ts',
  'src/testing/index.ts',
  'src/workflow/index.ts',
  'worker/index.ts',
];

const sources = pathsOf(...ROOMS).filter((path) => path.endsWith('.ts'));

test('there are sources in every room [layout.files]', () => {
  for (const room of ROOMS) expect(sources.some((path) => path.startsWith(`${room}/`))).toBe(true);
});

test(`no source has more than ${LONGEST} lines [layout.files]`, () => {
  const long = sources
    .map((path) => ({ path, lines: readFileSync(join(root, path), 'utf8').split('\n').length - 1 }))
    .filter(({ path, lines }) => lines > LONGEST && !ENTRY_POINTS.includes(path));
  expect(long).toEqual([]);
});

test('no file or folder is a drawer for everything, and names are in kebab-case [layout.files]', () => {
  const paths = pathsOf(...ROOMS, 'test', 'bench', 'examples', 'scripts');
  const drawers = paths.filter((path) => /^(utils?|helpers?|common|misc|shared)(\.|$)/.test(basename(path)));
  expect(drawers).toEqual([]);
  const named = paths.filter((path) => path.endsWith('.ts'));
  expect(named.filter((path) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.ts$/.test(basename(path)))).toEqual([]);
});

test('only the public entry points and the bundle re-export [layout.files]', () => {
  const barrels = sources.filter((path) => {
    const statements = readFileSync(join(root, path), 'utf8')
      .replace(/\/\*.*?\*\/|\/\/.*$/gms, '')
      .trim();
    return (
      statements !== '' && /^((export (type )?(\{[^}]*\}|\*) from|import) '\.[^']+';\s*)+$/.test(statements)
    );
  });
  expect(barrels.sort()).toEqual([...ENTRY_POINTS, 'workflows/index.ts'].sort());
});

test('each SQL function is defined once, and the schema has it [store.schema]', () => {
  const sql = pathsOf('src/store').filter((path) => path.endsWith('.sql'));
  const defined = sql.flatMap((path) =>
    [...readFileSync(join(root, path), 'utf8').matchAll(/^\s*create\s.*\bfunction\s+holdfast\.(\w+)/gim)].map(
      ([, name = '']) => name,
    ),
  );
  expect(defined.length).toBeGreaterThan(20);
  expect(defined.toSorted()).toEqual([...STORE_SCHEMA.functions.keys()].toSorted());
});

test('nothing is left undone in the sources [layout.files]', () => {
  const undone = sources.filter((path) =>
    /\b(TODO|FIXME|XXX|HACK)\b/.test(readFileSync(join(root, path), 'utf8')),
  );
  expect(undone).toEqual([]);
});

test('tests that run at the same time wait by themselves: expect.poll of vitest’s knows only one of them', () => {
  const polling = (text: string) => {
    const concurrent = /\.concurrent\b/.test(text) && /expect\.poll\(/.test(text);
    return concurrent && /import \{[^}]*\bexpect\b[^}]*\} from 'vitest'/.test(text);
  };
  const concurrent = 'test.concurrent("", () => expect.poll(f));';
  expect(polling(`import { expect, test } from 'vitest';${concurrent}`)).toBe(true);
  expect(polling(`import { test } from 'vitest';${concurrent}`)).toBe(false);
  const tests = pathsOf('test').filter(
    (path) => path.endsWith('.test.ts') && !path.startsWith('test/layout/'),
  );
  expect(tests.filter((path) => polling(readFileSync(join(root, path), 'utf8')))).toEqual([]);
});

test('what tests wait for may take two minutes: without a time of its own vi.waitFor gives up after a second', () => {
  const patient = 120_000;
  const waiting = (text: string) => {
    const times = (pattern: RegExp, none: number) =>
      [...text.matchAll(pattern)].map(([waited]) => {
        const [, time] = /\btimeout: ([\d_]+)/.exec(waited) ?? [];
        return time === undefined ? none : Number(time.replaceAll('_', ''));
      });
    const own = times(/\bvi\.wait(?:For|Until)\([^;]*;/g, /\btimeout: [A-Z]/.test(text) ? patient : 0);
    const polls = times(/\bexpect\s*\.poll\([^;]*?\)\s*\.(?:not\.)?(?:to|resolves|rejects)[^;]*;/g, patient);
    return [...own, ...polls].some((time) => time < patient);
  };
  for (const hasty of [
    'await vi.waitFor(() => expect(1).toBe(1));',
    'await vi.waitUntil(holds, { timeout: 30_000 });',
    'await expect\n.poll(holds, { timeout: 60_000, interval: 20 }).toBe(1);',
  ])
    expect(waiting(hasty), hasty).toBe(true);
  expect(waiting('await vi.waitFor(holds, { timeout: 120_000 });')).toBe(false);
  expect(waiting('await expect.poll(holds, { interval: 20 }).toBe(1);')).toBe(false);
  const tests = pathsOf('test').filter((path) => path.endsWith('.ts') && !path.startsWith('test/layout/'));
  expect(tests.filter((path) => waiting(readFileSync(join(root, path), 'utf8')))).toEqual([]);
});

test('retries of each connection to Temporal end with it', () => {
  const bare = (text: string) =>
    [...text.matchAll(/\bConnection\.(?:connect|lazy)\([^;]*;/g)].filter(
      ([made]) => !made.includes('retriesUntilClosed()'),
    );
  expect(bare('Connection.lazy({ address });')).toHaveLength(1);
  expect(bare('Connection.lazy({ address, interceptors: retriesUntilClosed() });')).toEqual([]);
  const code = (path: string) => readFileSync(join(root, path), 'utf8').replace(/\/\*.*?\*\//gs, '');
  expect(sources.filter((path) => bare(code(path)).length > 0)).toEqual([]);
});
