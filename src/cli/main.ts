import { createRequire } from 'node:module';
import { Command, CommanderError } from 'commander';
import { CliError, describeError } from './cli-error.ts';
import type { RunOptions } from './run-command.ts';

const FOLDER_OPTION = ['--folder <path>', 'folder of the embedded server and store', '.holdfast'] as const;

function versionOf(): string {
  const built = import.meta.url.endsWith('.js');
  const manifest: unknown = createRequire(import.meta.url)(
    built ? '../../../package.json' : '../../package.json',
  );
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '';
}

function program(exit: (code: number) => void): Command {
  const holdfast = new Command('holdfast')
    .description('Durable agents on Temporal')
    .version(versionOf())
    .showHelpAfterError('(holdfast --help shows what there is)')
    .exitOverride();
  holdfast
    .command('run')
    .description('run one turn to its end, or attach to it')
    .argument('<agents.ts>', 'file that exports the agents')
    .requiredOption('--message <text>', 'what the user says')
    .option('--agent <name>', 'agent that answers (default: rootAgent)')
    .option('--session <id>', 'session to go on with (default: a new one)')
    .option('--user <id>', 'user of the session', 'user')
    .option('--app <name>', "app of the session (default: the file's name)")
    .option('--message-id <id>', 'one message id is one turn: given again, it attaches (default: a new one)')
    .option('--json', 'JSON Lines on standard output, one ADK event per line')
    .option('--stop-server', 'stop the embedded Temporal server at the end (default: it stays up for its UI)')
    .option(...FOLDER_OPTION)
    .action(async (file: string, options: RunOptions) => {
      const { runCommand } = await import('./run-command.ts');
      exit(await runCommand(file, options));
    });
  holdfast
    .command('stop')
    .description('stop the Temporal server that a command left running in this folder')
    .option(...FOLDER_OPTION)
    .action(async ({ folder }: { folder: string }) => {
      const { stopCommand } = await import('./stop-command.ts');
      await stopCommand(folder);
    });
  return holdfast;
}

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
    await program((given) => {
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
