import { Argument, Option } from 'commander';
import type { GraphOptions } from '../graph/graph-command.ts';
import type { AddCommand } from './command.ts';

export const graph: AddCommand = (holdfast) => {
  holdfast
    .command('graph')
    .description('draw agents and tools as a Mermaid flowchart')
    .addArgument(new Argument('<agents.ts>', 'file that exports the agents'))
    .addOption(
      new Option('--direction <direction>', 'from left to right, or from top to bottom')
        .choices(['LR', 'TB'])
        .default('LR'),
    )
    .option('--json', 'one JSON value: { agents, tools, edges }')
    .action(async (file: string, options: GraphOptions) => {
      const { graphCommand } = await import('../graph/graph-command.ts');
      await graphCommand(file, options);
    });
};
