import { Command } from 'commander';
import { ownVersion } from '../own-version.ts';
import { COMMANDS } from './commands/all.ts';

/** The `holdfast` command with all that it can do. */
export function holdfastProgram(exit: (code: number) => void = () => undefined): Command {
  const holdfast = new Command('holdfast')
    .description('Durable agents on Temporal')
    .version(ownVersion())
    .showHelpAfterError('(holdfast --help shows what there is)')
    // Words after holdfast temporal are for that program.
    .enablePositionalOptions()
    .exitOverride();
  for (const add of COMMANDS) add(holdfast, exit);
  return holdfast;
}
