import { openSync } from 'node:fs';
import { runProgram } from '../../src/tools/workspace/run-program.ts';
import { endWithProcess } from '../../worker/embedded/end-with-process.ts';
import { run } from '../../worker/temporal/child-process.ts';

/** Starts programs with too many files open, and says what came of it. A process of its own: an uncaught error would end it. */
try {
  for (;;) openSync('/dev/null', 'r');
} catch (error) {
  console.log((error as NodeJS.ErrnoException).code);
}
const program = { command: 'true', args: [], directory: '/', timeout: 5_000, abortSignal: undefined };
console.log(`Process error: ${(await runProgram(program)).error?.message}`);
console.log((await run('true', [], { env: process.env, timeout: 5_000 })).failure);
endWithProcess('/nowhere', { remove: false })();
console.log('goes on');
