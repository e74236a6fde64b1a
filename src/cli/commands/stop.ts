import type { StopOptions } from '../stop-command.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const stop: AddCommand = (holdfast) => {
  holdfast
    .command('stop')
    .description('stop the Temporal server that a command left running in this folder')
    .option('--json', 'one JSON value: { stopped }')
    .option(...FOLDER_OPTION)
    .action(async (options: StopOptions) => {
      const { stopCommand } = await import('../stop-command.ts');
      await stopCommand(options);
    });
};
