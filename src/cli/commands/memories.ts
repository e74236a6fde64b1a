import type { Command } from 'commander';
import { addMemory, deleteMemory, listMemories } from '../../contract/memories.ts';
import { fieldOption, summaryOf } from '../field-option.ts';
import type { AddMemoryOptions, DeleteMemoriesOptions } from '../memories/change-memories.ts';
import type { ListMemoriesOptions } from '../memories/list-memories.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

export const memories: AddToGroup = (group, exit) => {
  owned(group.command('list').description(summaryOf(listMemories)))
    .argument('[query]', 'words to be found')
    .addOption(fieldOption(listMemories, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { memories }')
    .action(async (query: string | undefined, options: InFolder<ListMemoriesOptions>) => {
      const commands = await import('../memories/list-memories.ts');
      await commands.listMemories(query, { ...options, env: process.env });
    });

  owned(group.command('add').description(summaryOf(addMemory)))
    .argument('<text>', 'the text')
    .addOption(fieldOption(addMemory, 'author', '--author <name>'))
    .option('--json', 'one JSON value: { id }')
    .action(async (text: string, options: InFolder<AddMemoryOptions>) => {
      const commands = await import('../memories/change-memories.ts');
      await commands.addMemory(text, { ...options, env: process.env });
    });

  owned(group.command('delete').description(`${summaryOf(deleteMemory)}, or all of a user with --all`))
    .argument('[id]', 'the memory, as list shows it')
    .option('--all', 'all memories of the user')
    .option('--yes', 'without asking')
    .option('--json', 'one JSON value: { deleted }')
    .action(async (id: string | undefined, options: InFolder<DeleteMemoriesOptions>) => {
      const commands = await import('../memories/change-memories.ts');
      exit(await commands.deleteMemories(id, { ...options, env: process.env }));
    });
};

function owned(command: Command): Command {
  return command
    .addOption(
      fieldOption(listMemories, 'app', '--app <name>', { help: '(default: the only one that has sessions)' }),
    )
    .addOption(fieldOption(listMemories, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}
