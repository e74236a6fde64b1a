import type { Command } from 'commander';
import { cancelCall, getStatus, interruptTurn, listTurns } from '../../contract/turns.ts';
import { fieldOption } from '../field-option.ts';
import type { ListTurnsOptions, TurnOptions } from '../turns/turn-commands.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

export const turns: AddToGroup = (group) => {
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
    .action(async (options: ListTurnsOptions) => {
      const commands = await import('../turns/turn-commands.ts');
      await commands.listTurns({ ...options, env: process.env });
    });

  named(group.command('status').description('how the turn of a session stands, and what it waits for'))
    .option('--json', 'one JSON value: { status }, null where no turn runs')
    .action(async (session: string, options: TurnOptions) => {
      const { showStatus } = await import('../turns/turn-commands.ts');
      await showStatus(session, { ...options, env: process.env });
    });

  named(group.command('interrupt').description('end the turn of a session: its open calls are answered'))
    .addOption(fieldOption(interruptTurn, 'reason', '--reason <text>'))
    .option('--json', 'one JSON value: { confirmed, invocationId, reason }')
    .action(async (session: string, options: TurnOptions) => {
      const { interruptTurn } = await import('../turns/turn-commands.ts');
      await interruptTurn(session, { ...options, env: process.env });
    });

  named(group.command('cancel-call').description('cancel one call of a turn, which goes on'))
    .argument('<call>', 'key of the call, or its id')
    .addOption(fieldOption(cancelCall, 'reason', '--reason <text>'))
    .option('--json', 'one JSON value: { confirmed, callKey, status, reason }')
    .action(async (session: string, call: string, options: TurnOptions) => {
      const { cancelCall } = await import('../turns/turn-commands.ts');
      await cancelCall(session, call, { ...options, env: process.env });
    });
};

function named(command: Command): Command {
  return command
    .argument('<session>', "the session's id, or app/user/session, each part URI-encoded")
    .addOption(
      fieldOption(getStatus, 'app', '--app <name>', { help: '(default: the only one that has sessions)' }),
    )
    .addOption(fieldOption(getStatus, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}
