import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { newNames, Turn } from './suite/turns/turn.ts';
import { temporaryFolder } from './temporary-folder.ts';

const parent = temporaryFolder();
const template = join(parent, 'templates');

async function killWhileItPrepares(): Promise<void> {
  const script = fileURLToPath(new URL('./appending-process.ts', import.meta.url));
  const child = spawn(process.execPath, [script, join(parent, 'killed'), '1', template], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: child.stdout }).once('line', () => child.kill('SIGKILL'));
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
}

test('a ready-made store is made once, whoever is killed or comes at the same time, and copies are apart [testing.environment]', async () => {
  await killWhileItPrepares();
  const lines: string[] = [];
  const open = (name: string) =>
    openStore({ folder: join(parent, name), template, onProgress: (line) => lines.push(line) });
  const making = performance.now();
  const [first, second] = await Promise.all([open('first'), open('second')]);
  const copying = performance.now();
  expect(lines.filter((line) => line.includes('initialising'))).toHaveLength(1);
  const third = await open('third');
  const opened = performance.now();
  console.log(`made: ${(copying - making).toFixed(0)} ms, copied: ${(opened - copying).toFixed(0)} ms`);
  expect(lines.filter((line) => /initialising|creating/.test(line))).toHaveLength(2);
  expect(readdirSync(template).filter((name) => !name.endsWith('.new'))).toHaveLength(1);

  const names = newNames();
  const stores = [first, second, third];
  for (const [index, store] of stores.entries()) {
    for (let turns = 0; turns <= index; turns += 1) await new Turn(store, { names }).opened(1);
  }
  const counts = await Promise.all(
    stores.map(async (store) => (await store.sessions.readEvents(names)).length),
  );
  expect(counts).toEqual([1, 2, 3]);
  await Promise.all(stores.map((store) => store.close()));
  const again = await open('second');
  expect(await again.sessions.readEvents(names)).toHaveLength(2);
  await again.close();
});

test('a folder of ready-made stores that can not be used is named [testing.environment]', async () => {
  const file = join(parent, 'file');
  writeFileSync(file, '');
  await expect(openStore({ folder: join(parent, 'none'), template: file })).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: expect.stringContaining(file),
  });
});

test('a damaged ready-made store is named, and its copy is not left in the folder [testing.environment]', async () => {
  const folder = join(parent, 'damaged');
  const [made = ''] = readdirSync(template).filter((name) => !name.endsWith('.new'));
  rmSync(join(template, made, 'global', 'pg_control'));
  await expect(openStore({ folder, template })).rejects.toMatchObject({
    code: 'HOLDFAST_STORE_UNAVAILABLE',
    message: expect.stringContaining(join(template, made)),
  });
  expect(readdirSync(folder)).not.toContain('store');
});
