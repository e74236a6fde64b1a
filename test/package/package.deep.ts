import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TEMPLATES } from '../../src/cli/init/template.ts';
import { emptyProject, npm, pack, path, printed, root, run } from './consumer.ts';
import { installedSize } from './installed-size.ts';

/**
 * The limits of a user's `node_modules`; docs/deploy.md says what they are made of. The versions of most are chosen by Temporal's ranges, so
 * there is a little room for what those bring.
 */
const MOST_PACKAGES = 215;
const MOST_MEGABYTES = 365;

/** Packages that some template requires, and no other one. */
const OF_TEMPLATES = ['@modelcontextprotocol/client', '@modelcontextprotocol/server', '@ai-sdk/openai'];

/** Prints how large bundles of workflows are, their source maps left out. */
const BUNDLE = `import { bundleWorkflowCode } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error: console.error };
const size = async (name) => {
  const workflowsPath = fileURLToPath(new URL(name, import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  return code.split('//# sourceMappingURL')[0].length;
};
console.log(JSON.stringify({ own: await size('./own.js'), bare: await size('./bare.js') }));
`;

const OWN_WORKFLOW = `import { runAgent } from 'holdfast/workflow';
export const ask = (userId) => runAgent({ app: 'desk', userId, sessionId: 's', message: 'How many?' });
`;

const work = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-packages-')));
afterAll(() => rmSync(work, { recursive: true, force: true }));

/** Installing what a clone needs is what takes minutes. */
const TIME = 15 * 60_000;

describe('the packed tarball', { timeout: TIME }, () => {
  const consumer = join(work, 'of-tarball');

  beforeAll(async () => {
    const { tarball } = await pack(work);
    emptyProject(consumer);
    await npm(['install', '--prefer-offline', tarball, 'zod'], consumer);
  });

  test('brings no more packages and megabytes than it has to [package.size]', () => {
    const { packages, megabytes } = installedSize(consumer);
    expect(packages).toBeLessThanOrEqual(MOST_PACKAGES);
    expect(megabytes).toBeLessThanOrEqual(MOST_MEGABYTES);
    // Of the SDK's native parts alone: what isn't counted would be no bar.
    expect(megabytes).toBeGreaterThan(100);
  });

  test('has the command holdfast, which says its version [package.run]', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const command = join('node_modules', '.bin', process.platform === 'win32' ? 'holdfast.cmd' : 'holdfast');
    expect(await run(join(consumer, command), ['--version'], consumer)).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    });
  });

  /** The `node_modules` of the project before: npm adds what the next one lacks, and takes out what it doesn't name. */
  let installed: string | undefined;

  test.each(TEMPLATES)(
    'is what a project of holdfast init --template %s installs, whose tests and types pass [cli.init.source] [cli.init.template]',
    async (template) => {
      const holdfast = 'node_modules/holdfast/bin/holdfast.js';
      const words = [holdfast, 'init', `of-${template}`, '--template', template];
      expect(await run(process.execPath, words, consumer)).toMatchObject({ code: 0, stderr: '' });
      const project = join(consumer, `of-${template}`);
      const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
      expect(dependencies.holdfast).toMatch(/^file:.*holdfast-.*\.tgz$/);
      if (installed !== undefined) renameSync(installed, join(project, 'node_modules'));
      installed = join(project, 'node_modules');
      await npm(['install', '--prefer-offline'], project);
      // Nothing of another template is there to be found by mistake.
      const there = OF_TEMPLATES.filter((name) => existsSync(join(project, 'node_modules', name)));
      expect(there).toEqual(OF_TEMPLATES.filter((name) => name in dependencies));
      const tested = await run('npm', ['test'], project, { PATH: path });
      expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/\bpass 2\b/) });
      const compiled = await run('npx', ['tsc'], project, { PATH: path });
      expect(compiled).toMatchObject({ code: 0, stdout: '' });
    },
  );

  test('has little that a user’s bundle of workflows takes in [flow.workflow.bundle]', async () => {
    writeFileSync(join(consumer, 'own.js'), OWN_WORKFLOW);
    writeFileSync(join(consumer, 'bare.js'), 'export const bare = async () => {};\n');
    writeFileSync(join(consumer, 'bundle.mjs'), BUNDLE);
    const { own, bare } = (await printed('bundle.mjs', [], consumer)) as { own: number; bare: number };
    expect(own - bare).toBeGreaterThan(0);
    expect(own - bare).toBeLessThan(256 * 1024);
  });
});

describe('a clone', { timeout: TIME }, () => {
  const clone = join(work, 'clone');
  const packages = join(clone, 'node_modules');

  beforeAll(async () => {
    const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root);
    const files = listed.stdout.split('\0').filter((name) => name !== '' && existsSync(join(root, name)));
    for (const file of files) cpSync(join(root, file), join(clone, file), { recursive: true });
    const git = (...args: string[]) =>
      run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], clone);
    await git('init', '--quiet');
    await git('add', '--all');
    expect(await git('commit', '--quiet', '--message', 'all')).toMatchObject({ code: 0 });
  });
  afterEach(() => {
    // What the next test is about is not there yet.
    rmSync(packages, { force: true });
    rmSync(join(clone, 'dist'), { recursive: true, force: true });
  });

  test('that can’t be built is not packed, and a sentence says why [package.built]', async () => {
    const to = join(work, 'unbuilt');
    mkdirSync(to);
    const packed = await run('npm', ['pack', '--pack-destination', to], clone, { PATH: path });
    expect(packed.code).not.toBe(0);
    expect(packed.stderr + packed.stdout).toContain(
      "holdfast can't be built: its development packages are missing; run `npm run setup` in its folder first",
    );
    expect(readdirSync(to)).toEqual([]);
  });

  test.each([['pack'], ['publish']])('is built by npm %s [package.built]', async (command) => {
    symlinkSync(join(root, 'node_modules'), packages, 'junction');
    const packed = await run('npm', [command, '--json', '--dry-run'], clone, { PATH: path });
    expect(packed).toMatchObject({ code: 0 });
    // A list, or by the package's name.
    const [{ files }] = Object.values(JSON.parse(packed.stdout)) as [{ files: { path: string }[] }];
    expect(files.map((file) => file.path)).toEqual(
      expect.arrayContaining(['dist/src/cli/main.js', 'dist/workflow-bundle.js', 'dist/src/index.d.ts']),
    );
  });

  test('is built where it is installed by git, and its command runs [package.built]', async () => {
    const consumer = join(work, 'of-git');
    emptyProject(consumer);
    await npm(['install', '--prefer-offline', `git+file://${clone}`], consumer);
    const holdfast = 'node_modules/holdfast/bin/holdfast.js';
    expect(await run(process.execPath, [holdfast, 'init', 'made'], consumer)).toMatchObject({ code: 0 });
    const { dependencies } = JSON.parse(readFileSync(join(consumer, 'made/package.json'), 'utf8'));
    expect(dependencies.holdfast).toMatch(/^git\+file:\/\/.*\/clone#[0-9a-f]{40}$/);
  });
});
