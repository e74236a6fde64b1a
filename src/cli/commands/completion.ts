import { Argument } from 'commander';
import type { AddCommand } from './command.ts';

export const completion: AddCommand = (holdfast) => {
  holdfast
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell that reads the script').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScript } = await import('../completion/completion-script.ts');
      process.stdout.write(completionScript(shell, holdfast));
    });
};
