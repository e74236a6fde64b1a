import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proseOf, snippetsOf } from '../docs/documents.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Of Markdown, and of its tags. */
const LINK = /\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g;

interface Finished {
  code: number;
  stdout: string;
  stderr: string;
}

/** Nothing of this folder's `node_modules/.bin`, nor of a key for Gemini, reaches a consumer. */
function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Finished> {
  const {
    GEMINI_API_KEY: _gemini,
    GOOGLE_API_KEY: _google,
    NODE_OPTIONS: _options,
    ...inherited
  } = process.env;
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      {
        cwd,
        env: { ...inherited, NO_COLOR: '1', ...env },
        maxBuffer: 64 * 1024 * 1024,
        shell: process.platform === 'win32',
      },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

async function npm(args: readonly string[], cwd: string): Promise<string> {
  // `npm test --silent` would have it say nothing of what fails.
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { code, stdout, stderr } = await run('npm', [...args, ...options], cwd);
  if (code !== 0) throw new Error(`npm ${args[0]} failed with ${code}:\n${stdout}\n${stderr}`);
  return stdout;
}

const AGENTS = `import { LlmAgent, tool } from 'holdfast';
import { call, type GeminiScript, text } from 'holdfast/testing';

const double = tool({
  name: 'double',
  description: 'doubles a number',
  parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  execute: ({ n }) => ({ doubled: Number(n) * 2 }),
});

export const rootAgent = new LlmAgent({ name: 'doubler', model: 'gemini-2.5-flash', tools: [double] });
export const geminiScript: GeminiScript = [call('double', { n: 21 }), text('It is 42.')];
`;

const CONSUMER = `import { FunctionTool, LlmAgent, tool, type ToolContext } from 'holdfast';
import { HoldfastClient, MessageRejected, type TurnResult } from 'holdfast/client';
import { type GeminiStandIn, startGeminiStandIn, text } from 'holdfast/testing';
import { createWorker, type WorkerOptions } from 'holdfast/worker';
import { z } from 'zod';

const look = tool({
  name: 'look',
  description: 'looks',
  parameters: z.object({ city: z.string(), days: z.number().default(1) }),
  execute: ({ city, days }, context) => {
    const callKey: string | undefined = context?.callKey;
    return \`\${city.toUpperCase()} \${days.toFixed(0)} \${callKey}\`;
  },
});
new FunctionTool({
  name: 'wrong',
  description: 'takes a number',
  parameters: z.object({ n: z.number() }),
  // @ts-expect-error: n is a number.
  execute: ({ n }) => n.toUpperCase(),
});
// @ts-expect-error: an agent has a name.
new LlmAgent({ model: 'gemini-2.5-flash', tools: [look] });

export async function main(options: WorkerOptions, client: HoldfastClient, context: ToolContext): Promise<string> {
  const worker = await createWorker(options);
  const standIn: GeminiStandIn = await startGeminiStandIn({ script: [text('hi')] });
  try {
    const turn = await client.sendMessage({ app: 'a', userId: context.userId, sessionId: 's', message: 'hi' });
    const result: TurnResult = await turn.result();
    // @ts-expect-error: there is no such status.
    if (result.status === 'done') return '';
    return result.invocationId;
  } catch (error) {
    if (error instanceof MessageRejected) return error.code;
    throw error;
  } finally {
    worker.shutdown();
    await standIn.close();
  }
}
`;

const WORKFLOWS = `import { type AgentAnswer, AgentTurnFailed, confirm, job, runAgent } from 'holdfast/workflow';

export async function audit(userId: string): Promise<string> {
  const user = { app: 'desk', userId };
  try {
    const { output }: AgentAnswer<{ open: number }> = await runAgent({ ...user, sessionId: 's', message: 'How many?' });
    const { confirmed } = await confirm({ ...user, hint: \`Remind \${output?.open}?\`, approval: { quorum: 2 } });
    const { result } = await job<{ sent: number }>({ ...user, tool: 'remind' });
    // @ts-expect-error: there is no such policy.
    await runAgent({ ...user, sessionId: 's', message: 'hi', policy: 'wait' });
    return confirmed ? String(result?.sent) : 'nobody';
  } catch (error) {
    if (error instanceof AgentTurnFailed) return String(error.turn.error?.code);
    throw error;
  }
}
`;

/** Prints how large bundles of workflows are, their source maps left out. */
const BUNDLE = `import { bundleWorkflowCode } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error: console.error };
const size = async (name) => {
  const workflowsPath = fileURLToPath(new URL(name, import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: silent });
  return code.split('//# sourceMappingURL')[0].length;
};
console.log(JSON.stringify({ own: await size('./workflows.ts'), bare: await size('./bare.ts') }));
`;

/** Prints the packages that importing an entry point loads, by import and by require alike. */
const LOADED = `import { registerHooks } from 'node:module';
const packages = new Set();
registerHooks({
  load(url, context, nextLoad) {
    const path = url.split('/node_modules/').at(-1).split('/');
    if (url.includes('/node_modules/')) packages.add(path.slice(0, path[0].startsWith('@') ? 2 : 1).join('/'));
    return nextLoad(url, context);
  },
});
await import(process.argv[2]);
console.log(JSON.stringify([...packages].sort()));
`;

describe('the packed tarball, installed in an empty folder', { timeout: 300_000 }, () => {
  let work: string;
  let packed: string[];

  beforeAll(async () => {
    work = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-package-')));
    const [tarball] = JSON.parse(
      await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', work], root),
    );
    packed = tarball.files.map(({ path }: { path: string }) => path);
    writeFileSync(
      join(work, 'package.json'),
      JSON.stringify({ name: 'consumer', private: true, type: 'module' }),
    );
    await npm(['install', '--prefer-offline', join(work, tarball.filename)], work);
    writeFileSync(join(work, 'agents.ts'), AGENTS);
    writeFileSync(join(work, 'consumer.ts'), CONSUMER);
    writeFileSync(join(work, 'loaded.mjs'), LOADED);
    writeFileSync(join(work, 'workflows.ts'), WORKFLOWS);
  }, 300_000);
  afterAll(async () => {
    await run(process.execPath, [join(root, 'bin/holdfast.js'), 'stop'], work);
    rmSync(work, { recursive: true, force: true });
  });

  test('holds what runs and what is read, and nothing else [package.contents]', () => {
    const needed = [
      'package.json',
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'ARCHITECTURE.md',
      'SECURITY.md',
      'bin/holdfast.js',
      'docs/errors.md',
      'dist/workflow-bundle.js',
      'dist/src/index.js',
      'dist/src/index.d.ts',
      'dist/src/client/index.js',
      'dist/src/gateway/index.js',
      'dist/src/slack/index.js',
      'dist/src/testing/index.js',
      'dist/src/workflow/index.js',
      'dist/worker/index.js',
      'dist/src/cli/main.js',
    ];
    expect(needed.filter((path) => !packed.includes(path))).toEqual([]);
    const known =
      /^(bin|dist|docs|examples|src|workflows|activities|worker)\/|^(package\.json|LICENSE|[A-Z]+\.md)$/;
    expect(packed.filter((path) => !known.test(path))).toEqual([]);
    expect(
      packed.filter((path) =>
        /(^|\/)(test|\.env|\.holdfast|node_modules)(\/|$)|^examples\/refunds\/keys\/|\.test\./.test(path),
      ),
    ).toEqual([]);
  });

  test('its documents link to what it holds, or to an address [package.links]', () => {
    const pages = packed.filter((path) => path.endsWith('.md'));
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'SECURITY.md', 'examples/support/README.md']));
    const held = (path: string) => packed.some((file) => file === path || file.startsWith(`${path}/`));
    const broken = pages.flatMap((page) =>
      [...proseOf(readFileSync(join(work, 'node_modules/holdfast', page), 'utf8')).matchAll(LINK)]
        .map(([, inText, inTag]) => (inText ?? inTag ?? '').split('#')[0] ?? '')
        .filter((target) => target !== '' && !/^[a-z]+:/.test(target))
        .filter((target) => !held(posix.normalize(posix.join(posix.dirname(page), decodeURI(target)))))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('a project of holdfast init installs this very package, and its tests pass [cli.init.source]', async () => {
    const holdfast = join(work, 'node_modules/holdfast/bin/holdfast.js');
    const made = await run(process.execPath, [holdfast, 'init', 'made'], work);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const project = join(work, 'made');
    const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    expect(dependencies.holdfast).toMatch(/^file:.*holdfast-.*\.tgz$/);
    await npm(['install', '--prefer-offline'], project);
    const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
    const tested = await run('npm', ['test'], project, { PATH: path });
    expect(tested).toMatchObject({ code: 0, stdout: expect.stringMatching(/\bpass 2\b/) });
    expect(
      await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', '.'], project),
    ).toMatchObject({
      code: 0,
      stdout: '',
    });
  });

  test('the README’s agent is what its words say, and its test passes [package.run]', async () => {
    const snippets = snippetsOf(readFileSync(join(root, 'README.md'), 'utf8'));
    const [agent, itsTest] = ['rootAgent = ', 'createTestEnvironment('].map(
      (word) => snippets.find(({ code }) => code.includes(word))?.code ?? '',
    );
    writeFileSync(join(work, 'readme.ts'), agent ?? '');
    writeFileSync(join(work, 'agents.test.ts'), itsTest?.replace('./agents.ts', './readme.ts') ?? '');
    const words = 'I want my 12 euros for order A-1 back';
    const holdfast = 'node_modules/holdfast/bin/holdfast.js';
    const args = [holdfast, 'run', 'readme.ts', '--message', words, '--json', '--stop-server'];
    const { code, stdout, stderr } = await run(process.execPath, args, work);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain('"args":{"orderId":"A-1","cents":1200}');
    expect(await run(process.execPath, ['--test', 'agents.test.ts'], work)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\bpass 1\b/),
    });
  });

  test('says where its types are also to compilers that read no exports [package.types]', () => {
    const {
      exports,
      types,
      main,
      typesVersions: { '*': older },
    } = JSON.parse(readFileSync(join(work, 'node_modules/holdfast/package.json'), 'utf8'));
    const { '.': entry, './package.json': _, ...others } = exports;
    expect({ types, default: main }).toEqual(entry);
    expect(older).toEqual(
      Object.fromEntries(
        Object.entries<{ types: string }>(others).map(([path, other]) => [path.slice(2), [other.types]]),
      ),
    );
  });

  test('runs a turn of an agents file that imports it [package.run]', async () => {
    const { code, stdout, stderr } = await run(
      process.execPath,
      [
        'node_modules/holdfast/bin/holdfast.js',
        'run',
        'agents.ts',
        '--message',
        'hi',
        '--json',
        '--stop-server',
      ],
      work,
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ author, content }) => [author, content.role])).toEqual([
      ['user', 'user'],
      ['doubler', 'model'],
      ['doubler', 'user'],
      ['doubler', 'model'],
    ]);
    expect(events[2].content.parts[0].functionResponse.response).toEqual({ doubled: 42 });
    expect(events[3].content.parts).toEqual([{ text: 'It is 42.' }]);
  });

  test('has the command holdfast, which says its version [package.run]', async () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const command = join('node_modules', '.bin', process.platform === 'win32' ? 'holdfast.cmd' : 'holdfast');
    expect(await run(join(work, command), ['--version'], work)).toMatchObject({
      code: 0,
      stdout: `${version}\n`,
    });
  });

  const loaded = async (entry: string): Promise<string[]> => {
    const { code, stdout, stderr } = await run(process.execPath, ['loaded.mjs', entry], work);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  const OF_WORKERS = [
    '@temporalio/worker',
    '@temporalio/core-bridge',
    '@temporalio/activity',
    '@temporalio/workflow',
  ];

  test.each(['holdfast', 'holdfast/client', 'holdfast/gateway', 'holdfast/testing'])(
    '%s loads without the Temporal worker [package.light]',
    async (entry) => {
      const packages = await loaded(entry);
      expect(packages).toContain('holdfast');
      expect(packages.filter((name) => OF_WORKERS.includes(name))).toEqual([]);
    },
  );

  test('holdfast/workflow loads what the sandbox of workflows has, and no more [package.light]', async () => {
    const packages = await loaded('holdfast/workflow');
    const own = [
      '@noble/hashes',
      '@temporalio/common',
      '@temporalio/workflow',
      'holdfast',
      'long',
      'ms',
      'nexus-rpc',
    ];
    expect(packages).toEqual(own);
  });

  test('a workflow of a user’s bundles with holdfast/workflow, and little of it [flow.workflow.bundle]', async () => {
    writeFileSync(join(work, 'bare.ts'), 'export async function bare(): Promise<void> {}\n');
    writeFileSync(join(work, 'bundle.mjs'), BUNDLE);
    const { code, stdout, stderr } = await run(process.execPath, ['bundle.mjs'], work);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { own, bare } = JSON.parse(stdout);
    expect(own - bare).toBeGreaterThan(0);
    expect(own - bare).toBeLessThan(256 * 1024);
  });

  test('holdfast/worker does load it: the check can fail [package.light]', async () => {
    expect(await loaded('holdfast/worker')).toEqual(
      expect.arrayContaining(['holdfast', '@temporalio/worker']),
    );
  });

  test('has types for a consumer, arguments of tools inferred [package.types]', async () => {
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const types = ['--typeRoots', join(root, 'node_modules', '@types')];
    const compile = (...more: string[]) =>
      run(
        process.execPath,
        [compiler, ...options, ...types, ...more, 'consumer.ts', 'agents.ts', 'workflows.ts'],
        work,
      );
    expect(await compile('--skipLibCheck')).toMatchObject({ code: 0, stdout: '' });
    const { stdout } = await compile('--exactOptionalPropertyTypes');
    expect(stdout.split('\n').filter((line) => /^node_modules\/holdfast\/|^\w+\.ts/.test(line))).toEqual([]);
  });
});

