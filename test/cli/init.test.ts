import { spawnSync } from 'node:child_process';
import {
  existsSync,
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
import { initCommand, ownSource } from '../../src/cli/init/init-command.ts';
import { TEMPLATES, templateFiles } from '../../src/cli/init/template.ts';
import { ownVersion } from '../../src/own-files.ts';
import { isDeep } from '../setup/tier.ts';
import { capturedOutput } from './captured-output.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'holdfast-init-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** As `npm install` would, from what is installed here. */
function install(project: string): void {
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, '@types'), { recursive: true });
  symlinkSync(root, join(modules, 'holdfast'), 'junction');
  for (const name of ['zod', '@types/node', 'typescript', '@modelcontextprotocol', '@ai-sdk'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name), 'junction');
}

function run(project: string, args: readonly string[]) {
  const {
    NODE_OPTIONS: _options,
    NODE_TEST_CONTEXT: _context,
    GEMINI_API_KEY: _key,
    OPENAI_API_KEY: _other,
    ...env
  } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    env,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

if (isDeep) {
  test('a project whose test passes and whose types are right [cli.init]', () => {
    const project = join(work, 'My Shop!');
    const output = capturedOutput();
    initCommand(project, {}, output);
    expect(output.lines.at(-1)).toBe('  npm run dev');
    const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({
      name: 'my-shop',
      type: 'module',
      dependencies: { holdfast: `file:${root.replace(/\/$/, '')}` },
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
}

test.each([
  ['a tarball', 'file:../packs/holdfast-0.1.0.tgz', `file:${join(work, 'packs/holdfast-0.1.0.tgz')}`],
  [
    'git',
    'git+ssh://git@git.example.com/a/holdfast.git#b464fb6',
    'git+ssh://git@git.example.com/a/holdfast.git#b464fb6',
  ],
  [
    'git with a token',
    'git+https://me:t0ken@git.example.com/a.git#b4',
    'git+https://git.example.com/a.git#b4',
  ],
  ['an address', 'https://example.com/holdfast-0.1.0.tgz', 'https://example.com/holdfast-0.1.0.tgz'],
  ['a registry', 'https://registry.example.com/holdfast/-/holdfast-0.1.0.tgz', ownVersion()],
  ['a registry that npm names nowhere', undefined, ownVersion()],
])('the project requires what the command came from: %s [cli.init.source]', (_what, resolved, expected) => {
  const modules = join(work, 'user', 'node_modules');
  mkdirSync(join(modules, 'holdfast'), { recursive: true });
  const packages = { 'node_modules/holdfast': { version: '0.1.0', resolved } };
  writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }));
  expect(ownSource(join(modules, 'holdfast'))).toBe(expected);
  rmSync(join(modules, '.package-lock.json'));
  expect(ownSource(join(modules, 'holdfast'))).toBe(ownVersion());
});

if (isDeep) {
  test.each(['mcp', 'openapi', 'openai'] as const)('the template %s runs [cli.init.template]', (template) => {
    const project = join(work, `of-${template}`);
    initCommand(project, { template }, capturedOutput());
    install(project);
    const tested = run(project, ['--test']);
    expect(tested).toMatchObject({ status: 0, output: expect.stringMatching(/\bpass 2\b/) });
    const types = run(project, ['node_modules/typescript/bin/tsc', '-p', '.']);
    expect(types).toEqual({ status: 0, output: '' });
    // It ends by itself: a service of the project keeps no process up.
    const holdfast = join('node_modules', 'holdfast', 'bin', 'holdfast.js');
    const asked = run(project, [holdfast, 'run', 'agents.ts', '--stop-server', '--message', 'Where is A-2?']);
    expect(asked).toMatchObject({ status: 0, output: expect.stringContaining('Order A-2 is shipped.') });
  });

  test('its script tells of a refund that was rejected [cli.init]', () => {
    const project = join(work, 'gated');
    initCommand(project, {}, capturedOutput());
    install(project);
    const agents = join(project, 'agents.ts');
    writeFileSync(
      agents,
      readFileSync(agents, 'utf8').replace(
        'idempotent: false,',
        'idempotent: false, requireConfirmation: true,',
      ),
    );
    writeFileSync(
      join(project, 'agents.test.ts'),
      `import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createTestEnvironment } from 'holdfast/testing';
import { geminiScript, rootAgent } from './agents.ts';
const env = await createTestEnvironment({ agents: [rootAgent], script: geminiScript });
after(() => env.close());
test('rejected', async () => {
  const turn = await env.send('I want my money back for A-1');
  await env.reject(turn, { reason: 'too late' });
  const { text } = await env.turnOf(turn);
  assert.doesNotMatch(text, /is refunded/);
  assert.match(text, /A-1: refund failed: /);
});
`,
    );
    expect(run(project, ['--test'])).toMatchObject({ status: 0 });
  });
}

test('templates bring the packages that they need, at versions that are tested here [cli.init.template]', async () => {
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const template of TEMPLATES) {
    const { 'package.json': manifest = '', ...files } = templateFiles({
      project: 'made',
      holdfast: '1.0.0',
      template,
    });
    const { dependencies } = JSON.parse(manifest);
    const sources = Object.entries(files).filter(([name]) => name.endsWith('.ts'));
    for (const [, source] of sources) {
      for (const [, name = ''] of source.matchAll(/from '((?:@[^/']+\/)?[a-z][^/':]*)(?:\/[^']*)?'/g))
        expect(dependencies).toHaveProperty([name]);
    }
    for (const [name, range] of Object.entries<string>(dependencies)) {
      const tested: string = own.devDependencies[name] ?? own.dependencies[name] ?? '';
      if (name !== 'holdfast')
        expect(tested.replace(/^\^/, '').split('.')[0]).toBe(range.slice(1).split('.')[0]);
    }
  }
});

test('an unknown template is an error that lists the templates [cli.init.template]', () => {
  const project = join(work, 'unknown');
  const asked = run(work, [join(root, 'bin/holdfast.js'), 'init', '--template', 'langchain', project]);
  expect(asked).toMatchObject({ output: expect.stringMatching(/basic, mcp, openapi, openai/) });
  expect(asked.status).not.toBe(0);
  expect(existsSync(project)).toBe(false);
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
