import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const stop: AddCommand = (holdfast) => {
  holdfast
    .command('stop')
    .description('stop the Temporal server that a command left running in this folder')
    .option(...FOLDER_OPTION)
    .action(async ({ folder }: { folder: string }) => {
      const { stopCommand } = await import('../stop-command.ts');
      await stopCommand(folder);
    });
};
