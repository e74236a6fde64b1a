import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { contextWith } from '../definitions/tool-context.ts';
import { isDeep } from '../setup/tier.ts';
import { CommandedWorkspace, callTool } from './workspace-scene.ts';

let folder: string;
let outside: string;
let root: string;
let workspace: CommandedWorkspace;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-attacks-'));
  outside = join(folder, 'outside');
  mkdirSync(join(outside, 'deep'), { recursive: true });
  writeFileSync(join(outside, 'secret.txt'), 'SECRET of outside\n');
  writeFileSync(join(outside, 'deep', 'secret.txt'), 'SECRET of the deep\n');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function newRoot(): void {
  root = mkdtempSync(join(folder, 'root-'));
  workspace = new CommandedWorkspace(root);
  mkdirSync(join(root, 'src'));
  writeFileSync(join(root, 'src/a.ts'), 'inside\n');
}

function stateOfOutside(): unknown {
  return (readdirSync(outside, { recursive: true }) as string[]).sort().map((name) => {
    const { mode, size, mtimeMs, ino } = lstatSync(join(outside, name));
    return { name, mode, size, mtimeMs, ino };
  });
}

/** Asks all tools for a path. */
async function askAll(path: string): Promise<string> {
  const call = (name: string, args: Record<string, unknown>) =>
    callTool(workspace, name, { path, ...args }, contextWith());
  return JSON.stringify([
    await call('read_file', {}),
    await call('edit_file', { oldText: 'SECRET', newText: 'taken', all: true }),
    await call('write_file', { text: 'taken' }),
    await call('write_file', { path: `${path}/made/by/attack.txt`, text: 'taken' }),
    await call('list_files', {}),
    await call('glob', { pattern: '**' }),
    await call('grep', { pattern: '(?i)secret|root:|inside', context: 2 }),
  ]);
}

const link = (name: string, target: () => string) => () => symlinkSync(target(), join(root, name));
const none = () => undefined;
const inOutside = (name: string) => () => join(outside, name);

type Attack = [name: string, prepare: () => unknown, path: string | (() => string)];

const ATTACKS: readonly Attack[] = [
  ['an absolute path', none, '/etc/passwd'],
  ['an absolute path of another folder', none, inOutside('secret.txt')],
  ['an absolute path with two slashes', none, '//etc/passwd'],
  ['a path that only begins like the root', none, () => `${root}-other/secret.txt`],
  ['the root and a way up', none, () => `${root}/../outside/secret.txt`],
  ['the folder above', none, '..'],
  ['a way up', none, '../outside/secret.txt'],
  ['a way up from a folder', none, 'src/../../outside/secret.txt'],
  ['a way up that stays inside', none, 'src/../src/a.ts'],
  ['a way up with blanks of slashes', none, 'src//..//..//outside/secret.txt'],
  ['a way up with dots between', none, './src/./.././../outside/secret.txt'],
  ['a way up at the end', none, 'src/..'],
  ['a way up in backslashes', none, '..\\outside\\secret.txt'],
  ['a way up, encoded', none, '%2e%2e/outside/secret.txt'],
  ['a way up in wide characters', none, '．．/outside/secret.txt'],
  ['three dots', none, '.../outside/secret.txt'],
  ['a NUL', none, 'src/a.ts\0/../../outside/secret.txt'],
  ['a NUL at the end', none, '../outside/secret.txt\0.ts'],
  ['a line end', none, 'src/a.ts\n../outside/secret.txt'],
  ['a home', none, '~/.ssh/id_rsa'],
  ['a variable', none, '$HOME/.ssh/id_rsa'],
  ['a file: address', none, 'file:///etc/passwd'],
  ['an option of a program', none, '--pre=cat'],
  ['an option of a program, short', none, '-f../outside/secret.txt'],
  ['a very long name', none, `src/${'n'.repeat(300)}`],
  ['a very long path', none, 'n/'.repeat(3_000)],
  ['a lone surrogate', none, 'src/\ud800'],
  ['a link to a file', link('l', inOutside('secret.txt')), 'l'],
  ['a link to /etc/passwd', link('l', () => '/etc/passwd'), 'l'],
  ['a link to a folder', link('l', () => outside), 'l'],
  ['a file through a link to a folder', link('l', () => outside), 'l/secret.txt'],
  ['a file through a relative link', link('l', () => '../outside'), 'l/secret.txt'],
  ['a file through a link to the whole system', link('l', () => '/'), 'l/etc/passwd'],
  ['a file that is new through a link', link('l', () => outside), 'l/new.txt'],
  ['a link that dangles outside', link('l', inOutside('new.txt')), 'l'],
  ['a link in a folder', link('src/l', () => outside), 'src/l/deep/secret.txt'],
  ['a link to a link', () => [link('k', () => outside)(), link('l', () => 'k')()], 'l/secret.txt'],
  ['a link to itself', link('l', () => 'l'), 'l'],
  ['a link to the root of this process', link('l', () => '/proc/self/root'), 'l/etc/passwd'],
  ['a link to the folder of this process', link('l', () => '/proc/self/cwd'), 'l/package.json'],
  ['a link to open files of this process', link('l', () => '/proc/self/fd'), 'l/0'],
  ['a link to variables of this process', link('l', () => '/proc/self/environ'), 'l'],
  ['a link to a device', link('l', () => '/dev/zero'), 'l'],
  ['a link to a terminal', link('l', () => '/dev/tty'), 'l'],
  ['a way up through a link', link('l', () => join(outside, 'deep')), 'l/../secret.txt'],
  ['a FIFO', () => spawnSync('mknod', [join(root, 'f'), 'p']), 'f'],
  ['a FIFO as a folder', () => spawnSync('mknod', [join(root, 'f'), 'p']), 'f/a.ts'],
  ['rules of git that are a link', link('.gitignore', inOutside('secret.txt')), '.gitignore'],
  ['a device of its own', () => spawnSync('mknod', [join(root, 'd'), 'c', '1', '5']), 'd'],
  ['names that differ by case', () => writeFileSync(join(root, 'SRC'), 'inside'), 'SRC'],
];

