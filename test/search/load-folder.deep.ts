import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { storedApi } from '../../src/client/stored-api.ts';
import { openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';

const MIB = 1024 * 1024;

const folder = temporaryFolder();
const database = await databaseWithStore();
const store = await openStore(database);
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** Writes text with a few common words and many rare ones, one of them in this file alone. Holds little of it itself. */
function writeText(path: string, file: number, bytes: number): number {
  let written = 0;
  let state = file + 1;
  for (let lines = ''; written < bytes; lines = '') {
    while (lines.length < 64 * 1024) {
      for (let word = 0; word < 12; word += 1) {
        state = (state * 48_271) % 2_147_483_647;
        lines += `w${Math.floor(60_000 * (state / 2_147_483_647) ** 4).toString(36)} `;
      }
      lines += `of file f${file}x.\n`;
    }
    appendFileSync(path, lines);
    written += lines.length;
  }
  return written;
}

test('200 MB of text are loaded in bounded memory, and skipped when nothing has changed [search.bounded]', async () => {
  const before = process.memoryUsage.rss();
  let bytes = 0;
  for (let file = 0; bytes < 200 * MIB; file += 1) {
    mkdirSync(join(folder, `${file % 10}`), { recursive: true });
    // A few large files, and many small ones.
    bytes += writeText(join(folder, `${file % 10}`, `${file}.txt`), file, file < 5 ? 16 * MIB : 0.5 * MIB);
  }
  const { corpora } = storedApi(store, undefined);
  const load = { app: 'large', corpus: 'all', folder };
  let peak = 0;
  const watch = () => {
    peak = Math.max(peak, process.memoryUsage.rss());
  };
  const timer = setInterval(watch, 50);
  const began = performance.now();
  const counts = await corpora.load(load);
  const seconds = (performance.now() - began) / 1_000;
  clearInterval(timer);
  const [corpus] = await corpora.list('large');
  const grown = (peak - before) / MIB;
  process.stdout.write(
    `${Math.round(bytes / MIB)} MiB in ${counts.loaded} files and ${corpus?.passages} passages: ${seconds.toFixed(0)} s, ${grown.toFixed(0)} MiB more\n`,
  );
  expect(counts).toMatchObject({ unchanged: 0, removed: 0, skipped: 0 });
  expect(grown).toBeLessThan(600);
  expect(await corpora.load(load)).toMatchObject({
    loaded: 0,
    unchanged: counts.loaded,
    removed: 0,
    skipped: 0,
  });
  const times: number[] = [];
  for (let file = 5; file < 105; file += 1) {
    const start = performance.now();
    const [first] = await corpora.search({ app: 'large', corpus: 'all', query: `of file f${file}x` });
    times.push(performance.now() - start);
    expect(first?.path).toBe(`${file % 10}/${file}.txt`);
  }
  times.sort((one, other) => one - other);
  process.stdout.write(`a search takes ${times[50]?.toFixed(1)} ms at the median\n`);
  expect(await corpora.remove({ app: 'large', corpus: 'all' })).toBe(counts.loaded);
}, 2_400_000);
