import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const temporal: AddCommand = (holdfast, act) => {
  holdfast
    .command('temporal')
    .description('run the Temporal CLI on the server of the folder, or on the configured one')
    .argument('[arguments...]', 'of the Temporal CLI, as they are: workflow list --query …')
    .option(...FOLDER_OPTION)
    .allowUnknownOption()
    .passThroughOptions()
    .action(act(async () => (await import('../temporal/temporal-command.ts')).temporalCommand));
};
