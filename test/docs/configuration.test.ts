import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configurationDocument, DOCUMENT, INTERFACES } from '../../scripts/document-configuration.ts';
import { optionsOf } from '../../scripts/documents/interface-options.ts';
import { holdfastProgram } from '../../src/cli/program.ts';
import { VARIABLE_GROUPS, type Variable } from '../../src/cli/variables.ts';
import { readDuration } from '../../src/schema/duration.ts';
import { OptionReader, type Options } from '../../src/schema/options.ts';
import { root, textOf } from './documents.ts';

const holdfast = await holdfastProgram();
const listed = new Map<string, Variable>(
  VARIABLE_GROUPS.flatMap(({ variables }) => Object.entries(variables)),
);

const LOOKED_UP =
  /\benv\.([A-Z][A-Z0-9_]+)\b|\bvariable\('([A-Z0-9_]+)'(?:, env)?\)|'((?:TEMPORAL|GOOGLE)_[A-Z0-9_]+|[A-Z_]+_API_KEY|AWS_BEARER_TOKEN_BEDROCK)'/g;

/** What the code looks up in an environment: as `env.NAME`, by a name in a list, or for an option of a command. */
function readByCode(): Set<string> {
  const code = globSync(['src/**/*.ts', 'worker/**/*.ts', 'activities/**/*.ts', 'workflows/**/*.ts'], {
    cwd: root,
  })
    .map((path) => textOf(path).replace(/\/\*\*.*?\*\/|^\s*\/\/[^\n]*/gms, ''))
    .join('\n');
  const inCode = [...code.matchAll(LOOKED_UP)].map(
    (match) => match.slice(1).find((name) => name !== undefined) ?? '',
  );
  const ofOptions = holdfast.commands.flatMap(({ options }) => options.flatMap(({ envVar }) => envVar ?? []));
  return new Set([...inCode, ...ofOptions]);
}

function sourceOf(name: string): string {
  const cwd = `${root}node_modules/${name}`;
  return globSync(['lib/*.js', 'dist/node/index.mjs'], { cwd })
    .map((path) => readFileSync(`${cwd}/${path}`, 'utf8'))
    .join('\n');
}

test('every variable that is read is listed, and every listed one is read [docs.configuration]', () => {
  const read = readByCode();
  expect(read.size).toBeGreaterThan(20);
  expect([...read].filter((name) => !listed.has(name))).toEqual([]);
  const unread = [...listed].filter(([name, { readBy }]) => readBy === undefined && !read.has(name));
  expect(unread.map(([name]) => name)).toEqual([]);
  const names = VARIABLE_GROUPS.flatMap(({ variables }) => Object.keys(variables));
  expect(names).toHaveLength(listed.size);
});

test('what other packages read is in them under these names [docs.configuration]', () => {
  for (const [reader, variables] of Map.groupBy(listed, ([, { readBy }]) => readBy)) {
    if (reader === undefined) continue;
    const source = sourceOf(reader);
    expect(variables.map(([name]) => name).filter((name) => !source.includes(name))).toEqual([]);
  }
});

test(`${DOCUMENT} is what the code says: else run npm run document [docs.configuration]`, async () => {
  expect(textOf(DOCUMENT)).toBe(await configurationDocument());
});

test('it has a line for each option of what code is given [docs.configuration]', () => {
  const page = textOf(DOCUMENT);
  const lineOf = (heading: string, option: string) =>
    page
      .split(`### ${heading}\n`)[1]
      ?.split('\n### ')[0]
      ?.split('\n')
      .find((line) => line.startsWith(`- \`${option}`));
  expect(lineOf('`createWorker`', 'taskQueue')).toBe('- `taskQueue?: string`. Default: `holdfast`.');
  expect(lineOf('`createWorker`', 'store')).toBe('- `store: Store`');
  expect(lineOf('`tool` and `new FunctionTool`', 'timeout')).toMatch(
    /^- `timeout\?: Duration`: Longest run of one attempt\. Default: 5 minutes; .*\.$/,
  );
  expect(lineOf('`openStore`', 'poolSize')).toMatch(/: Connections to the server.* Default: `10`\.$/);
  expect(page).not.toMatch(/: Refused/);
});

/** A `@default` that is a value; a time is one in milliseconds. */
function plainDefault(text: string): unknown {
  const [plain = ''] = /^(?:true|false|[\d_,]+(?: \w+)?|'[^']*')(?=$|[;,:] )/.exec(text) ?? [];
  if (plain.startsWith("'")) return plain.slice(1, -1);
  if (/^\d+ \w+$/.test(plain)) {
    const time = readDuration(plain);
    return 'ms' in time ? time.ms : undefined;
  }
  return plain === '' ? undefined : JSON.parse(plain.replaceAll(/[_,]/g, ''));
}

test('the default that an option is documented with is that of its table [docs.configuration]', async () => {
  let compared = 0;
  for (const [path, name] of Object.values(INTERFACES).flat()) {
    if (!textOf(path).includes('} satisfies OptionsFor<')) continue;
    const exported: object[] = Object.values(await import(root + path));
    const isTable = (each: object) => Object.values(each).every((field) => typeof field === 'function');
    const tables: Options = Object.assign({}, ...exported.filter(isTable));
    for (const { name: option, byDefault } of optionsOf(path, name)) {
      const documented = plainDefault(byDefault);
      if (documented === undefined) continue;
      const read = tables[option]?.(new OptionReader(name, {}), option);
      if (read === undefined) continue;
      expect.soft([path, option, read]).toEqual([path, option, documented]);
      compared += 1;
    }
  }
  expect(compared).toBeGreaterThan(40);
});
