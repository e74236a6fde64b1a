import { globSync, readFileSync } from 'node:fs';
import { isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { SQL_FILES } from '../src/store/schema/sql-files.ts';
import { CHECKS_AS_CODE } from './build-bundle.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Code in the place of modules: contracts need zod, which the sandbox of users' workflows hasn't, and SQL would be a file each. */
const GIVEN_CODE: Record<string, string> = {
  'src/contract/workflow-checks.ts': CHECKS_AS_CODE,
  'src/store/schema/sql-files.ts': `export const SQL_FILES = ${JSON.stringify(SQL_FILES)};`,
};

/** Names of the modules that others, or Node, load by their paths: `exports` of package.json, the command, threads and processes. */
function entries(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const exported = Object.values<{ default?: string }>(exports).flatMap((entry) => entry.default ?? []);
  const named = globSync('{src,activities,worker}/**/*.ts', { cwd: root }).flatMap((path) => [
    ...readFileSync(join(root, path), 'utf8').matchAll(/\bmoduleFile\(\s*'([^']+)'/g),
  ]);
  return [
    ...new Set([
      'src/cli/main',
      ...exported.map((path) => path.replace(/^\.\/dist\/|\.js$/g, '')),
      ...named.map(([, name = '']) => name),
    ]),
  ];
}

/**
 * Writes the code of `dist/`: a file for each entry, and `chunks/` with what they share. An entry loads what it imports and no more, a
 * dynamic import is loaded when it is reached, and a class is the same one for all entries.
 */
export async function buildCode(): Promise<void> {
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries().map((name) => [name, join(root, `${name}.ts`)])),
    platform: 'node',
    // Packages stay where npm puts them. Helpers of the compiler come along.
    external: (id) => !isAbsolute(id) && !/^[.\0]|^@oxc-project\/runtime\//.test(id),
    // Commands share what others load late.
    checks: { ineffectiveDynamicImport: false },
    plugins: [
      {
        name: 'given code',
        load: (id) => GIVEN_CODE[relative(root, id).replaceAll('\\', '/')],
      },
    ],
  });
  await bundle.write({
    dir: join(root, 'dist'),
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // Another build's chunk is refused by the names that it lacks.
    minifyInternalExports: false,
  });
}
