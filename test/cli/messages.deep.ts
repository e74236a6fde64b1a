import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Event } from '../../src/events/event.ts';
import { endServer } from '../setup/end-server.ts';
import { putStore } from '../setup/made-store.ts';
import { isWritten } from '../setup/written.ts';
import { HoldfastProcess, holdfast, KILLED_SOON } from './holdfast-process.ts';

const agents = fileURLToPath(new URL('./agents/orders.ts', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'holdfast-cli-'));
const folder = join(work, '.holdfast');

beforeAll(() => putStore(folder));
afterAll(async () => {
  await endServer(folder);
  rmSync(work, { recursive: true, force: true });
});

test('contents and state deltas are sent, by the command itself and through another process [cli.content]', async () => {
  const env = { EFFECTS: join(work, 'effects'), GATE: join(work, 'gate') };
  const run = (session: string) =>
    new HoldfastProcess(
      [
        ...['run', agents, '--folder', folder, '--json', '--session', session],
        ...['--content', JSON.stringify({ parts: [{ text: session }, { text: 'where is it?' }] })],
        ...['--state', JSON.stringify({ from: session, 'user:last': session })],
      ],
      { cwd: work, env },
    );
  const first = run('alone');
  await expect.poll(() => isWritten(env.EFFECTS)).toBe(true);
  const second = run('through');
  await second.prints(/owns the folder, and answers/);
  await second.prints(/session through, message/);
  writeFileSync(env.GATE, '');
  for (const [session, process] of [
    ['alone', first],
    ['through', second],
  ] as const) {
    const { code, stdout, stderr } = await process.finished();
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const [message]: Event[] = stdout.split('\n', 1).map((line) => JSON.parse(line));
    expect(message).toMatchObject({
      content: { role: 'user', parts: [{ text: session }, { text: 'where is it?' }] },
      actions: { stateDelta: { from: session, 'user:last': session } },
    });
  }
  const shown = await holdfast(
    ['sessions', 'show', 'through', '--app', 'orders', '--folder', folder, '--json'],
    { cwd: work },
  );
  expect(JSON.parse(shown.stdout)).toMatchObject({
    sessionId: 'through',
    state: { from: 'through' },
    events: expect.any(Array),
  });
});

test('a message to a session whose turn was killed waits for it, and only its own events are printed [cli.queued]', async () => {
  const files = { EFFECTS: join(work, 'effects-2'), GATE: join(work, 'gate-2'), HEARTBEAT: KILLED_SOON };
  const run = ['run', agents, '--folder', folder, '--session', 's1', '--json'];
  const first = new HoldfastProcess([...run, '--message', 'go', '--message-id', 'm1'], {
    cwd: work,
    env: files,
  });
  await expect.poll(() => isWritten(files.EFFECTS)).toBe(true);
  first.kill('SIGKILL');
  await first.finished();
  const waiting = new HoldfastProcess([...run, '--message', 'and now?', '--message-id', 'm2'], {
    cwd: work,
    env: files,
  });
  await waiting.prints(/the session is answering another message; m2 comes after it/);
  writeFileSync(files.GATE, '');
  const second = await waiting.finished();
  expect(second).toMatchObject({ code: 0 });
  const events: Event[] = second.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(new Set(events.map(({ invocationId }) => invocationId)).size).toBe(1);
  expect(events[0]?.content?.parts).toEqual([{ text: 'and now?' }]);
  expect(events.at(-1)?.content?.parts).toEqual([{ text: 'Order A-1 is shipped.' }]);
  const again = await holdfast([...run, '--message', 'go', '--message-id', 'm1'], { cwd: work, env: files });
  expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining('m1 was answered before') });
});
