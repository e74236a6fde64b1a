import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { terminateServers } from '../temporal/server-process.ts';

/** A folder that its program leaves on the disk. */
export interface LeftFolder {
  folder: string;
  /** Whether it is to be deleted, when its server has ended. */
  remove: boolean;
}

/** Waits for the end of the program that has started it, and takes away what that left, having been killed. */
let left: readonly LeftFolder[] = [];
try {
  for await (const line of createInterface(process.stdin)) left = JSON.parse(line);
} catch {
  // Where it can't be heard any more, it has ended.
}
await Promise.all(
  left.map(async ({ folder, remove }) => {
    await terminateServers(folder);
    if (remove) rmSync(folder, { recursive: true, force: true });
  }),
);
