import type { InitOptions } from '../init/init-command.ts';
import type { AddCommand } from './command.ts';

export const init: AddCommand = (holdfast) => {
  holdfast
    .command('init')
    .description('make a project that runs, with a test')
    .argument('[folder]', 'where it is made', '.')
    .option('--force', 'overwrite files that are there')
    .option('--json', 'one JSON value: { folder, files, next }')
    .action(async (folder: string, options: InitOptions) => {
      const { initCommand } = await import('../init/init-command.ts');
      initCommand(folder, options);
    });
};
