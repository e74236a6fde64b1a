import { CommanderError } from 'commander';
import { CliError, describeError } from './cli-error.ts';
import { holdfastProgram } from './program.ts';

/** The `holdfast` command. Ends the process: 0, 1 for a failure, 2 for a wrong command line, 130 where interrupted. */
export async function main(args: readonly string[]): Promise<never> {
  // `| head` has read enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  const code = await exitCodeOf(args);
  for (const stream of [process.stdout, process.stderr])
    await new Promise((written) => stream.write('', written));
  // A tool that doesn't heed its signal, or a server that doesn't answer, must not hold the terminal.
  process.exit(code);
}

async function exitCodeOf(args: readonly string[]): Promise<number> {
  let code = 0;
  try {
    await holdfastProgram((given) => {
      code = given;
    }).parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`holdfast: ${describeError(error)}\n`);
    return error instanceof CliError ? error.exitCode : 1;
  }
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1])
  await main(process.argv.slice(2));
