import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { checkSandbox } from '../../src/cli/doctor/check-runtime.ts';
import { SandboxedCodeExecutor } from '../../src/code-executors/sandboxed-code-executor.ts';
import { ToolConfirmation } from '../../src/events/event-actions.ts';
import type { ToolChunk } from '../../src/tools/base-tool.ts';
import { gateDigestOf, questionOf } from '../../src/tools/tool-gate.ts';
import { type CommandToolOptions, commandTool } from '../../src/tools/workspace/command-tool.ts';
import { LocalEnvironment } from '../../src/tools/workspace/local-environment.ts';
import { bubblewrapHere, Sandbox } from '../../src/tools/workspace/sandbox.ts';
import { Workspace } from '../../src/tools/workspace/workspace.ts';
import { refusal } from '../definitions/refusal.ts';
import { callOf, contextWith } from '../definitions/tool-context.ts';
import { commandLines } from './escape-scene.ts';

const found = await bubblewrapHere();
const none = 'problem' in found;

class Folder extends Workspace {
  readonly root = mkdtempSync(join(tmpdir(), 'holdfast-session-'));
  override use<T>(
    _context: never,
    work: (root: string, use: { lost: readonly string[] }) => Promise<T>,
  ): Promise<T> {
    return work(this.root, { lost: [] });
  }
}

const workspace = new Folder();
const make = (options: Partial<CommandToolOptions> = {}) =>
  commandTool({ workspace, allow: ['*'], ...options });

interface Followed {
  signal?: AbortSignal;
  onChunk?: (chunk: ToolChunk) => void;
}

async function run(
  args: Record<string, unknown>,
  options: Partial<CommandToolOptions> = {},
  { signal, onChunk: told }: Followed = {},
) {
  const chunks: ToolChunk[] = [];
  const saved: { name: string; bytes: number }[] = [];
  const artifacts = {
    save: async (name: string, { stream }: { stream: Buffer }) =>
      saved.push({ name, bytes: stream.length }) - 1,
  };
  const toolContext = contextWith({
    call: callOf(),
    artifacts: artifacts as never,
    toolConfirmation: new ToolConfirmation({ confirmed: true }),
    ...(signal ? { abortSignal: signal } : {}),
  });
  const onChunk = (chunk: ToolChunk) => {
    chunks.push(chunk);
    told?.(chunk);
  };
  const result = await make(options).runAsync({ args, toolContext, onChunk });
  return { result: result as Record<string, unknown>, chunks, saved };
}

const shell = (command: string, options: Partial<CommandToolOptions> = {}, followed?: Followed) =>
  run({ command }, { ...options, shell: true }, followed);

