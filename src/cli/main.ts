import { CommanderError } from 'commander';
import { forgetEmptyVariables } from '../environment.ts';
import { visibleLines } from '../protocol/visible-text.ts';
import { describeError, exitCodeFor } from './cli-error.ts';
import { holdfastProgram } from './program.ts';
import { VARIABLE_NAMES } from './variables.ts';

/** The `holdfast` command. Ends the process: 0, 1 for a failure, 2 for a wrong command line, 3 for a turn that is left waiting for people, 130 where interrupted. */
export async function main(args: readonly string[]): Promise<never> {
  // `| head` has read enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    process.stderr.write(`holdfast: standard output can't be written to: ${error.message}\n`);
    process.exit(1);
  });
  // Remarks that nobody reads are no reason to end a turn.
  process.stderr.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.exit(1);
  });
  // The process would end while something is awaited: that must not pass for success.
  process.once('beforeExit', () => {
    process.stderr.write(
      'holdfast: what it waits for never ends: is there an await in the agents file that never ends?\n',
    );
    process.exit(1);
  });
  forgetEmptyVariables(VARIABLE_NAMES);
  const code = await exitCodeOf(args);
  for (const stream of [process.stdout, process.stderr])
    await new Promise((written) => stream.write('', written));
  // A tool that doesn't heed its signal, or a server that doesn't answer, must not hold the terminal.
  process.exit(code);
}

/** Runs a command line in this process, and returns the code to exit with. */
export async function exitCodeOf(args: readonly string[]): Promise<number> {
  let code = 0;
  try {
    const exit = (given: number) => {
      code = given;
    };
    const holdfast = await holdfastProgram({ words: args, exit });
    await holdfast.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`holdfast: ${visibleLines(describeError(error))}\n`);
    return exitCodeFor(error);
  }
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1])
  await main(process.argv.slice(2));
