import { Option } from 'commander';
import { TEMPLATES } from '../init/template.ts';
import type { AddCommand } from './command.ts';

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
