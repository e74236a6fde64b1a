import { Command } from 'commander';
import { ownVersion } from '../own-files.ts';
import { COMMANDS } from './commands/all.ts';
import type { Act } from './commands/command.ts';

interface ProgramOptions {
  /** Words of a command line: groups of commands that none of them names stay empty. Defaults to all groups being filled. */
  words?: readonly string[];
  /** Is told the exit code where it isn't 0. */
  exit?: (code: number) => void;
}

/** The `holdfast` command with all that it can do. */
export async function holdfastProgram({
  words,
  exit = () => undefined,
}: ProgramOptions = {}): Promise<Command> {
  const holdfast = new Command('holdfast')
    .description('Durable agents on Temporal')
    .version(ownVersion())
    .showHelpAfterError('(holdfast --help shows what there is)')
    // Words after holdfast temporal are for that program.
    .enablePositionalOptions()
    .exitOverride();
  const act: Act =
    (load) =>
    async (...given) => {
      // Commander's last two are the options and the command.
      const options = { ...(given.at(-2) as object), env: process.env };
      const work: (...given: never[]) => unknown = await load();
      const code = await work(...([...given.slice(0, -2), options] as never[]));
      if (typeof code === 'number') exit(code);
    };
  for (const add of COMMANDS) {
    if (typeof add === 'function') {
      add(holdfast, act);
      continue;
    }
    const { name, description, load } = add;
    const group = holdfast.command(name).description(description);
    if (words?.includes(name) ?? true) (await load())(group, act);
  }
  return holdfast;
}
