import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { isDeep } from '../setup/tier.ts';
import { isWritten } from '../setup/written.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';

const agentsFile = (name: string) => fileURLToPath(new URL(`./agents/${name}.ts`, import.meta.url));

const STACK = /^\s+at /m;

describe('what the terminal shows', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
  const folder = join(work, '.holdfast');
  const argsOf = (name: string, ...args: string[]) => [
    'run',
    agentsFile(name),
    '--folder',
    folder,
    '--message',
    'go',
    ...args,
  ];
  const filesOf = (name: string) => ({
    EFFECTS: join(work, `effects-${name}`),
    GATE: join(work, `gate-${name}`),
  });
  const made = (path: string, child: HoldfastProcess) =>
    expect.poll(() => isWritten(path) || child.stderr).toBe(true);

  beforeAll(() => putStore(folder));
  afterAll(async () => {
    await endServer(folder);
    rmSync(work, { recursive: true, force: true });
  });

  if (isDeep) {
    test('a reader that closes after the first line: no stack [cli.head]', async () => {
      const files = filesOf('head');
      const child = new HoldfastProcess(argsOf('orders', '--json'), { cwd: work, env: files });
      await made(files.EFFECTS, child);
      await expect.poll(() => child.stdout.includes('\n')).toBe(true);
      child.closeOutput();
      writeFileSync(files.GATE, '');
      const { code, stderr } = await child.finished();
      expect(code).toBe(0);
      expect(stderr).not.toMatch(STACK);
      expect(stderr).not.toMatch(/EPIPE|nhandled/);
    });
  }

  if (isDeep) {
    test('a reader of remarks that goes away: the answer comes nevertheless [cli.head]', async () => {
      const file = join(work, 'remarks.mjs');
      const agent = "{ [Symbol.for('holdfast.llmAgent')]: true, name: 'clerk', model: 'gemini-2.5-flash' }";
      writeFileSync(
        file,
        `const wait = () => new Promise((resolve) => setTimeout(resolve, 20));
        for (let count = 0; count < 10; count += 1, await wait()) process.stderr.write('a remark\\n');
        process.stdout.write('loaded\\n');
        export const seller = ${agent};`,
      );
      const child = new HoldfastProcess(['graph', file]);
      child.closeRemarks();
      await child.prints(/loaded/);
      await child.finished();
    });
  }

  test('an agents file that never has loaded is no success [cli.input]', async () => {
    const file = join(work, 'never.mjs');
    writeFileSync(file, 'await new Promise(() => undefined);');
    const { code, stderr } = await holdfast(['graph', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/never ends: is there an await in the agents file/);
  });

  if (isDeep) {
    test('a turn that is cancelled in Temporal: exit 1 and a plain sentence [cli.cancelled]', async () => {
      const files = filesOf('cancelled');
      const child = new HoldfastProcess(argsOf('orders', '--session', 'cancelled'), {
        cwd: work,
        env: files,
      });
      await made(files.EFFECTS, child);
      const { temporal } = JSON.parse(readFileSync(join(folder, 'dev.json'), 'utf8'));
      const connection = await Connection.connect({
        interceptors: retriesUntilClosed(),
        address: temporal.address,
      });
      await new Client({ connection }).workflow.getHandle('orders/user/cancelled').cancel();
      await connection.close();
      const { code, stderr } = await child.finished();
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          'holdfast: the turn was cancelled; its session goes on with the next message\n',
        ),
      });
      expect(stderr).not.toMatch(STACK);
    });
  }

  if (isDeep) {
    test('user code that fails: its stack is in the log of the folder only [cli.stacks]', async () => {
      const { code, stdout, stderr } = await holdfast(argsOf('failing'), { cwd: work });
      expect({ code, stdout }).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('It did not work.'),
      });
      expect(stdout + stderr).not.toMatch(STACK);
      expect(stdout + stderr).not.toContain('ruinedByItself');
      const log = readFileSync(join(folder, 'worker.log'), 'utf8');
      expect(log).toMatch(/no luck.*at .*ruinedByItself/);
      expect(log).toMatch(/no room.*at .*busyAtFirst/);
      expect(log).toMatch(/no time.*at .*Careless.afterRunCallback/);
    });
  }

  if (isDeep) {
    test('Ctrl-C while a model heeds no signal: it ends within 10 seconds [cli.interruptHung]', async () => {
      const files = filesOf('silent');
      const child = new HoldfastProcess(argsOf('silent'), { cwd: work, env: files });
      await made(files.EFFECTS, child);
      const pressed = Date.now();
      child.kill('SIGINT');
      const { code, stderr } = await child.finished();
      expect(code).toBe(130);
      expect(Date.now() - pressed).toBeLessThan(10_000);
      expect(stderr).toContain('interrupted; the turn is kept');
      expect(stderr).not.toMatch(STACK);
    });
  }
});
