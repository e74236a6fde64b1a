import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { holdfastHere } from './command-here.ts';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';

const agents = fileURLToPath(new URL('./agents/tree.ts', import.meta.url));

describe('holdfast run of a tree of agents', () => {
  const work = mkdtempSync(join(tmpdir(), 'holdfast-trees-'));
  const folder = join(work, '.holdfast');
  const args = (...more: string[]) => ['run', agents, '--folder', folder, ...more];
  const run = (...more: string[]) => holdfast(args(...more), { cwd: work });

  beforeAll(() => putStore(folder));
  afterAll(async () => {
    await endServer(folder);
    rmSync(work, { recursive: true, force: true });
  });

  test('names the way to the agent that speaks, and to the one that waits [tree.events] [tree.requests]', async () => {
    const turn = ['--message', 'pay', '--session', 's1', '--message-id', 'm1'];
    const left = await run(...turn, '--no-wait');
    expect(left).toMatchObject({ code: 3 });
    expect(left.stdout.split('\n')).toEqual([
      'you  pay',
      'desk  → payer({"request":"pay 5"})',
      'desk / payer  → pay({})',
      expect.stringMatching(/^desk \/ payer {2}asks for an approval: pay: Pay 5 EUR\? {2}rq-\S+$/),
      '',
    ]);
    expect(left.stderr).toMatch(/desk \/ payer waits for an approval of pay since \d+ s/);
    const request = /rq-\S+/.exec(left.stdout)?.[0] ?? '';
    const shown = await holdfastHere(['approvals', 'show', request, '--folder', folder]);
    expect(shown.stdout).toMatch(/call {2,}\w+ of desk › payer, session/);
    const goesOn = new HoldfastProcess(args(...turn), { cwd: work });
    await goesOn.prints(/waits for a person/);
    const approved = await holdfastHere(['approvals', 'approve', request, '--folder', folder]);
    expect(approved).toMatchObject({ code: 0 });
    const { code, stdout, stderr } = await goesOn.finished();
    expect({ code, said: stdout.split('\n').slice(4) }).toEqual({
      code: 0,
      said: [
        'desk / payer  ← pay {"paid":5}',
        'desk / payer  It is paid.',
        'desk  ← payer {"result":"It is paid."}',
        'desk  Done.',
        '',
      ],
    });
    expect(stderr).toMatch(/desk \/ payer: pay 1\.0 finished/);
    const json = await run(...turn, '--json');
    const lines: Record<string, unknown>[] = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const types = lines.map(({ type }) => type);
    expect(types.filter((type) => type !== undefined)).toEqual(Array(5).fill('child event'));
    expect(lines.filter(({ type }) => type === undefined).map(({ author }) => author)).not.toContain('payer');
    const marks = lines.map(({ holdfast: mark }) => mark);
    expect(marks.filter((mark) => mark !== undefined)).toHaveLength(5);
    expect(marks).toContainEqual({
      path: ['desk', 'payer'],
      sessionId: expect.stringMatching(/^payer-/),
      seq: 5,
    });
  });

  test('an agent’s session of its own is shown by its name, and is the root’s for all else [tree.requests]', async () => {
    const left = await run('--message', 'pay', '--session', 's3', '--no-wait');
    const child = /rq-(payer-[\w-]{22})/.exec(left.stdout)?.[1] ?? '';
    const sessions = (...more: string[]) => holdfastHere(['sessions', ...more, '--folder', folder]);
    const listed = await sessions('list', '--json');
    expect(listed.stdout).toContain('"s3"');
    expect(listed.stdout).not.toContain('payer-');
    const shown = await sessions('show', child);
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('→ pay({})') });
    for (const refused of [
      ['rewind', child, '--before', child],
      ['fork', child],
      ['delete', child, '--yes'],
      ['retry', child, '--from', `${child}.1.0`],
    ]) {
      const { code, stdout, stderr } = await sessions(...refused);
      expect({ refused, code, stdout }).toEqual({ refused, code: 1, stdout: '' });
      expect(stderr).toContain(`session ${child} is that of an agent which a tool has run`);
      expect(stderr).toContain('HOLDFAST_NOT_A_ROOT_SESSION');
    }
  });

  test('--agent takes one below the root, and without it whoever has answered goes on [transfer.next]', async () => {
    const first = await run('--message', 'well?', '--session', 's2', '--agent', 'critic');
    expect(first).toMatchObject({ code: 0, stdout: 'you  well?\ncritic  Could be better.\n' });
    const next = await run('--message', 'and now?', '--session', 's2');
    expect(next).toMatchObject({ code: 0, stdout: 'you  and now?\ncritic  Could be better.\n' });
    const unknown = await run('--message', 'x', '--agent', 'critik');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('has no agent "critik"; did you mean "critic"? It has desk, critic.');
  });
});
