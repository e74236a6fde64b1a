import { createKey, listDenials, listKeys, revokeKey, rotateKey } from '../../contract/keys.ts';
import { UsageError } from '../cli-error.ts';
import type { InFolder } from '../connect-folder.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import type { CreateApiKeyOptions } from '../keys/api-key-commands.ts';
import type { CreateKeyOptions } from '../keys/approver-key-commands.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { milliseconds } from './setting.ts';

/** Milliseconds: for those who use the old text to get the new one. */
const GRACE = 86_400_000;

export const keys: AddCommand = (group, act) => {
  group
    .command('create')
    .description('make an API key, shown this once; or with --approver a key that signs decisions')
    .addArgument(fieldArgument(createKey, 'name', '[name]'))
    .addOption(fieldOption(createKey, 'apps', '--app <name>', { read: repeated }))
    .addOption(fieldOption(createKey, 'roles', '--role <roles>', { read: repeatedWords }))
    .addOption(fieldOption(createKey, 'userId', '--user <id>'))
    .addOption(
      fieldOption(createKey, 'expiresIn', '--expires <duration>', { read: milliseconds, help: 'as 90d' }),
    )
    .option('--approver <name>', 'makes a key that this approver signs with, without a store')
    .option(
      '--out <file.json>',
      'with --approver: where the private key is written (default: <name>.key.json)',
    )
    .option('--json', 'one JSON value: { key, keyId, … }; with --approver { file, issuer }')
    .option(...FOLDER_OPTION)
    .action(act(async () => create));

  group
    .command('show')
    .description('print what the app lists to believe a key that signs decisions')
    .argument('<file.json>', 'of holdfast keys create --approver')
    .option('--json', 'one JSON value: the issuer')
    .action(act(async () => (await import('../keys/approver-key-commands.ts')).showKey));

  group
    .command('list')
    .description(summaryOf(listKeys))
    .option('--json', 'one JSON value: { keys }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../keys/api-key-commands.ts')).listApiKeys));

  group
    .command('revoke')
    .description(summaryOf(revokeKey))
    .addArgument(fieldArgument(revokeKey, 'key', '<key>'))
    .option('--json', 'one JSON value: the key')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../keys/api-key-commands.ts')).revokeApiKey));

  group
    .command('rotate')
    .description(summaryOf(rotateKey))
    .addArgument(fieldArgument(rotateKey, 'key', '<key>'))
    .addOption(
      fieldOption(rotateKey, 'grace', '--grace <duration>', { read: milliseconds }).default(GRACE, '1d'),
    )
    .option('--json', 'one JSON value: { key, keyId, … }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../keys/api-key-commands.ts')).rotateApiKey));

  group
    .command('denials')
    .description(summaryOf(listDenials))
    .option('--since <duration>', 'of so long ago at most, 1h', milliseconds)
    .addOption(fieldOption(listDenials, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { denials }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../keys/api-key-commands.ts')).listDenials));
};

async function create(
  name: string | undefined,
  { approver, ...options }: Partial<CreateKeyOptions> & InFolder<Partial<CreateApiKeyOptions>>,
): Promise<void> {
  const { app, role, user } = options;
  if (approver !== undefined) {
    if (name !== undefined || app !== undefined || role !== undefined || user !== undefined) {
      throw new UsageError(
        '--approver makes a key that signs decisions: leave NAME, --app, --role and --user out',
      );
    }
    const { createKey } = await import('../keys/approver-key-commands.ts');
    return await createKey({ ...options, approver });
  }
  if (name === undefined || app === undefined || role === undefined) {
    throw new UsageError(
      'say who uses the key and what it may do: holdfast keys create NAME --app APP --role run,read; or make a key that signs ' +
        'decisions, with --approver NAME',
    );
  }
  const { createApiKey } = await import('../keys/api-key-commands.ts');
  await createApiKey({ ...options, name, app, role });
}

function repeated(text: string, before: unknown): readonly unknown[] {
  return [...((before as readonly unknown[] | undefined) ?? []), text];
}

function repeatedWords(text: string, before: unknown): unknown {
  return text.split(',').reduce((words: unknown, word) => repeated(word.trim(), words), before);
}
