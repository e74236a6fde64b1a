import type { Command } from 'commander';
import { deleteArtifact, getArtifact, listArtifacts, putArtifact } from '../../contract/artifacts.ts';
import type { DeleteArtifactOptions } from '../artifacts/delete-artifact.ts';
import type { GetArtifactOptions } from '../artifacts/get-artifact.ts';
import type { ListArtifactsOptions } from '../artifacts/list-artifacts.ts';
import type { PutArtifactOptions } from '../artifacts/put-artifact.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

export const artifacts: AddToGroup = (group, exit) => {
  named(group.command('list').description(`${summaryOf(listArtifacts)}; or the versions of one`))
    .addArgument(fieldArgument(deleteArtifact, 'name', '[name]'))
    .addOption(fieldOption(listArtifacts, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { artifacts } or { versions }')
    .action(async (session: string, name: string | undefined, options: InFolder<ListArtifactsOptions>) => {
      const commands = await import('../artifacts/list-artifacts.ts');
      await commands.listArtifacts(session, name, { ...options, env: process.env });
    });

  named(group.command('get').description(summaryOf(getArtifact)))
    .addArgument(fieldArgument(getArtifact, 'name', '<name>'))
    .addOption(fieldOption(getArtifact, 'version', '--version <number>'))
    .option('--out <file>', 'where it is written, - for standard output (default: the last part of its name)')
    .option('--force', 'replace the file')
    .option('--json', 'one JSON value: the version, with the file')
    .action(async (session: string, name: string, options: InFolder<GetArtifactOptions>) => {
      const commands = await import('../artifacts/get-artifact.ts');
      await commands.getArtifact(session, name, { ...options, env: process.env });
    });

  named(group.command('put').description(summaryOf(putArtifact)))
    .argument('<file>', 'the file, - for standard input')
    .addOption(fieldOption(putArtifact, 'name', '--name <name>', { help: '(default: the name of the file)' }))
    .option('--type <type>', 'the media type (default: by the end of the name)')
    .option('--json', 'one JSON value: the version')
    .action(async (session: string, file: string, options: InFolder<PutArtifactOptions>) => {
      const commands = await import('../artifacts/put-artifact.ts');
      await commands.putArtifact(session, file, { ...options, env: process.env });
    });

  named(group.command('delete').description(summaryOf(deleteArtifact)))
    .addArgument(fieldArgument(deleteArtifact, 'name', '<name>'))
    .option('--yes', 'without asking')
    .option('--json', 'one JSON value: { deleted }')
    .action(async (session: string, name: string, options: InFolder<DeleteArtifactOptions>) => {
      const commands = await import('../artifacts/delete-artifact.ts');
      exit(await commands.deleteArtifact(session, name, { ...options, env: process.env }));
    });
};

function named(command: Command): Command {
  return command
    .argument('<session>', "the session's id, or app/user/session, each part URI-encoded")
    .addOption(
      fieldOption(listArtifacts, 'app', '--app <name>', {
        help: '(default: the only one that has sessions)',
      }),
    )
    .addOption(fieldOption(listArtifacts, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}
