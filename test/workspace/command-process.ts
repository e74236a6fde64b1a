import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '../../src/tools/workspace/sandbox.ts';

/** Runs a command until it is killed. */
await new Sandbox('test').run({
  argv: ['sh', '-c', 'setsid sleep 72.5 & sleep 72.5 & wait'],
  root: mkdtempSync(join(tmpdir(), 'holdfast-killed-')),
  ownsRoot: true,
  abortSignal: undefined,
});
