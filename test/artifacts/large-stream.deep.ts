import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { databaseWithStore } from '../setup/own-database.ts';

const GIB = 5;

test(`${GIB} GiB go in and out, with less than 300 MB of the process in memory [artifact.stream]`, async () => {
  const database = await databaseWithStore();
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-stream-'));
  try {
    const program = fileURLToPath(new URL('../setup/artifact-stream-process.ts', import.meta.url));
    const args = [program, database.url, pathToFileURL(folder).href, String(GIB)];
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', ...args],
      {
        encoding: 'utf8',
      },
    );
    expect(status, stderr).toBe(0);
    const { rss, ...found } = JSON.parse(stdout) as { size: number; isSame: boolean; rss: number };
    console.log(`resident memory: ${rss} MiB at most`);
    expect(found).toEqual({ size: GIB * 1024 ** 3, isSame: true });
    expect(rss).toBeLessThan(300);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await database.drop();
  }
}, 900_000);
