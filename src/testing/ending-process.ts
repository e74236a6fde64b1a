import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { terminateServers } from '../../worker/temporal/server-process.ts';

/** Waits for the end of the program that has started it, and takes away what that left, having been killed. */
const [folder, what] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: ending-process <folder> [remove]');
await once(process.stdin.resume(), 'close');
await terminateServers(folder);
if (what === 'remove') rmSync(folder, { recursive: true, force: true });
