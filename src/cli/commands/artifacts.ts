import { deleteArtifact, getArtifact, listArtifacts, putArtifact } from '../../contract/artifacts.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import type { AddCommand } from './command.ts';
import { ofSession } from './naming.ts';

export const artifacts: AddCommand = (group, act) => {
  ofSession(group.command('list').description(`${summaryOf(listArtifacts)}; or the versions of one`))
    .addArgument(fieldArgument(deleteArtifact, 'name', '[name]'))
    .addOption(fieldOption(listArtifacts, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { artifacts } or { versions }')
    .action(act(async () => (await import('../artifacts/artifact-commands.ts')).listArtifacts));

  ofSession(group.command('get').description(summaryOf(getArtifact)))
    .addArgument(fieldArgument(getArtifact, 'name', '<name>'))
    .addOption(fieldOption(getArtifact, 'version', '--version <number>'))
    .option('--out <file>', 'where it is written, - for standard output (default: the last part of its name)')
    .option('--force', 'replace the file')
    .option('--json', 'one JSON value: the version, with the file')
    .action(act(async () => (await import('../artifacts/artifact-commands.ts')).getArtifact));

  ofSession(group.command('put').description(summaryOf(putArtifact)))
    .argument('<file>', 'the file, - for standard input')
    .addOption(fieldOption(putArtifact, 'name', '--name <name>', { help: '(default: the name of the file)' }))
    .option('--type <type>', 'the media type (default: by the end of the name)')
    .option('--json', 'one JSON value: the version')
    .action(act(async () => (await import('../artifacts/artifact-commands.ts')).putArtifact));

  ofSession(group.command('delete').description(summaryOf(deleteArtifact)))
    .addArgument(fieldArgument(deleteArtifact, 'name', '<name>'))
    .option('--yes', 'without asking')
    .option('--json', 'one JSON value: { deleted }')
    .action(act(async () => (await import('../artifacts/artifact-commands.ts')).deleteArtifact));
};
