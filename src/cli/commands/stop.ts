import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const stop: AddCommand = (holdfast, act) => {
  holdfast
    .command('stop')
    .description('stop the Temporal server that a command left running in this folder')
    .option('--json', 'one JSON value: { stopped }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../stop-command.ts')).stopCommand));
};
