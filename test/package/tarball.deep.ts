import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { proseOf, snippetsOf } from '../docs/documents.ts';
import { linkedProject, pack, printed, root, run } from './consumer.ts';

/** Of Markdown, and of its tags. */
const LINK = /\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g;

const README = snippetsOf(readFileSync(join(root, 'README.md'), 'utf8'));

const CONSUMER = `import { FunctionTool, LlmAgent, tool, type ToolContext } from 'holdfast';
import { HoldfastClient, MessageRejected, type TurnResult } from 'holdfast/client';
import { type MockGemini, startMockGemini, text } from 'holdfast/testing';
import { createWorker, type WorkerOptions } from 'holdfast/worker';
import { MCPToolset } from 'holdfast/tools/mcp';
import { z } from 'zod';

new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: 'https://example.com' }).name.trim();
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
  const mock: MockGemini = await startMockGemini({ script: [text('hi')] });
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
    await mock.close();
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

/** Asks for a worker that traces. */
const TRACED = `import { LlmAgent } from 'holdfast';
import { createWorker } from 'holdfast/worker';
const agents = [new LlmAgent({ name: 'a', model: 'gemini-2.5-flash' })];
const processor = { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {} };
const refused = createWorker({ agents, tracing: { spanProcessors: [processor] } });
console.log(JSON.stringify(await refused.then(() => 'made', ({ message }) => message)));
`;

/** Modules of the package, and all but Node's own, that a program loads for a worker: 119 and 1,384 were measured. */
const MOST_OWN_MODULES = 140;
const MOST_MODULES = 1_480;

/** The modules that others start, or load by their paths. */
const NAMED = globSync('{src,activities,worker}/**/*.ts', { cwd: root }).flatMap((path) =>
  [...readFileSync(join(root, path), 'utf8').matchAll(/\bmoduleFile\(\s*'([^']+)'/g)].map(
    ([, name]) => `dist/${name}.js`,
  ),
);

/** Prints the names that several entry points export, and those of them that aren't one and the same. */
const SHARED = `const exported = new Map();
for (const entry of process.argv.slice(2)) {
  for (const [name, value] of Object.entries(await import(entry))) {
    exported.set(name, [...(exported.get(name) ?? []), value]);
  }
}
const shared = [...exported].filter(([, values]) => values.length > 1);
const isError = exported.get('BundleMismatch')[0].prototype instanceof exported.get('HoldfastError')[0];
const several = shared.filter(([, values]) => new Set(values).size > 1).map(([name]) => name);
console.log(JSON.stringify({ shared: shared.map(([name]) => name), several, isError }));
`;

/** Prints the packages that importing entry points loads, by import and by require alike, and how many modules. */
const LOADED = `import { registerHooks } from 'node:module';
const packages = new Set();
const modules = { all: 0, own: 0 };
registerHooks({
  load(url, context, nextLoad) {
    if (url.startsWith('file:')) modules.all += 1;
    if (url.includes('/node_modules/holdfast/')) modules.own += 1;
    const path = url.split('/node_modules/').at(-1).split('/');
    if (url.includes('/node_modules/')) packages.add(path.slice(0, path[0].startsWith('@') ? 2 : 1).join('/'));
    return nextLoad(url, context);
  },
});
for (const entry of process.argv.slice(2)) await import(entry);
console.log(JSON.stringify({ packages: [...packages].sort(), modules }));
`;

describe('the packed tarball, in a project of its own', () => {
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-package-')));
  let packed: readonly string[];

  beforeAll(async () => {
    const { tarball, paths } = await pack(work);
    packed = paths;
    await linkedProject(work, tarball);
    const [agent = '', itsTest = ''] = ['rootAgent = ', 'createTestEnvironment('].map(
      (word) => README.find(({ code }) => code.includes(word))?.code,
    );
    writeFileSync(join(work, 'readme.ts'), agent);
    writeFileSync(join(work, 'agents.test.ts'), itsTest.replace('./agents.ts', './readme.ts'));
    writeFileSync(join(work, 'consumer.ts'), CONSUMER);
    writeFileSync(join(work, 'loaded.mjs'), LOADED);
    writeFileSync(join(work, 'shared.mjs'), SHARED);
    writeFileSync(join(work, 'traced.mjs'), TRACED);
    writeFileSync(join(work, 'workflows.ts'), WORKFLOWS);
  });
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
    const known = /^(bin|dist|docs|examples)\/|^(package\.json|LICENSE|[A-Z]+\.md|bench\/README\.md)$/;
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

  test('the README’s agent is what its words say, and its test passes [package.run]', async () => {
    const words = 'I want my 12 euros for order A-1 back';
    const holdfast = 'node_modules/holdfast/bin/holdfast.js';
    const args = [holdfast, 'run', 'readme.ts', '--message', words, '--json', '--stop-server'];
    const { code, stdout, stderr } = await run(process.execPath, args, work);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ author, content }) => [author, content.role])).toEqual([
      ['user', 'user'],
      ['support', 'model'],
      ['support', 'user'],
      ['support', 'model'],
    ]);
    expect(stdout).toContain('"args":{"orderId":"A-1","cents":1200}');
    expect(events[3].content.parts).toEqual([{ text: '12 euros are on their way.' }]);
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

  const loaded = async (entry: string): Promise<string[]> => {
    const { packages } = (await printed('loaded.mjs', [entry], work)) as { packages: string[] };
    return packages;
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

  test('holdfast/worker does load it: the check can fail [package.light]', async () => {
    expect(await loaded('holdfast/worker')).toEqual(
      expect.arrayContaining(['holdfast', '@temporalio/worker']),
    );
  });

  test('a worker loads few modules [package.start]', async () => {
    const { modules } = (await printed('loaded.mjs', ['holdfast', 'holdfast/worker'], work)) as {
      modules: { all: number; own: number };
    };
    expect(modules.own).toBeGreaterThan(1);
    expect(modules.own).toBeLessThanOrEqual(MOST_OWN_MODULES);
    expect(modules.all).toBeLessThanOrEqual(MOST_MODULES);
  });

  test('a class is the same one for each entry point [package.start]', async () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const { './package.json': _, ...entries } = exports;
    const names = Object.entries<{ default: string }>(entries)
      // Others are this one by another name.
      .filter(([path, entry]) => path === '.' || entry.default !== exports['.'].default)
      .map(([path]) => posix.join('holdfast', path));
    expect(await printed('shared.mjs', names, work)).toEqual({
      shared: expect.arrayContaining(['HoldfastError', 'TemporalUnreachable']),
      several: [],
      isError: true,
    });
  });

  test.each(NAMED)('%s is there, with all that it imports [package.start]', (path) => {
    expect(packed).toContain(path);
    // Most are no programs of their own, and say so; one ends with its input.
    const { stderr, status } = spawnSync(process.execPath, [join('node_modules/holdfast', path)], {
      cwd: work,
      input: '',
      encoding: 'utf8',
    });
    expect(status).not.toBeNull();
    expect(stderr).not.toMatch(/ERR_|SyntaxError|Cannot find/);
  });

  test('a worker that traces names the package that it needs for that [package.light]', async () => {
    expect(await printed('traced.mjs', [], work)).toContain('npm install @opentelemetry/sdk-trace-base');
  });

  test('has types for a consumer, arguments of tools inferred [package.types]', async () => {
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const types = ['--typeRoots', join(root, 'node_modules', '@types')];
    const compile = (...more: string[]) =>
      run(
        process.execPath,
        [compiler, ...options, ...types, ...more, 'consumer.ts', 'readme.ts', 'workflows.ts'],
        work,
      );
    expect(await compile('--skipLibCheck')).toMatchObject({ code: 0, stdout: '' });
    const { stdout } = await compile('--exactOptionalPropertyTypes');
    expect(stdout.split('\n').filter((line) => /^node_modules\/holdfast\/|^\w+\.ts/.test(line))).toEqual([]);
  });
});
