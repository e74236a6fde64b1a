import { type Command, Option } from 'commander';
import { UsageError } from '../cli-error.ts';
import type { AddCredentialOptions } from '../credentials/add-credential.ts';
import type { ListCredentialsOptions } from '../credentials/list-credentials.ts';
import type { RemoveCredentialOptions } from '../credentials/remove-credential.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

export const credentials: AddToGroup = (group) => {
  owned(group.command('add').description('store a secret, typed hidden or piped in, and print its reference'))
    .requiredOption('--name <key>', "the credentialKey of the tool's authConfig")
    .addOption(
      new Option('--type <type>', 'what the secret is')
        .choices(['api-key', 'bearer', 'basic'])
        .makeOptionMandatory(),
    )
    .option('--username <name>', 'of --type basic; the secret is the password')
    .option('--label <text>', 'for people')
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
    .option('--app <name>', 'of this app (default: the only one that has sessions)')
    .option('--user <id>', 'of this user (default: of all)')
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
    .option('--app <name>', 'app whose tools use it (default: the only one that has sessions)')
    .option('--user <id>', 'user whose secret it is (default: user)')
    .option(...FOLDER_OPTION);
}

/** Never repeats it. */
function refuseSecret(): never {
  throw new UsageError(
    '--secret: a command line is read by other processes and kept by the shell: leave it out, and type the secret where it is ' +
      'asked for, or pipe it in. The one that was given here is better changed',
  );
}
