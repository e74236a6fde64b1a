import { Argument } from 'commander';
import { COMPLETION_SCRIPTS, completionsOf } from '../completion.ts';
import type { AddCommand } from './command.ts';

const SHELLS = Object.keys(COMPLETION_SCRIPTS);

export const completion: AddCommand = (holdfast) => {
  holdfast
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell that reads the script').choices(SHELLS))
    .action((shell: keyof typeof COMPLETION_SCRIPTS) => {
      process.stdout.write(COMPLETION_SCRIPTS[shell]);
    });
  holdfast
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: string[]) => {
      for (const { word, description } of completionsOf(holdfast, words))
        process.stdout.write(`${word}\t${description}\n`);
    });
};
