import type { AddCommand } from './command.ts';

export const explain: AddCommand = (holdfast) => {
  holdfast
    .command('explain')
    .description('what an error code means, and what to do')
    .argument('<code>', 'as the error names it: HOLDFAST_DEFINITION')
    .action(async (code: string) => {
      const { explainCommand } = await import('../explain-command.ts');
      explainCommand(code);
    });
};
