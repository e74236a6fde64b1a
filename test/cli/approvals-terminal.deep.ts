import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { holdfast } from './holdfast-process.ts';
import { atTerminal, hasTerminals } from './terminal-process.ts';

const agents = fileURLToPath(new URL('./agents/gated.ts', import.meta.url));

describe.skipIf(!hasTerminals)(hasTerminals ? 'at a terminal' : 'at a terminal: no python3', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-terminal-'));
  const folder = join(work, '.holdfast');
  const effects = join(work, 'effects');
  const SECRET = 'sesame-7f31';
  const env = { EFFECTS: effects, SECRET };
  const started = (args: readonly string[]) => {
    const child = atTerminal(args, { cwd: work, env });
    onTestFinished(() => {
      if (!child.isOver) child.kill('SIGTERM');
    });
    return child;
  };
  const run = (session: string, message: string) => {
    const args = ['run', agents, '--folder', folder, '--session', session, '--message', message];
    return started(args);
  };

  beforeAll(() => putStore(folder));
  afterAll(async () => {
    await endServer(folder);
    rmSync(work, { recursive: true, force: true });
  });

  test('run shows what a call would do and asks: an edit runs, once it is confirmed [run.noWait]', async () => {
    const turn = run('edited', 'small');
    await turn.prints(/approve\? y, n, n and the reason, e to edit, or nothing to leave it: /);
    expect(turn.stdout).toMatch(
      /hint {2,}Refund 102 EUR of A-1\?\r\n {2,}arguments {2,}amount: 102\r\n {2,}order: "A-1"/,
    );
    turn.type('maybe');
    await turn.prints(/there is no answer "maybe" to this.*approve\?/s);
    turn.type('e {"order":"A-1","amount":50}');
    await turn.prints(/- amount: 102\r\n {2}\+ amount: 50.*approve it so\? y or n: /s);
    turn.type('y');
    const { code, stdout } = await turn.finished();
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/rq-\S+ approved\r\n.*It came to/s),
    });
    expect(readFileSync(effects, 'utf8')).toBe('A-1 50\n');
  });

  test('run takes a rejection with its reason, and leaves what it gets no answer to [run.noWait]', async () => {
    const turn = run('rejected', 'small');
    await turn.prints(/approve\?/);
    turn.type('n too old');
    expect(await turn.finished()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/It came to .*too old/),
    });
    const left = run('left', 'small');
    await left.prints(/approve\?/);
    left.type('');
    await left.prints(/it waits on; it is answered by/);
    const request = /rq-\S+/.exec(left.stdout)?.[0] ?? '';
    await holdfast(['approvals', 'reject', request, '--folder', folder], { cwd: work, env });
    expect((await left.finished()).code).toBe(0);
  });

  test('a question that somebody else answers is withdrawn, and the turn goes on [run.noWait]', async () => {
    const turn = run('elsewhere', 'small');
    await turn.prints(/approve\?/);
    const request = /rq-\S+/.exec(turn.stdout)?.[0] ?? '';
    const args = ['approvals', 'reject', request, '--reason', 'by phone', '--folder', folder];
    expect(await holdfast(args, { cwd: work, env })).toMatchObject({ code: 0 });
    expect(await turn.finished()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/was answered by somebody else, or is over\r\n.*by phone/s),
    });
  });

  test('input is asked until it fits; a secret is not shown while it is typed [input.request] [credential.secret]', async () => {
    const asked = run('asked', 'ask');
    await asked.prints(/answer, or nothing to leave it: /);
    asked.type('M');
    await asked.prints(/that does not fit: .*answer, or/s);
    asked.type('{"size":"L"}');
    expect(await asked.finished()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/It came to .*"L"/),
    });
    const charged = run('charged', 'charge');
    await charged.prints(/bearer token, stored encrypted; nothing to leave it \(not shown\): /);
    charged.type(SECRET);
    const { code, stdout } = await charged.finished();
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('"fits":true') });
    expect(stdout).not.toContain(SECRET);
  });

  test('the chat asks the same, and the next line answers [run.noWait]', async () => {
    const dev = started(['dev', agents, '--folder', folder, '--session', 'chat']);
    await dev.prints(/› /);
    dev.type('small');
    await dev.prints(/approve\? y, n/);
    dev.type('n');
    await dev.prints(/the reason, which the model is told, or nothing:/);
    dev.type('not today');
    await dev.prints(/It came to .*not today/);
    dev.type('/quit');
    expect((await dev.finished()).code).toBe(0);
  });
});
