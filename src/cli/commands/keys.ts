import type { CreateKeyOptions } from '../keys/create-key.ts';
import type { AddCommand } from './command.ts';

export const keys: AddCommand = (holdfast) => {
  const group = holdfast.command('keys').description('keys that approvers sign their decisions with');

  group
    .command('create')
    .description('make a key, and print what the app lists to believe it')
    .requiredOption('--approver <name>', 'who signs with it')
    .option('--out <file.json>', 'where the private key is written (default: <name>.key.json)')
    .option('--json', 'one JSON value: { file, issuer }')
    .action(async (options: CreateKeyOptions) => {
      const { createKey } = await import('../keys/create-key.ts');
      await createKey(options);
    });

  group
    .command('show')
    .description('print what the app lists to believe a key')
    .argument('<file.json>', 'of holdfast keys create')
    .option('--json', 'one JSON value: the issuer')
    .action(async (file: string, options: { json?: boolean }) => {
      const { showKey } = await import('../keys/show-key.ts');
      showKey(file, options);
    });
};
