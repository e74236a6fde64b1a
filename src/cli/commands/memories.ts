import { addMemory, deleteMemory, listMemories } from '../../contract/memories.ts';
import { fieldOption, summaryOf } from '../field-option.ts';
import type { AddCommand } from './command.ts';
import { ofUser } from './naming.ts';

export const memories: AddCommand = (group, act) => {
  ofUser(group.command('list').description(summaryOf(listMemories)))
    .argument('[query]', 'words to be found')
    .addOption(fieldOption(listMemories, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { memories }')
    .action(act(async () => (await import('../memories/memory-commands.ts')).listMemories));

  ofUser(group.command('add').description(summaryOf(addMemory)))
    .argument('<text>', 'the text')
    .addOption(fieldOption(addMemory, 'author', '--author <name>'))
    .option('--json', 'one JSON value: { id }')
    .action(act(async () => (await import('../memories/memory-commands.ts')).addMemory));

  ofUser(group.command('delete').description(`${summaryOf(deleteMemory)}, or all of a user with --all`))
    .argument('[id]', 'the memory, as list shows it')
    .option('--all', 'all memories of the user')
    .option('--yes', 'without asking')
    .option('--json', 'one JSON value: { deleted }')
    .action(act(async () => (await import('../memories/memory-commands.ts')).deleteMemories));
};
