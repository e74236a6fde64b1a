import type { AddCommand } from './command.ts';

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
