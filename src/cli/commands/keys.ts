import { InvalidArgumentError, Option } from 'commander';
import type { GrantRole } from '../../store/keys/key-store.ts';
import { UsageError } from '../cli-error.ts';
import type { ListDenialsOptions } from '../keys/list-denials.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { milliseconds } from './setting.ts';

const ROLES: readonly GrantRole[] = ['run', 'read', 'approve', 'operate'];

/** Milliseconds: for those who use the old text to get the new one. */
const GRACE = 86_400_000;

interface CreateOptions {
  approver?: string;
  out?: string;
  app?: readonly string[];
  role?: readonly GrantRole[];
  user?: string;
  expires?: number;
  json?: boolean;
  folder: string;
}

export const keys: AddCommand = (holdfast) => {
  const group = holdfast
    .command('keys')
    .description('API keys for the gateway, and keys that approvers sign their decisions with');

  group
    .command('create')
    .description('make an API key, shown this once; or with --approver a key that signs decisions')
    .argument('[name]', 'who uses the API key: as whom its owner decides and sends')
    .option('--app <name>', 'app that it may use, `*` for all; may be repeated', repeated)
    .addOption(
      new Option(
        '--role <roles>',
        `what it may do there: ${ROLES.join(', ')}, separated by commas`,
      ).argParser(rolesOf),
    )
    .option('--user <id>', 'the only user in whose name it may act (default: all of the app)')
    .option(
      '--expires <duration>',
      'for how long it is good, 90d (default: until it is revoked)',
      milliseconds,
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
    .description('the API keys, without their secrets')
    .option('--json', 'one JSON value: { keys }')
    .option(...FOLDER_OPTION)
    .action(async (options: { json?: boolean; folder: string }) => {
      const { listApiKeys } = await import('../keys/list-api-keys.ts');
      await listApiKeys({ ...options, env: process.env });
    });

  group
    .command('revoke')
    .description('end an API key: no gateway takes it any more, 5 seconds later at most')
    .argument('<key>', 'its id, or its name where one key has it')
    .option('--json', 'one JSON value: the key')
    .option(...FOLDER_OPTION)
    .action(async (key: string, options: { json?: boolean; folder: string }) => {
      const { revokeApiKey } = await import('../keys/change-api-key.ts');
      await revokeApiKey(key, { ...options, env: process.env });
    });

  group
    .command('rotate')
    .description('give an API key another text, shown this once')
    .argument('<key>', 'its id, or its name where one key has it')
    .addOption(
      new Option('--grace <duration>', 'for how long the text before stays good')
        .default(GRACE, '1d')
        .argParser(milliseconds),
    )
    .option('--json', 'one JSON value: { key, keyId, … }')
    .option(...FOLDER_OPTION)
    .action(async (key: string, options: { grace: number; json?: boolean; folder: string }) => {
      const { rotateApiKey } = await import('../keys/change-api-key.ts');
      await rotateApiKey(key, { ...options, env: process.env });
    });

  group
    .command('denials')
    .description('what gateways have refused in the last 30 days')
    .option('--since <duration>', 'of so long ago at most, 1h', milliseconds)
    .option('--limit <number>', 'so many lines at most', wholeNumber, 100)
    .option('--json', 'one JSON value: { denials }')
    .option(...FOLDER_OPTION)
    .action(async (options: ListDenialsOptions & { folder: string }) => {
      const { listDenials } = await import('../keys/list-denials.ts');
      await listDenials({ ...options, env: process.env });
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

function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** @throws InvalidArgumentError */
function rolesOf(text: string, before: readonly GrantRole[] = []): readonly GrantRole[] {
  const roles = text.split(',').map((each) => ROLES.find((role) => role === each.trim()));
  if (roles.includes(undefined)) throw new InvalidArgumentError(`expected some of ${ROLES.join(', ')}`);
  return [...before, ...roles.filter((role) => role !== undefined)];
}

/** @throws InvalidArgumentError */
function wholeNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= 1 && number <= 1_000) return number;
  throw new InvalidArgumentError('expected a whole number of 1 to 1000');
}
