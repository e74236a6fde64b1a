import { Argument, Option } from 'commander';
import type { AddCommand } from './command.ts';

export const graph: AddCommand = (holdfast, act) => {
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
    .action(act(async () => (await import('../graph/graph-command.ts')).graphCommand));
};
