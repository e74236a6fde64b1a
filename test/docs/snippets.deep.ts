import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { documents, root, snippetsOf, textOf } from './documents.ts';

const pages = documents().filter((path) => snippetsOf(textOf(path)).length > 0);
let folder: string;

beforeAll(() => {
  const cache = `${root}node_modules/.cache`;
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'snippets-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the TypeScript snippets of the documents compile', () => {
  expect(pages).toContain('docs/tools.md');
  for (const path of pages) writeSnippets(path);
  const config = {
    extends: `${root}tsconfig.json`,
    // A snippet shows a definition; whoever copies it uses it.
    compilerOptions: { noUnusedLocals: false },
    include: ['**/*.ts'],
    exclude: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [`${root}node_modules/typescript/bin/tsc`, '-p', folder, '--pretty', 'false'],
    { cwd: folder, encoding: 'utf8' },
  );
  expect(stdout + stderr).toBe('');
});

/** One folder for each document, so that its snippets can import each other; line numbers are the document's. */
function writeSnippets(path: string): void {
  const place = join(folder, path);
  mkdirSync(place, { recursive: true });
  const names = new Set<string>();
  for (const { name = undefined, line, code } of snippetsOf(textOf(path))) {
    const file = name ?? `line-${line}.ts`;
    if (names.has(file)) throw new Error(`${path} has two snippets named ${file}`);
    names.add(file);
    writeFileSync(join(place, file), '\n'.repeat(line - 1) + code);
  }
}
