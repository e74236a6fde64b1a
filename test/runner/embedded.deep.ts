import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, test } from 'vitest';
import { HoldfastProcess } from '../cli/holdfast-process.ts';

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A program, and what its environment has put into the folder for temporary files. */
function start(name: string, options: { typed?: boolean; env?: Record<string, string> } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  folders.push(folder);
  const env = { TMPDIR: folder, TEMP: folder, ...options.env };
  const program = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  return {
    program: new HoldfastProcess([], { ...options, program, env }),
    // The folder goes when the server has ended.
    left: () => readdirSync(folder).filter((each) => each.startsWith('holdfast-runner-')),
  };
}

const said = (text: string) => `(scripted answer) You said: ${text}`;

describe.concurrent('a program with an InMemoryRunner', () => {
  test('ends by itself, and goes on with its sessions after a pause [runner.ends]', async ({ expect }) => {
    const { program, left } = start('plain-program');
    const { code, stdout, stderr } = await program.finished();
    expect(stdout.trim().split('\n')).toEqual([said('one'), 'suspended', said('two'), '4 events, plan gold']);
    expect(stderr).toContain('GEMINI_API_KEY is not set');
    expect(code).toBe(0);
    await expect.poll(left).toEqual([]);
  });

  test('keeps its environment up while it waits for input, and ends with that [runner.ends]', async ({
    expect,
  }) => {
    const { program, left } = start('asking-program', { typed: true, env: { HOLDFAST_QUIET: '1' } });
    program.type('one');
    await program.prints(/2: .*one/);
    program.type('two');
    await program.prints(/4: .*two/);
    expect(left()).toHaveLength(1);
    program.endOfInput();
    expect(await program.finished()).toEqual({
      code: 0,
      stdout: `2: ${said('one')}\n4: ${said('two')}\n`,
      stderr: '',
    });
    await expect.poll(left).toEqual([]);
  });

  test('is told where its own code has failed [runner.run]', async ({ expect }) => {
    const { program } = start('failing-program', { env: { HOLDFAST_QUIET: '1' } });
    const { code, stdout, stderr } = await program.finished();
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${said('one')}\n` });
    expect(stderr).toMatch(
      /^holdfast: model step failed: .*no room\n {4}at .*busyAtFirst.*failing-program\.ts:\d+:\d+\)\n$/,
    );
  });

  test('leaves nothing behind after Ctrl+C [runner.ends]', async ({ expect }) => {
    const { program, left } = start('asking-program', { typed: true });
    program.type('one');
    await program.prints(/2: .*one/);
    expect(left()).toHaveLength(1);
    program.kill('SIGINT');
    expect((await program.finished()).code).toBeNull();
    await expect.poll(left).toEqual([]);
  });

  test('loads neither worker nor Temporal before its first use [package.light]', async ({ expect }) => {
    const { program } = start('loading-program');
    const { stdout, stderr } = await program.finished();
    expect(stderr).toBe('');
    const loaded: string[] = JSON.parse(stdout);
    expect(loaded.filter((url) => url.endsWith('/src/runner/runner.ts'))).toHaveLength(1);
    expect(
      loaded.filter((url) =>
        /@temporalio\/(?!common\/)|\/worker\/|\/activities\/|\/src\/testing\//.test(url),
      ),
    ).toEqual([]);
  });
});
