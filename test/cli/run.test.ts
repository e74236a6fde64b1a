import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Event } from '../../src/events/event.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { inTier, isDeep, someOf } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { isWritten } from '../setup/written.ts';
import { HoldfastProcess, holdfast, KILLED_SOON } from './holdfast-process.ts';

const agents = fileURLToPath(new URL('./agents/orders.ts', import.meta.url));
const root = fileURLToPath(new URL('../..', import.meta.url));

describe('holdfast run', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  const folder = join(work, '.holdfast');
  const run = (...args: string[]) => holdfast(['run', agents, '--folder', folder, ...args], { cwd: work });

  beforeAll(() => putStore(folder));
  afterAll(async () => {
    await endServer(folder);
    rmSync(work, { recursive: true, force: true });
  });

  function jsonLines(stdout: string): Event[] {
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
  }

  test('--json: one ADK event per line on standard output, everything else on standard error [cli.json]', async () => {
    const { code, stdout, stderr } = await run(
      '--message',
      'where is A-1?',
      '--session',
      's1',
      '--message-id',
      'm1',
      '--json',
    );
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const events = jsonLines(stdout);
    expect(events.map(({ author, content }) => [author, content?.role])).toEqual([
      ['user', 'user'],
      ['orders', 'model'],
      ['orders', 'user'],
      ['orders', 'model'],
    ]);
    expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Order A-1 is shipped.' }]);
    expect(new Set(events.map(({ invocationId }) => invocationId)).size).toBe(1);
    expect(stderr).toContain('GEMINI_API_KEY is not set');
    expect(stderr).toMatch(
      /Temporal UI: http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\/orders%2Fuser%2Fs1/,
    );
    expect(stderr).toContain('look_up 1.0 started');
    expect(stderr).toContain('look_up 1.0 finished');
  });

  test('for people: what was said, called and answered [cli.run]', async () => {
    const { code, stdout } = await run('--message', 'and A-1?', '--session', 's1');
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'you  and A-1?',
      'orders  → look_up({"id":"A-1"})',
      'orders  ← look_up {"id":"A-1","status":"shipped"}',
      'orders  Order A-1 is shipped.',
      '',
    ]);
  });

  if (isDeep) {
    test('a message that was answered is not asked again: its events are printed [cli.attach]', async () => {
      const first = await run(
        '--message',
        'where is A-1?',
        '--session',
        's1',
        '--message-id',
        'm1',
        '--json',
      );
      expect(first.code).toBe(0);
      expect(first.stderr).toContain('answered before');
      expect(jsonLines(first.stdout)).toHaveLength(4);
    });
  }

  /** Options of a turn that holds in its tool. */
  const going = (turn: string) => [
    ...['run', agents, '--folder', folder, '--message', 'go'],
    ...['--session', `s${turn}`, '--message-id', `m${turn}`],
  ];

  test('killed during a tool and run again: the turn finishes, events whole [cli.crash]', async () => {
    const files = { EFFECTS: join(work, 'effects'), GATE: join(work, 'gate'), HEARTBEAT: KILLED_SOON };
    const args = [...going('2'), '--json'];
    const first = new HoldfastProcess(args, { cwd: work, env: files });
    await until(() => expect(isWritten(files.EFFECTS)).toBe(true));
    first.kill('SIGKILL');
    await first.finished();
    writeFileSync(files.GATE, '');
    const second = await holdfast(args, { cwd: work, env: files });
    expect(second).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('message m2 is under way; following it'),
    });
    expect(jsonLines(second.stdout).map(({ content }) => content?.role)).toEqual([
      'user',
      'model',
      'user',
      'model',
    ]);
    expect(readFileSync(files.EFFECTS, 'utf8')).toBe('A-1\nA-1\n');
  });

  test('interrupted by Ctrl-C: it says how to go on, and the turn does [cli.interrupt]', async () => {
    const files = { EFFECTS: join(work, 'effects3'), GATE: join(work, 'gate3') };
    const args = going('3');
    const first = new HoldfastProcess(args, { cwd: work, env: files });
    await until(() => expect(isWritten(files.EFFECTS)).toBe(true));
    first.kill('SIGINT');
    const interrupted = await first.finished();
    expect(interrupted.code).toBe(130);
    const command = /goes on with: npx holdfast (.*)$/m.exec(interrupted.stderr)?.[1]?.split(' ') ?? [];
    writeFileSync(files.GATE, '');
    expect(await holdfast(command, { cwd: work, env: files })).toMatchObject({ code: 0 });
    expect(readFileSync(files.EFFECTS, 'utf8')).toBe('A-1\nA-1\n');
  });

  if (isDeep) {
    test('a failed turn exits with 1 and keeps its events [cli.failed]', async () => {
      const { code, stdout, stderr } = await run('--message', 'fail', '--json');
      expect(code).toBe(1);
      expect(jsonLines(stdout).at(-1)).toMatchObject({ errorCode: 'HOLDFAST_MODEL_BAD_REQUEST' });
      expect(stderr).toContain('failed: HOLDFAST_MODEL_BAD_REQUEST');
    });
  }

  if (isDeep) {
    test('a second command in the folder goes through the first, and on by itself where that one ends [cli.owner]', async () => {
      const files = { EFFECTS: join(work, 'effects4'), GATE: join(work, 'gate4') };
      const first = new HoldfastProcess(
        ['run', agents, '--folder', folder, '--session', 's4', '--message', 'go', '--message-id', 'm4'],
        { cwd: work, env: files },
      );
      await until(() => expect(isWritten(files.EFFECTS)).toBe(true));
      const again = [
        'run',
        agents,
        '--folder',
        folder,
        '--session',
        's4',
        '--message',
        '-',
        '--message-id',
        'm4',
      ];
      const second = new HoldfastProcess(again, { cwd: work, env: files });
      await second.prints(/message m4 is under way; following it/);
      expect(second.stderr).toContain(`process ${first.pid} owns the folder`);
      first.kill('SIGINT');
      expect(await first.finished()).toMatchObject({ code: 130 });
      writeFileSync(files.GATE, '');
      const { code, stdout, stderr } = await second.finished();
      expect(stderr).toContain('the process that answered has ended; the turn goes on here');
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: [
          'you  go',
          'orders  → look_up({"id":"A-1"})',
          'orders  ← look_up {"id":"A-1","status":"shipped"}',
          'orders  Order A-1 is shipped.',
          '',
        ].join('\n'),
      });
    });
  }
});

