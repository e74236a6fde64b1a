import { cancelCall, interruptTurn, listTurns } from '../../contract/turns.ts';
import { fieldOption } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { ofSession } from './naming.ts';

export const turns: AddCommand = (group, act) => {
  group
    .command('list')
    .description('turns that have not ended, or that stand otherwise, the newest first')
    .addOption(fieldOption(listTurns, 'status', '--status <status>'))
    .addOption(fieldOption(listTurns, 'app', '--app <name>'))
    .addOption(fieldOption(listTurns, 'userId', '--user <id>'))
    .addOption(fieldOption(listTurns, 'sessionId', '--session <id>'))
    .addOption(fieldOption(listTurns, 'limit', '--limit <number>'))
    .option('--json', 'one JSON value: { turns }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../turns/turn-commands.ts')).listTurns));

  ofSession(group.command('status').description('how the turn of a session stands, and what it waits for'))
    .option('--json', 'one JSON value: { status }, null where no turn runs')
    .action(act(async () => (await import('../turns/turn-commands.ts')).showStatus));

  ofSession(group.command('interrupt').description('end the turn of a session: its open calls are answered'))
    .addOption(fieldOption(interruptTurn, 'reason', '--reason <text>'))
    .option('--json', 'one JSON value: { confirmed, invocationId, reason }')
    .action(act(async () => (await import('../turns/turn-commands.ts')).interruptTurn));

  ofSession(group.command('cancel-call').description('cancel one call of a turn, which goes on'))
    .argument('<call>', 'key of the call, or its id')
    .addOption(fieldOption(cancelCall, 'reason', '--reason <text>'))
    .option('--json', 'one JSON value: { confirmed, callKey, status, reason }')
    .action(act(async () => (await import('../turns/turn-commands.ts')).cancelCall));
};
