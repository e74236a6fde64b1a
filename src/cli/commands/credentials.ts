import { type Command, Option } from 'commander';
import { listAppCredentials, listUserCredentials, putCredential } from '../../contract/credentials.ts';
import { UsageError } from '../cli-error.ts';
import type { AddCredentialOptions } from '../credentials/add-credential.ts';
import type { ListCredentialsOptions } from '../credentials/list-credentials.ts';
import type { RemoveCredentialOptions } from '../credentials/remove-credential.ts';
import { fieldOption } from '../field-option.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

const ONLY_APP = '(default: the only one that has sessions)';

type InFolder<Options> = Options & { folder: string };

export const credentials: AddToGroup = (group) => {
  owned(group.command('add').description('store a secret, typed hidden or piped in, and print its reference'))
    .addOption(fieldOption(putCredential, 'credentialKey', '--name <key>').makeOptionMandatory())
    .addOption(
      new Option('--type <type>', 'what the secret is')
        .choices(['api-key', 'bearer', 'basic'])
        .makeOptionMandatory(),
    )
    .option('--username <name>', 'of --type basic; the secret is the password')
    .addOption(fieldOption(putCredential, 'label', '--label <text>'))
    .option('--json', 'one JSON value: the stored credential, without the secret')
    .addOption(new Option('--secret [secret]').argParser(refuseSecret).hideHelp())
    .action(async ({ secret, ...options }: InFolder<AddCredentialOptions> & { secret?: unknown }) => {
      if (secret !== undefined) refuseSecret();
      const { addCredential } = await import('../credentials/add-credential.ts');
      await addCredential({ ...options, env: process.env });
    });

  group
    .command('list')
    .description('what is stored, without the secrets')
    .addOption(fieldOption(listAppCredentials, 'app', '--app <name>', { help: ONLY_APP }))
    .addOption(fieldOption(listUserCredentials, 'userId', '--user <id>', { help: '(default: all of them)' }))
    .option('--json', 'one JSON value: { credentials }')
    .option(...FOLDER_OPTION)
    .action(async (options: InFolder<ListCredentialsOptions>) => {
      const { listCredentials } = await import('../credentials/list-credentials.ts');
      await listCredentials({ ...options, env: process.env });
    });

  owned(group.command('remove').description('remove a secret'))
    .argument('<credential>', 'its reference, cr-…, or its name')
    .option('--json', 'one JSON value: { removed }')
    .action(async (argument: string, options: InFolder<RemoveCredentialOptions>) => {
      const { removeCredential } = await import('../credentials/remove-credential.ts');
      await removeCredential(argument, { ...options, env: process.env });
    });
};

function owned(command: Command): Command {
  return command
    .addOption(fieldOption(putCredential, 'app', '--app <name>', { help: ONLY_APP }))
    .addOption(fieldOption(putCredential, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}

/** Never repeats it. */
function refuseSecret(): never {
  throw new UsageError(
    '--secret: a command line is read by other processes and kept by the shell: leave it out, and type the secret where it is ' +
      'asked for, or pipe it in. The one that was given here is better changed',
  );
}
