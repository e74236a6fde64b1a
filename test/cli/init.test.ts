import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { initCommand } from '../../src/cli/init/init-command.ts';
import { ownVersion } from '../../src/cli/own-version.ts';
import { capturedOutput } from './captured-output.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'holdfast-init-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** As `npm install` would, from what is installed here. */
function install(project: string): void {
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '@types'), { recursive: true });
  symlinkSync(root, join(modules, 'holdfast'), 'junction');
  for (const name of ['zod', '@types/node', 'typescript'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
}

function run(project: string, args: readonly string[]) {
  const { NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, GEMINI_API_KEY: _key, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    env,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

test('a project whose test passes and whose types are right [cli.init]', { timeout: 60_000 }, () => {
  const project = join(work, 'My Shop!');
  const output = capturedOutput();
  initCommand(project, {}, output);
  expect(output.lines.at(-1)).toBe('  npm run dev');
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
  expect(manifest).toMatchObject({
    name: 'my-shop',
    type: 'module',
    dependencies: { holdfast: ownVersion() },
  });
  install(project);
  expect(manifest.scripts.test).toBe('node --test');
  const tested = run(project, ['--test']);
  expect(tested).toMatchObject({ status: 0, output: expect.stringMatching(/\bpass 2\b/) });
  expect(tested.output).not.toMatch(/[Ww]arning/);
  const types = run(project, ['node_modules/typescript/bin/tsc', '-p', '.']);
  expect(types).toEqual({ status: 0, output: '' });
  for (const name of ['dev', 'start']) {
    const [command, file] = /^node --env-file-if-exists=\.env (\S+)/.exec(manifest.scripts[name]) ?? [];
    expect(command).toContain('node --env-file-if-exists=.env');
    expect(readdirSync(join(project, file ?? '', '..'))).toContain('holdfast.js');
  }
});

test('files that are there are named, and left alone without --force [cli.init]', () => {
  const project = join(work, 'taken');
  mkdirSync(project);
  writeFileSync(join(project, 'agents.ts'), 'mine');
  writeFileSync(join(project, 'README.md'), 'mine');
  writeFileSync(join(project, 'other.txt'), 'mine');
  expect(() => initCommand(project, {}, capturedOutput())).toThrow(
    /taken has agents\.ts, README\.md already: .*--force/,
  );
  expect(readdirSync(project).sort()).toEqual(['README.md', 'agents.ts', 'other.txt']);
  expect(readFileSync(join(project, 'agents.ts'), 'utf8')).toBe('mine');
  const output = capturedOutput();
  initCommand(project, { force: true }, output);
  expect(output.lines).toContain(`overwritten  ${join(project, 'agents.ts')}`);
  expect(output.lines).toContain(`made  ${join(project, 'tsconfig.json')}`);
  expect(readFileSync(join(project, 'agents.ts'), 'utf8')).toContain('rootAgent');
  expect(readFileSync(join(project, 'other.txt'), 'utf8')).toBe('mine');
});

test('--json says what was made and what comes next [cli.init]', () => {
  const project = join(work, 'as-json');
  const output = capturedOutput();
  initCommand(project, { json: true }, output);
  expect(output.values()).toEqual([
    {
      folder: project,
      files: expect.arrayContaining(readdirSync(project)),
      next: [expect.stringMatching(/^cd /), 'npm install', 'npm test', 'npm run dev'],
    },
  ]);
});

test('a file in the folder’s place [cli.init]', () => {
  const file = join(work, 'file');
  writeFileSync(file, '');
  expect(() => initCommand(file, {}, capturedOutput())).toThrow(/file is a file; name a folder/);
});
