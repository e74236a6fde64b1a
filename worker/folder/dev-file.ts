import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeJsonAtomically } from './atomic-write.ts';
import { FolderUnusable } from './lock.ts';

const contentSchema = z.looseObject({ v: z.number().int().default(1) });

type DevFileContent = z.infer<typeof contentSchema>;

/**
 * One entry of `dev.json`, which names the servers that belong to a folder, or undefined if it is absent or not
 * of the expected shape (a later release may have changed it).
 *
 * @throws {FolderUnusable} the file is not JSON
 */
export function readDevEntry<T>(folder: string, key: string, schema: z.ZodType<T>): T | undefined {
  const entry = schema.safeParse(readDevFile(folder)[key]);
  return entry.success ? entry.data : undefined;
}

/**
 * Sets one entry of `dev.json` (undefined removes it) and keeps all others. For the owner of the folder only:
 * the lock is what makes reading, changing and writing one step.
 */
export function writeDevEntry(folder: string, key: string, entry: unknown): void {
  const content = { ...readDevFile(folder), [key]: entry };
  writeJsonAtomically(devFilePath(folder), content);
}

function readDevFile(folder: string): DevFileContent {
  let text: string;
  try {
    text = readFileSync(devFilePath(folder), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { v: 1 };
    throw error;
  }
  try {
    return contentSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new FolderUnusable(folder, 'its dev.json is not a JSON object (delete that file and start again)', {
      cause: error,
    });
  }
}

function devFilePath(folder: string): string {
  return join(folder, 'dev.json');
}