describe('a clone', { timeout: 900_000 }, () => {
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-clone-')));
  const clone = join(work, 'clone');
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);

  beforeAll(async () => {
    const listed = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], root);
    for (const file of listed.stdout
      .split('\0')
      .filter((name) => name !== '' && existsSync(join(root, name))))
      cpSync(join(root, file), join(clone, file), { recursive: true });
    const git = (...args: string[]) =>
      run('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], clone);
    await git('init', '--quiet');
    await git('add', '--all');
    expect(await git('commit', '--quiet', '--message', 'all')).toMatchObject({ code: 0 });
  });
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  test('that can’t be built is not packed, and a sentence says why [package.built]', async () => {
    const packed = await run('npm', ['pack', '--pack-destination', work], clone, { PATH: path });
    expect(packed.code).not.toBe(0);
    expect(packed.stderr + packed.stdout).toContain(
      "holdfast can't be built: its development packages are missing; run `npm run setup` in its folder first",
    );
    expect(readdirSync(work).filter((name) => name.endsWith('.tgz'))).toEqual([]);
  });

  test('is built where it is packed [package.built]', async () => {
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
    const packed = await run('npm', ['pack', '--json', '--pack-destination', work], clone, { PATH: path });
    expect(packed).toMatchObject({ code: 0 });
    const [{ files }] = JSON.parse(packed.stdout);
    expect(files.map(({ path: file }: { path: string }) => file)).toEqual(
      expect.arrayContaining(['dist/src/cli/main.js', 'dist/workflow-bundle.js', 'dist/src/index.d.ts']),
    );
    rmSync(join(clone, 'node_modules'));
    rmSync(join(clone, 'dist'), { recursive: true });
  });

  test('is built where it is installed by git, and its command runs [package.built]', async () => {
    const consumer = join(work, 'consumer');
    mkdirSync(consumer);
    writeFileSync(join(consumer, 'package.json'), '{"name":"consumer","private":true,"type":"module"}');
    await npm(['install', '--prefer-offline', `git+file://${clone}`], consumer);
    const holdfast = join(consumer, 'node_modules/holdfast/bin/holdfast.js');
    expect(await run(process.execPath, [holdfast, 'init', 'made'], consumer)).toMatchObject({ code: 0 });
    const { dependencies } = JSON.parse(readFileSync(join(consumer, 'made/package.json'), 'utf8'));
    expect(dependencies.holdfast).toMatch(/^git\+file:\/\/.*\/clone#[0-9a-f]{40}$/);
  });
});
