import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { putStore } from '../setup/made-store.ts';

/** A folder that is removed after the tests of the file; call it outside of tests or in a hook. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The same, with an empty embedded store. */
export function folderWithStore(): string {
  const folder = temporaryFolder();
  putStore(folder);
  return folder;
}
