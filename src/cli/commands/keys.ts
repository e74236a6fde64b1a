import { createKey, listDenials, listKeys, revokeKey, rotateKey } from '../../contract/keys.ts';
import type { Permission } from '../../contract/lists.ts';
import { UsageError } from '../cli-error.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import type { ListDenialsOptions } from '../keys/list-denials.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';
import { milliseconds } from './setting.ts';

/** Milliseconds: for those who use the old text to get the new one. */
const GRACE = 86_400_000;

interface CreateOptions {
  approver?: string;
  out?: string;
  app?: readonly string[];
  role?: readonly Permission[];
  user?: string;
  expires?: number;
  json?: boolean;
  folder: string;
}

export const keys: AddToGroup = (group) => {
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
    .action(async (name: string | undefined, options: CreateOptions) => await create(name, options));

  group
    .command('show')
    .description('print what the app lists to believe a key that signs decisions')
    .argument('<file.json>', 'of holdfast keys create --approver')
    .option('--json', 'one JSON value: the issuer')
    .action(async (file: string, options: { json?: boolean }) => {
      const { showKey } = await import('../keys/show-key.ts');
      showKey(file, options);
    });

  group
    .command('list')
    .description(summaryOf(listKeys))
    .option('--json', 'one JSON value: { keys }')
    .option(...FOLDER_OPTION)
    .action(async (options: { json?: boolean; folder: string }) => {
      const { listApiKeys } = await import('../keys/list-api-keys.ts');
      await listApiKeys({ ...options, env: process.env });
    });

  group
    .command('revoke')
    .description(summaryOf(revokeKey))
    .addArgument(fieldArgument(revokeKey, 'key', '<key>'))
    .option('--json', 'one JSON value: the key')
    .option(...FOLDER_OPTION)
    .action(async (key: string, options: { json?: boolean; folder: string }) => {
      const { revokeApiKey } = await import('../keys/change-api-key.ts');
      await revokeApiKey(key, { ...options, env: process.env });
    });

  group
    .command('rotate')
    .description(summaryOf(rotateKey))
    .addArgument(fieldArgument(rotateKey, 'key', '<key>'))
    .addOption(
      fieldOption(rotateKey, 'grace', '--grace <duration>', { read: milliseconds }).default(GRACE, '1d'),
    )
    .option('--json', 'one JSON value: { key, keyId, … }')
    .option(...FOLDER_OPTION)
    .action(async (key: string, options: { grace: number; json?: boolean; folder: string }) => {
      const { rotateApiKey } = await import('../keys/change-api-key.ts');
      await rotateApiKey(key, { ...options, env: process.env });
    });

  group
    .command('denials')
    .description(summaryOf(listDenials))
    .option('--since <duration>', 'of so long ago at most, 1h', milliseconds)
    .addOption(fieldOption(listDenials, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { denials }')
    .option(...FOLDER_OPTION)
    .action(async (options: ListDenialsOptions & { folder: string }) => {
      const commands = await import('../keys/list-denials.ts');
      await commands.listDenials({ ...options, env: process.env });
    });
};

async function create(name: string | undefined, options: CreateOptions): Promise<void> {
  const { approver, out, json, app, role, user, expires, folder } = options;
  if (approver !== undefined) {
    if (name !== undefined || app !== undefined || role !== undefined || user !== undefined) {
      throw new UsageError(
        '--approver makes a key that signs decisions: leave NAME, --app, --role and --user out',
      );
    }
    const { createKey } = await import('../keys/create-key.ts');
    return await createKey({
      approver,
      ...(out === undefined ? {} : { out }),
      ...(json === undefined ? {} : { json }),
    });
  }
  if (name === undefined || app === undefined || role === undefined) {
    throw new UsageError(
      'say who uses the key and what it may do: holdfast keys create NAME --app APP --role run,read; or make a key that signs ' +
        'decisions, with --approver NAME',
    );
  }
  const { createApiKey } = await import('../keys/create-api-key.ts');
  await createApiKey({
    ...{ name, app, role, folder, env: process.env },
    ...(user === undefined ? {} : { user }),
    ...(expires === undefined ? {} : { expires }),
    ...(json === undefined ? {} : { json }),
  });
}

function repeated(text: string, before: unknown): readonly unknown[] {
  return [...((before as readonly unknown[] | undefined) ?? []), text];
}

function repeatedWords(text: string, before: unknown): unknown {
  return text.split(',').reduce((words: unknown, word) => repeated(word.trim(), words), before);
}
