import { Option } from 'commander';
import { TEMPLATES } from '../init/template.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const init: AddCommand = (holdfast, act) => {
  holdfast
    .command('init')
    .description('make a project that runs, with a test')
    .argument('[folder]', 'where it is made', '.')
    .addOption(
      new Option('--template <name>', 'what its agent uses: tools of its own, an MCP server, an API, or GPT')
        .choices(TEMPLATES)
        .default('basic'),
    )
    .option('--force', 'overwrite files that are there')
    .option('--json', 'one JSON value: { folder, files, next }')
    .action(act(async () => (await import('../init/init-command.ts')).initCommand));
};

export const doctor: AddCommand = (holdfast, act) => {
  holdfast
    .command('doctor')
    .argument('[agents.ts]', 'file whose agents and toolsets are looked at, too')
    .description('find what is missing, and say what to do; starts and changes nothing')
    .option('--ask-model', 'ask Gemini a question of a few tokens')
    .option(
      '--task-queue <name>',
      'task queue whose workers are looked for (default: as the environment says)',
    )
    .option('--json', 'one JSON value: { ok, findings: [{ about, status, message, fix }] }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../doctor/doctor-command.ts')).doctorCommand));
};

export const replay: AddCommand = (holdfast, act) => {
  holdfast
    .command('replay')
    .description('replay recorded histories on the workflows of this release')
    .argument(
      '<history.json...>',
      'files of temporal workflow show or of the Temporal UI, or folders of them',
    )
    .option('--bundle <path>', 'another workflow bundle than the packaged one')
    .option('--json', 'JSON Lines: { file, ok, workflowId, events | problem }')
    .action(act(async () => (await import('../replay/replay-command.ts')).replayCommand));
};