test('50 attacks on paths', () => expect(ATTACKS.length).toBeGreaterThanOrEqual(50));

test.each(ATTACKS)(
  '%s leads no file tool out of the root [workspace.paths]',
  async (_name, prepare, path) => {
    newRoot();
    prepare();
    const before = stateOfOutside();
    const answers = await askAll(typeof path === 'string' ? path : path());
    expect(answers).not.toMatch(/SECRET of|root:.*:0:0:|HOME=/);
    expect(stateOfOutside()).toEqual(before);
  },
);

test('a socket is no file, and a file with a second name outside is replaced, not changed [workspace.paths]', async () => {
  newRoot();
  const server = createServer().listen(join(root, 's'));
  await once(server, 'listening');
  expect(await askAll('s')).not.toContain('SECRET');
  server.close();
  linkSync(join(outside, 'secret.txt'), join(root, 'hard.txt'));
  await callTool(workspace, 'write_file', { path: 'hard.txt', text: 'taken' }, contextWith());
  expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('SECRET of outside\n');
  expect(readFileSync(join(root, 'hard.txt'), 'utf8')).toBe('taken');
});

/** Puts a link in the place of a folder, and the folder back, until it is killed. A tool may make the folder meanwhile. */
const SWAPS = `
const { renameSync, rmSync, symlinkSync, unlinkSync } = require('node:fs');
const [path, target] = process.argv.slice(1);
console.log('swaps');
for (;;) {
  renameSync(path, path + '.away');
  try {
    symlinkSync(target, path);
    unlinkSync(path);
  } catch {}
  for (let isBack = false; !isBack; ) {
    try {
      renameSync(path + '.away', path);
      isBack = true;
    } catch {
      rmSync(path, { recursive: true, force: true });
    }
  }
}`;

test('a folder that becomes a link and back all the time leads nobody out [workspace.races]', async () => {
  newRoot();
  mkdirSync(join(root, 'd/deep'), { recursive: true });
  for (const name of ['d/secret.txt', 'd/deep/secret.txt'])
    writeFileSync(join(root, name), 'inside SECRET\n');
  const before = stateOfOutside();
  const swapping = spawn(process.execPath, ['-e', SWAPS, join(root, 'd'), outside]);
  const closed = once(swapping, 'close');
  await once(swapping.stdout, 'data');
  const seen = new Set<string>();
  try {
    const ask = async (name: string, args: object) =>
      seen.add(JSON.stringify(await callTool(workspace, name, { ...args }, contextWith())));
    for (let round = 0; round < 300; round += 1) {
      await ask('read_file', { path: 'd/secret.txt' });
      await ask('read_file', { path: 'd/deep/secret.txt' });
      await ask('write_file', { path: 'd/made.txt', text: 'made' });
      await ask('write_file', { path: `d/${dirname('new/x')}/${round}.txt`, text: 'made' });
      await ask('edit_file', { path: 'd/deep/secret.txt', oldText: 'SECRET', newText: 'SECRET' });
      await ask('list_files', { path: 'd' });
      if (round % 30 === 0) await ask('grep', { pattern: 'SECRET', context: 3 });
    }
  } finally {
    swapping.kill('SIGKILL');
    await closed;
  }
  expect([...seen].join('\n')).toContain('inside SECRET');
  expect([...seen].join('\n')).not.toMatch(/SECRET of/);
  expect(stateOfOutside()).toEqual(before);
});

test('10,000 files are searched in bounds, and rules of git hold [workspace.search]', async () => {
  newRoot();
  for (let nth = 0; nth < 10_000; nth += 1) {
    const path = join(root, `${nth % 100}`);
    if (nth < 100) mkdirSync(path);
    writeFileSync(join(path, `${nth}.txt`), `needle ${nth} ${'x'.repeat(nth % 50 === 0 ? 5_000 : 10)}\n`);
  }
  writeFileSync(join(root, '.gitignore'), '7/\n');
  const ask = (name: string, args: Record<string, unknown>) => callTool(workspace, name, args, contextWith());
  const found = (await ask('grep', { pattern: 'needle' })) as { lines: string[]; more: string };
  expect(found.lines).toHaveLength(200);
  expect(found.more).toContain('more matches');
  expect(JSON.stringify(found).length).toBeLessThan(200 * 600);
  const files = (await ask('glob', { pattern: '**/*.txt' })) as { files: string[]; more: string };
  expect(files.files).toHaveLength(500);
  expect(files.more).toContain('500');
  expect(await ask('grep', { pattern: 'needle 7\\b' })).toEqual({ lines: [] });
  expect(await ask('grep', { pattern: 'NEEDLE 12 x', ignoreCase: true, literal: true })).toEqual({
    lines: ['12/12.txt:1:needle 12 xxxxxxxxxx'],
  });
  expect(await ask('grep', { pattern: '(a' })).toContain('unclosed group');
  expect(await ask('grep', { pattern: '--pre=cat', literal: true })).toEqual({ lines: [] });
});

if (isDeep) {
  test('rules of git that are a FIFO end a search in time, and with a reason [workspace.search]', async () => {
    newRoot();
    spawnSync('mknod', [join(root, '.gitignore'), 'p']);
    const answer = await callTool(workspace, 'grep', { pattern: 'inside' }, contextWith());
    expect(answer).toContain('took too long');
  });
}
