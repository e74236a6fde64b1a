import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readDevEntry, writeDevEntry } from '../../worker/folder/dev-file.ts';
import { acquireFolder, FolderInUse, FolderUnusable } from '../../worker/folder/lock.ts';
import { startProgram, temporaryFolder } from './temporal-fixture.ts';

const posix = process.platform !== 'win32';

describe('the owner of a folder [folder.owner]', () => {
  test('makes it for this user only, is named in it, and releases it once', () => {
    const folder = join(temporaryFolder(), 'new', '.holdfast');
    const ownership = acquireFolder(folder);
    expect(ownership.folder).toBe(folder);
    if (posix) expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(folder, 'owner.json'), 'utf8'))).toMatchObject({
      v: 1,
      pid: process.pid,
    });
    ownership.release();
    const next = acquireFolder(folder);
    ownership.release();
    expect(() => acquireFolder(folder)).toThrow(FolderInUse);
    next.release();
    expect(existsSync(join(folder, 'owner.json'))).toBe(false);
  });

  test('is alone, also within one process', () => {
    const folder = temporaryFolder();
    const ownership = acquireFolder(folder);
    expect(() => acquireFolder(folder)).toThrow(`in use by this process (pid ${process.pid})`);
    ownership.release();
  });

  test('keeps a second process out while it lives, and lets it in right after SIGKILL', async () => {
    const folder = temporaryFolder();
    const first = startProgram('folder-owner-program.ts', [folder]);
    expect(await first.line()).toBe('owner');
    const refused = JSON.parse(await startProgram('folder-owner-program.ts', [folder]).line());
    expect(refused.code).toBe('HOLDFAST_FOLDER_IN_USE');
    expect(refused.message).toContain(folder);
    expect(refused.message).toMatch(new RegExp(`process ${first.pid} since \\d{4}-`));
    await first.kill();
    const ownership = acquireFolder(folder);
    ownership.release();
  });

  test('is told why a folder is of no use', () => {
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(() => acquireFolder(file)).toThrow(FolderUnusable);
    expect(() => acquireFolder(join(file, 'below'))).toThrow(file);
  });

  test('hears no warning about SQLite, but every other', async () => {
    const folder = temporaryFolder();
    const owner = acquireFolder(folder);
    const program = fileURLToPath(new URL('./folder-owner-program.ts', import.meta.url));
    const { stderr } = await promisify(execFile)(process.execPath, [program, folder]);
    owner.release();
    expect(stderr).toContain('a warning of another kind');
    expect(stderr).not.toContain('SQLite');
  });
});

describe('dev.json [folder.file]', () => {
  const schema = z.object({ address: z.string() });

  test('keeps what it does not know, whole and private', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'dev.json');
    writeFileSync(file, JSON.stringify({ v: 1, gateway: { port: 1 }, later: [2] }));
    writeDevEntry(folder, 'temporal', { address: 'a:1' });
    expect(readDevEntry(folder, 'temporal', schema)).toEqual({ address: 'a:1' });
    if (posix) expect(statSync(file).mode & 0o777).toBe(0o600);
    writeDevEntry(folder, 'temporal', undefined);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ v: 1, gateway: { port: 1 }, later: [2] });
  });

  test('has no entry where there is no file, or one of another shape', () => {
    const folder = temporaryFolder();
    expect(readDevEntry(folder, 'temporal', schema)).toBeUndefined();
    writeDevEntry(folder, 'temporal', { host: 'a' });
    expect(readDevEntry(folder, 'temporal', schema)).toBeUndefined();
  });

  test.each(['{', '[]', 'null'])('that holds %s is an error that says what to do', (text) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'dev.json'), text);
    expect(() => readDevEntry(folder, 'temporal', schema)).toThrow(/dev\.json is not a JSON object \(delete/);
  });
});