describe.skipIf(none)('a command', () => {
  test('gets its arguments as they are, in the folder of the session [commands.run]', async () => {
    const { result } = await run({ argv: ['printf', '%s|', '$HOME', 'a b', ';ls', '*'] });
    expect(result).toEqual({ exitCode: 0, output: '$HOME|a b|;ls|*|' });
    await shell('mkdir -p sub && echo hi > sub/a.txt');
    expect(readFileSync(join(workspace.root, 'sub/a.txt'), 'utf8')).toBe('hi\n');
    expect((await run({ argv: ['cat', 'a.txt'], folder: 'sub' })).result.output).toBe('hi\n');
  });

  test('tells its end: a code, a signal, a limit, a missing program or folder [commands.run]', async () => {
    expect((await shell('echo no >&2; exit 3')).result).toEqual({ exitCode: 3, output: 'no\n' });
    expect((await shell('kill -TERM $$')).result).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
    expect((await run({ argv: ['nope'] })).result).toEqual({
      exitCode: 127,
      output: 'no program nope in the sandbox\n',
    });
    expect((await run({ argv: ['ls'], folder: 'none' })).result).toMatchObject({ exitCode: 126 });
    const limits = { time: '300ms' } as const;
    expect((await shell('echo a; sleep 60', { sandbox: { limits } })).result).toEqual({
      ...{ output: 'a\n', signal: 'SIGKILL', timedOut: true },
    });
    expect(
      (await shell('sleep 60 & sleep 60 & sleep 60 & wait', { sandbox: { limits: { processes: 3 } } }))
        .result,
    ).toMatchObject({ output: expect.stringMatching(/fork/) });
  });

  test.each<[Record<string, unknown>, string]>([
    [{ argv: [] }, 'argv: a program'],
    [{ argv: ['-c'] }, 'argv: a program'],
    [{ argv: ['ls'], folder: '../x' }, 'folder: a folder below the root'],
    [{ argv: ['ls'], folder: '/etc' }, 'folder: a folder below the root'],
    [{ argv: ['a\0b'] }, 'argv[0]: no character of 0'],
    [{ command: 'ls' }, 'argv'],
  ])('%j is refused [commands.run]', async (args, message) => {
    await expect(run(args)).rejects.toThrow(message);
  });

  test('streams its output as it comes, with characters whole [commands.output]', async () => {
    const gate = join(workspace.root, 'gate');
    const line = `printf '\\303'; sleep 0.3; printf '\\251\\n'; until [ -e gate ]; do sleep 0.05; done; echo b`;
    const onChunk = () => writeFileSync(gate, '');
    const { result, chunks } = await shell(line, {}, { onChunk });
    expect(chunks.map(({ content }) => content).slice(0, -1)).toEqual(['é\n', 'b\n']);
    expect(result.output).toBe('é\nb\n');
    rmSync(gate);
  });

  test('has a long output told with beginning and end, and kept as an artifact [commands.output]', async () => {
    const { result, chunks, saved } = await shell('echo first; seq 1000000; echo last');
    expect(result).toMatchObject({ exitCode: 0, bytes: 6_888_907, mimeType: 'text/plain', version: 0 });
    expect(result.output).toMatch(/^first\n1\n2\n.*\[… 6872523 bytes are left out …\].*\n1000000\nlast\n$/s);
    expect(saved).toEqual([{ name: expect.stringMatching(/^results\/run_command\//), bytes: 6_888_907 }]);
    const live = chunks.slice(0, -1).reduce((sum, { content }) => sum + String(content).length, 0);
    expect(live).toBe(1024 * 1024);
    const endless = await shell('head -c 100000000 /dev/zero | tr "\\0" x');
    expect(endless.saved[0]?.bytes).toBe(10 * 1024 * 1024);
    expect(endless.result.bytes).toBe(100_000_000);
  });

  test('may write what is no text [commands.output]', async () => {
    const binary = await shell('head -c 3000 /dev/zero');
    expect(binary.result).toMatchObject({
      output: '[no text: 3000 bytes]',
      mimeType: 'application/octet-stream',
    });
    expect(binary.chunks).toHaveLength(1);
    expect((await shell(`printf 'a\\377b\\n'`)).result.output).toBe('a\u{fffd}b\n');
  });

  test('ends with all that it has started when its call is cancelled [commands.ends]', async () => {
    const cancelled = new AbortController();
    const running = shell('setsid sleep 71.5 & sleep 71.5 & echo on; wait', {}, { signal: cancelled.signal });
    await expect.poll(() => sleeping('71.5')).toBe(2);
    cancelled.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
    await expect.poll(() => sleeping('71.5')).toBe(0);
  });

  test('ends with its worker [commands.ends]', async () => {
    const program = join(import.meta.dirname, 'command-process.ts');
    const worker = spawn(process.execPath, [program], { stdio: ['ignore', 'inherit', 'inherit'] });
    await expect.poll(() => sleeping('72.5')).toBe(2);
    worker.kill('SIGKILL');
    await expect.poll(() => sleeping('72.5')).toBe(0);
  });

  test('gets named variables and a folder of its own for what is temporary [commands.wall]', async () => {
    process.env.HOLDFAST_TEST_GIVEN = 'given';
    process.env.HOLDFAST_TEST_SECRET = 'hush';
    const env = { A: '1', HOLDFAST_TEST_GIVEN: true, HOLDFAST_TEST_MISSING: true } as const;
    const { result } = await shell(
      'env | cut -d= -f1 | sort; echo $A $HOLDFAST_TEST_GIVEN; ls -A $HOME; touch $TMPDIR/x',
      {
        sandbox: { env },
      },
    );
    expect(String(result.output).split('\n')).toEqual([
      ...[
        'A',
        'HOLDFAST_TEST_GIVEN',
        'HOME',
        'LANG',
        'OLDPWD',
        'PATH',
        'PWD',
        'SHLVL',
        'TMPDIR',
        '_',
        '1 given',
        '',
      ],
    ]);
    expect((await shell('ls -A $TMPDIR')).result.output).toBe('');
    delete process.env.HOLDFAST_TEST_GIVEN;
    delete process.env.HOLDFAST_TEST_SECRET;
  });

  test('reaches named hosts alone, and reads named folders [commands.network]', async () => {
    let came = 0;
    const server = createServer((socket) => {
      came += 1;
      socket.on('error', () => undefined).end('HTTP/1.0 200 OK\r\n\r\nhello');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const named = { sandbox: { network: [`localhost:${port}`, 'example.com'] } };
    const get = (url: string) => shell(`curl -sSp -m 5 ${url}`, named);
    expect((await get(`http://localhost:${port}`)).result.output).toBe('hello');
    for (const url of [
      `http://127.0.0.1:${port}`,
      `http://localhost:1`,
      `http://example.com:${port}`,
      'http://169.254.169.254',
    ]) {
      expect((await get(url)).result.output).toMatch(/403/);
    }
    expect(
      (await shell(`curl -s -m 5 --noproxy '*' http://127.0.0.1:${port} || echo no`, named)).result.output,
    ).toBe('no\n');
    expect(came).toBe(1);
    server.close();
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-readable-'));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, 'a'), 'read');
    const { result } = await shell(`cat ${folder}/a; touch ${folder}/b`, { sandbox: { readable: [folder] } });
    expect(result.output).toMatch(/^readtouch: .*Read-only/);
  });

  test('never sees the folder of a worker, nor what lies above the home folder [commands.wall]', async () => {
    const root = mkdtempSync(join(tmpdir(), 'holdfast-project-'));
    const environment = new LocalEnvironment({ workingDir: join(root, 'app') });
    await environment.initialize();
    await environment.writeFile('.holdfast/owner.json', 'mine');
    const options = { argv: ['ls', '-A', '.holdfast'], ownsRoot: true, abortSignal: undefined } as const;
    const end = await new Sandbox('test').run({
      ...options,
      argv: [...options.argv],
      root: join(root, 'app'),
    });
    expect(end).toMatchObject({ exitCode: 0, stdout: '' });
    await expect(new Sandbox('test').run({ ...options, argv: ['ls'], root: '/' })).rejects.toThrow(
      "can't be the root folder",
    );
  });
});

describe('asking [commands.asking]', () => {
  const asked = async (args: Record<string, unknown>, options: Partial<CommandToolOptions>) =>
    (await questionOf(make({ allow: [], ...options }), args, contextWith()))?.hint;

  test.each<[string[], Partial<CommandToolOptions>, boolean]>([
    [['ls'], {}, true],
    [['ls', '-l'], { allow: ['ls'] }, false],
    [['lsof'], { allow: ['ls'] }, true],
    [['git', 'status', '-s'], { allow: ['git status'] }, false],
    [['git', '-c', 'core.pager=x', 'status'], { allow: ['git status'] }, true],
    [['npm', 'run', 'test'], { allow: ['npm run te*'] }, false],
    [['npm', 'run'], { allow: ['npm run te*'] }, true],
    [['./ls'], { allow: ['ls'] }, true],
    [['rm', 'x'], { allow: ['*'], deny: ['rm'] }, true],
    [['/bin/rm', 'x'], { allow: ['*'], deny: ['rm'] }, true],
    [['a.c'], { allow: ['a?c', 'a.*.c'] }, true],
  ])('%j with %j', async (argv, options, isAsked) => {
    expect((await asked({ argv }, options)) !== undefined).toBe(isAsked);
  });

  test.each([
    'ls; rm x',
    'ls $(x)',
    'ls > a',
    'ls `x`',
    'ls & x',
    'ls\nrm',
    "l's'",
    'A=1 ls',
    'ls | sh',
    'ls *',
  ])('a line that is more than words always asks: %j', async (command) => {
    expect(await asked({ command }, { shell: true, allow: ['ls'] })).toBe(
      `Run: ${command.replace('\n', '\\u000a')}`,
    );
    expect(await asked({ command: 'ls -l' }, { shell: true, allow: ['ls'] })).toBeUndefined();
  });

  test('shows the words and the folder; an approval is for this wall alone', async () => {
    expect(await asked({ argv: ['rm', 'a b'], folder: 'sub' }, {})).toBe("Run in sub: rm 'a b'");
    const digest = (options: Partial<CommandToolOptions>) => gateDigestOf(make(options));
    expect(digest({ sandbox: { env: { A: '1' } } })).toBe(digest({ sandbox: { env: { A: '2' } } }));
    const others: Partial<CommandToolOptions>[] = [
      ...[{ env: { B: '1' } }, { network: ['a.example'] }, { readable: ['/srv'] }].map((sandbox) => ({
        sandbox,
      })),
      { shell: true },
    ];
    expect(new Set([{}, ...others].map(digest)).size).toBe(5);
  });
});

describe('without a wall', () => {
  const { PATH } = process.env;
  afterEach(() => {
    process.env.PATH = PATH;
  });

  test('commands and code are refused, with what to do [commands.refusal]', async () => {
    process.env.PATH = '';
    await expect(run({ argv: ['ls'] })).rejects.toMatchObject({
      cause: {
        code: 'HOLDFAST_NO_SANDBOX',
        retryable: false,
        message: expect.stringContaining('install the package bubblewrap'),
      },
    });
    const environment = new LocalEnvironment();
    await environment.initialize();
    await expect(environment.execute('ls')).rejects.toMatchObject({ code: 'HOLDFAST_NO_SANDBOX' });
    await environment.close();
    expect(await checkSandbox()).toMatchObject([
      { status: 'warn', fix: expect.stringContaining('apt install bubblewrap') },
    ]);
    process.env.PATH = PATH;
    if (!none) expect(await checkSandbox()).toMatchObject([{ status: 'ok' }]);
  });

  test('a shell in the process serves, if the app chooses so [commands.fallback]', async () => {
    process.env.PATH = '';
    const sandbox = { fallback: 'just-bash', limits: { time: '2s' } } as const;
    const { result } = await shell('echo é > a.txt; cat a.txt; pwd; cat /etc/passwd; exit 3', { sandbox });
    expect(result).toMatchObject({ exitCode: 3, output: expect.stringMatching(/^é\n\/workspace\ncat: /) });
    expect(readFileSync(join(workspace.root, 'a.txt'), 'utf8')).toBe('é\n');
    expect((await run({ argv: ['printf', '%s', '$HOME;ls'] }, { sandbox })).result.output).toBe('$HOME;ls');
    expect((await run({ argv: ['nope'] }, { sandbox })).result).toMatchObject({ exitCode: 127 });
    expect((await shell('sleep 60', { sandbox })).result).toMatchObject({ timedOut: true });
    expect((await shell('while :; do :; done', { sandbox })).result.exitCode).toBe(126);
    const links = await shell('ln -s /etc/hostname l; cat l; curl http://localhost; node -v', { sandbox });
    expect(links.result.output).not.toContain('v2');
  });
});

describe.skipIf(none)('over the same wall', () => {
  test("ADK's environment runs commands in its folder, and ends them [commands.environment]", async () => {
    const environment = new LocalEnvironment({ envVars: { CI: 'yes' } });
    await expect(environment.execute('ls')).rejects.toThrow('initialize');
    await environment.initialize();
    const { workingDir } = environment;
    expect(await environment.execute('echo $CI; pwd; echo no >&2; exit 4')).toEqual({
      ...{ exitCode: 4, stdout: `yes\n${workingDir}\n`, stderr: 'no\n', timedOut: false },
    });
    expect(await environment.execute('sleep 60 & sleep 60', 0.3)).toMatchObject({
      exitCode: 137,
      timedOut: true,
    });
    expect((await environment.execute('yes | head -c 3000000')).stdout.length).toBeLessThan(1_100_000);
    await environment.writeFile('a/b.txt', 'hi');
    expect(Buffer.from(await environment.readFile('a/b.txt')).toString()).toBe('hi');
    await environment.execute('ln -s /etc/hostname l; ln -s /etc d; mkfifo f');
    for (const path of ['l', 'd/hostname', '../x', '/etc/hostname']) {
      await expect(environment.readFile(path)).rejects.toThrow('escapes');
      await expect(environment.writeFile(path, 'x')).rejects.toThrow(/escapes|ELOOP/);
    }
    const running = expect(environment.execute('sleep 60')).rejects.toThrow('closed');
    await environment.close();
    await running;
    expect(existsSync(workingDir)).toBe(false);
  });

  test('code of a model runs, and leaves files [commands.code]', async () => {
    const executor = new SandboxedCodeExecutor({ timeoutSeconds: 5 });
    const execute = (code: string, language: string) =>
      executor.executeCode({
        invocationContext: contextWith().invocationContext,
        codeExecutionInput: { code, language: language as never, inputFiles: [] },
      });
    const code = `import fs from 'node:fs'; const a: number = 5; fs.writeFileSync('a.csv', 'x'); console.log(a)`;
    expect(await execute(code, 'typescript')).toEqual({
      ...{
        stdout: '5\n',
        stderr: '',
        outputFiles: [expect.objectContaining({ name: 'a.csv', content: 'x' })],
      },
    });
    expect((await execute('ls /root /home; exit 3', 'shell')).stderr).toMatch(/No such file/);
    expect((await execute('sleep 60', 'shell')).stderr).toContain('timed out after 5 seconds');
  });
});

test.each<[object, string]>([
  [{}, 'workspace: required'],
  [{ workspace, sandbox: { network: ['https://x'] } }, 'sandbox.network: expected a list of hosts'],
  [{ workspace, sandbox: { env: { 'A B': '1' } } }, 'sandbox.env: expected an object of texts'],
  [{ workspace, sandbox: { limits: { cpu: 0 } } }, 'sandbox.limits.cpu: expected a whole number'],
  [{ workspace, allow: [''] }, 'allow: expected a list of commands'],
])('%j is refused [commands.run]', (options, message) => {
  expect(refusal(() => commandTool(options as never)).message).toContain(message);
});

if (none)
  test('commands are not run: there is no wall here', ({ skip }) => {
    skip(true, `no bubblewrap: ${'problem' in found ? found.problem : ''}`);
  });

/** Programs `sleep` of so many seconds, which no other test has. */
function sleeping(seconds: string): number {
  return commandLines().filter((line) => line.trim() === `sleep ${seconds}`).length;
}