describe.concurrent('bad input of holdfast run', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  afterAll(() => rmSync(work, { recursive: true, force: true }));

  const file = (name: string, content: string) => {
    writeFileSync(join(work, name), content);
    return name;
  };
  const commonJs = (content: string) => {
    mkdirSync(join(work, 'commonjs'));
    file(join('commonjs', 'package.json'), '{"type":"commonjs"}');
    return file(join('commonjs', 'agents.ts'), content);
  };
  const message = ['--message', 'hi'];

  type Case = [what: string, args: string[], code: number, problem: RegExp];
  const few: Case[] = [
    [
      'an unknown agent, with near names',
      [agents, '--agent', 'order', ...message],
      2,
      /has no agent "order"; did you mean "orders"\?.*It has .*helper/s,
    ],
    [
      'a syntax error',
      [file('syntax.ts', 'export const = 1;'), ...message],
      1,
      /syntax\.ts can't be loaded: /,
    ],
    [
      'an agent of another package',
      [file('foreign.ts', 'class LlmAgent {}\nexport const rootAgent = new LlmAgent();'), ...message],
      1,
      /foreign\.ts: rootAgent is an agent of another package: import LlmAgent from 'holdfast' instead/,
    ],
  ];
  const all: Case[] = [
    ...few,
    ['no message', [agents], 2, /say what the user says: --message <text>, or --content <JSON>/],
    ['an unknown option', [agents, ...message, '--jsn'], 2, /unknown option '--jsn'.*--json/s],
    [
      'an app that can not be, with the one of the file',
      [agents, '--app', 'Bad/App', ...message],
      2,
      /--app "Bad\/App": must start with a letter.*The app of .*orders\.ts is orders/s,
    ],
    ['an empty message', [agents, '--message', '  '], 2, /--message is empty/],
    ['a content that is no JSON', [agents, '--content', 'hi'], 2, /--content: expected JSON/],
    ['no such file', ['nowhere.ts', ...message], 1, /nowhere\.ts: no such file/],
    ['a folder', [tmpdir(), ...message], 1, /is a folder/],
    [
      'a file that throws',
      [file('throws.ts', 'throw new Error("no database");'), ...message],
      1,
      /throws\.ts can't be loaded: .*no database/s,
    ],
    [
      'a file that exports nothing',
      [file('empty.ts', 'const a = 1;'), ...message],
      1,
      /empty\.ts exports no agent \(it exports nothing\)/,
    ],
    [
      'a file that exports no agent',
      [file('none.ts', 'export const a = 1;'), ...message],
      1,
      /none\.ts exports no agent \(it exports a\)/,
    ],
    [
      'an enum',
      [file('enum.ts', 'export enum A { b }'), ...message],
      1,
      /enum\.ts:1\n[\s\S]*write enums, .* as plain JavaScript/,
    ],
    [
      'a missing package',
      [file('missing.ts', "import 'no-such-package';"), ...message],
      1,
      /Cannot find package 'no-such-package'.*Install/s,
    ],
    [
      'a file of a CommonJS package',
      [commonJs("import { LlmAgent } from 'holdfast';\nexport const a = LlmAgent;"), ...message],
      1,
      /agents\.ts can't be loaded: .*Write "type": "module" into the package\.json beside it, or name the file \.mts/s,
    ],
    ['an empty session', [agents, ...message, '--session='], 2, /--session: expected a non-empty string/],
    ['an empty user', [agents, ...message, '--user='], 2, /--user: expected a non-empty string/],
    ['an empty app', [agents, ...message, '--app='], 2, /--app: expected a non-empty string/],
    [
      'an empty message id',
      [agents, ...message, '--message-id='],
      2,
      /--message-id: expected a non-empty string/,
    ],
  ];

  test.each(inTier(someOf(few), all))(
    '%s: a clear error and nothing half-written [cli.input]',
    async (_name, args, code, problem) => {
      const result = await holdfast(['run', ...args], { cwd: work });
      expect(result.stderr).toMatch(problem);
      expect(result).toMatchObject({ code, stdout: '' });
      expect(result.stderr).not.toMatch(/node:internal|dist\/src\/cli/);
      expect(existsSync(join(work, '.holdfast'))).toBe(false);
    },
  );

  test('an unknown command [cli.input]', async () => {
    const result = await holdfast(['rum'], { cwd: work });
    expect(result).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/unknown command 'rum'.*run/s),
    });
  });

  if (isDeep) {
    test('a Temporal server that is down [cli.server]', async () => {
      const result = await holdfast(['run', agents, '--folder', join(work, 'no-server'), ...message], {
        cwd: work,
        env: { TEMPORAL_ADDRESS: '127.0.0.1:9' },
      });
      expect(result).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/127\.0\.0\.1:9.*HOLDFAST_TEMPORAL_UNREACHABLE/s),
      });
    });
  }

  if (isDeep) {
    test('a store that is down: its password is not shown [cli.store]', async () => {
      const result = await holdfast(
        ['run', agents, '--folder', join(work, 'store-down'), '--stop-server', ...message],
        {
          cwd: work,
          env: { HOLDFAST_STORE: 'postgres://ada:secret-word@127.0.0.1:9/shop' },
        },
      );
      expect(result).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/127\.0\.0\.1.*HOLDFAST_STORE_UNAVAILABLE/s),
      });
      expect(result.stderr).not.toContain('secret-word');
    });
  }

  if (isDeep) {
    test('a store that has no address: its variable is named and no server started [cli.store]', async () => {
      const folder = join(work, 'no-store');
      const result = await holdfast(['run', agents, '--folder', folder, ...message], {
        cwd: work,
        env: { HOLDFAST_STORE: 'nonsense' },
      });
      expect(result).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/HOLDFAST_STORE: .*postgres:\/\/.*HOLDFAST_INVALID_STORE_URL/s),
      });
      expect(existsSync(join(folder, 'dev.json'))).toBe(false);
    });
  }

  test('a Node that is too old: it says so [cli.node]', async () => {
    const script =
      'Object.defineProperty(process.versions, "node", { value: "20.1.0" }); require(process.argv[1]);';
    const child = spawn(process.execPath, ['-e', script, join(root, 'bin/holdfast.js')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    child.stderr.on('data', (data) => {
      stderr += data;
    });
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^holdfast needs Node 22\.18 or newer; this is Node 20\.1\.0/),
    });
  });
});
