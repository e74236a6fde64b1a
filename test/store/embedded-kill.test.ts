import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test, vi } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { folderWithStore, temporaryFolder } from './temporary-folder.ts';

const SCRIPT = fileURLToPath(new URL('./appending-process.ts', import.meta.url));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

/** Lines that a process printed until it was killed, by SIGKILL, at the line that `enough` picks. */
async function runUntilKilled(
  folder: string,
  enough: (lines: readonly string[]) => boolean,
  delay = 0,
): Promise<string[]> {
  const child = spawn(process.execPath, [SCRIPT, folder, '4'], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.add(child);
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => {
    lines.push(line);
    if (enough(lines)) setTimeout(() => child.kill('SIGKILL'), delay);
  });
  const [[code, signal]] = await Promise.all([once(child, 'exit'), once(output, 'close')]);
  children.delete(child);
  expect([code, signal]).toEqual([null, 'SIGKILL']);
  return lines;
}

const folder = folderWithStore();

test('nothing acknowledged is lost in SIGKILLs, and seq stays gapless [store.durable]', async () => {
  const acknowledged: string[] = [];
  vi.stubEnv('TMPDIR', temporaryFolder());
  for (const events of inTier([60], [10, 60, 150, 300, 120])) {
    const lines = await runUntilKilled(
      folder,
      (printed) => printed.filter((line) => line.startsWith('seq')).length >= events,
    );
    acknowledged.push(...lines.filter((line) => line.startsWith('seq')));
  }
  const store = await openStore({ folder });
  const recorded = new Set<string>();
  for (const sessionId of ['s0', 's1', 's2', 's3']) {
    const names = { app: 'kill', userId: 'ada', sessionId };
    const events = await store.sessions.readEvents({ ...names, limit: 100_000 });
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect((await store.sessions.find(names))?.seq).toBe(events.length);
    for (const { seq, kind, runKey } of events) recorded.add(`seq ${sessionId} ${seq} ${kind} ${runKey}`);
  }
  expect(readdirSync(tmpdir())).toHaveLength(1);
  await store.close();
  vi.unstubAllEnvs();
  expect(acknowledged.length).toBeGreaterThan(inTier(50, 600));
  expect(acknowledged.filter((line) => !recorded.has(line))).toEqual([]);
});

if (isDeep) {
  test('SIGKILLs in the first initialisation leave no trace', async () => {
    const fresh = temporaryFolder();
    // Each begins from what the one before has left: what none of them takes away, the last opening meets.
    for (const delay of inTier([300], [0, 300, 900, 1_500])) {
      const [line] = await runUntilKilled(fresh, (lines) => lines.length === 1, delay);
      expect(line).toContain('initialising');
    }
    const store = await openStore({ folder: fresh });
    expect(await store.sessions.readEvents({ app: 'kill', userId: 'ada', sessionId: 's9' })).toEqual([]);
    await store.close();
  });
}
