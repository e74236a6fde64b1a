import { existsSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeFolder } from '../../src/store/engine/make-folder.ts';
import { acquireFolder } from '../../worker/folder/lock.ts';

describe('a folder', () => {
  test('is made with those above it, and may be there [folder.made]', () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'holdfast-folder-')), 'a', 'b');
    makeFolder(folder, 0o700);
    makeFolder(folder, 0o700);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('that can’t be made ends with a sentence, also where Node would try for ever [folder.made]', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'holdfast-folder-')), 'file');
    writeFileSync(file, '');
    expect(() => acquireFolder(file)).toThrow("can't be used");
    expect(() => acquireFolder(join(file, 'below'))).toThrow("can't be used");
    if (existsSync('/proc/self')) {
      expect(() => acquireFolder('/proc/holdfast/below')).toThrow("can't be used");
    }
  });
});
