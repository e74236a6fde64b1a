import { Option } from 'commander';
import {
  listAppCredentials,
  listUserCredentials,
  putCredential,
  resealCredentials,
} from '../../contract/credentials.ts';
import { UsageError } from '../cli-error.ts';
import { fieldOption } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { ONLY_APP, ofUser } from './naming.ts';

export const credentials: AddCommand = (group, act) => {
  ofUser(
    group.command('add').description('store a secret, typed hidden or piped in, and print its reference'),
  )
    .addOption(fieldOption(putCredential, 'credentialKey', '--name <key>').makeOptionMandatory())
    .addOption(
      new Option('--type <type>', 'what the secret is')
        .choices(['api-key', 'bearer', 'basic'])
        .makeOptionMandatory(),
    )
    .option('--username <name>', 'of --type basic; the secret is the password')
    .addOption(fieldOption(putCredential, 'label', '--label <text>'))
    .option('--json', 'one JSON value: the stored credential, without the secret')
    .addOption(new Option('--secret [secret]').preset('').argParser(refuseSecret).hideHelp())
    .action(act(async () => (await import('../credentials/credential-commands.ts')).addCredential));

  group
    .command('list')
    .description('what is stored, without the secrets')
    .addOption(fieldOption(listAppCredentials, 'app', '--app <name>', { help: ONLY_APP }))
    .addOption(fieldOption(listUserCredentials, 'userId', '--user <id>', { help: '(default: all of them)' }))
    .option('--json', 'one JSON value: { credentials }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../credentials/credential-commands.ts')).listCredentials));

  ofUser(group.command('remove').description('remove a secret'))
    .argument('<credential>', 'its reference, cr-…, or its name')
    .option('--json', 'one JSON value: { removed, revoked }')
    .action(act(async () => (await import('../credentials/credential-commands.ts')).removeCredential));

  ofUser(group.command('connect').description('a link on which a user connects an account'))
    .argument('<name>', 'the name under which tools ask for its tokens')
    .option('--json', 'one JSON value: { path, url, expiresAt }')
    .action(act(async () => (await import('../credentials/credential-commands.ts')).connectCredential));

  group
    .command('reseal')
    .description('encrypt an app’s secrets with the first of the keys, so that the others may go')
    .addOption(fieldOption(resealCredentials, 'app', '--app <name>', { help: ONLY_APP }))
    .option('--json', 'one JSON value: { resealed }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../credentials/credential-commands.ts')).resealCredentials));
};

/** Never repeats it. */
function refuseSecret(): never {
  throw new UsageError(
    '--secret: a command line is read by other processes and kept by the shell: leave it out, and type the secret where it is ' +
      'asked for, or pipe it in. The one that was given here is better changed',
  );
}
