import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { folderWithStore, temporaryFolder } from '../store/temporary-folder.ts';
import { HoldfastProcess } from './holdfast-process.ts';

const program = fileURLToPath(new URL('./loading-program.ts', import.meta.url));
const TEMPORAL = /@temporalio\/(client|worker|activity|core-bridge)\//;
const STORE = /\/(kysely|pg|@electric-sql\/pglite)\//;
const WORKER = /\/worker\/(create-worker|bundle)\.ts|\/activities\//;

async function loadedBy(...args: string[]): Promise<{ code: number; loaded: string[] }> {
  const { stdout } = await new HoldfastProcess(args, { program }).finished();
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

describe('a command', () => {
  const none = join(temporaryFolder(), 'none');
  const folder = folderWithStore();

  test.each([
    ['jobs', 'list'],
    ['sessions', 'list'],
    ['approvals', 'list'],
    ['notices', 'list'],
    ['keys', 'denials'],
  ])(
    '%s %s loads neither Temporal nor a store before it knows who serves the folder [cli.light]',
    async (...command) => {
      const { code, loaded } = await loadedBy(...command, '--folder', none);
      expect(code).toBe(1);
      expect(loaded.filter((url) => url.endsWith('/src/cli/connect-folder.ts'))).toHaveLength(1);
      expect(loaded.filter((url) => [TEMPORAL, STORE, WORKER].some((room) => room.test(url)))).toEqual([]);
    },
  );

  test('that reads a list in the store loads neither Temporal nor the worker [cli.light]', async () => {
    const { code, loaded } = await loadedBy('jobs', 'list', '--folder', folder);
    expect(code).toBe(0);
    expect(loaded.filter((url) => STORE.test(url))).not.toEqual([]);
    expect(loaded.filter((url) => [TEMPORAL, WORKER].some((room) => room.test(url)))).toEqual([]);
  });
});
