import { InvalidArgumentError } from 'commander';
import {
  deleteSession,
  forkSession,
  getSession,
  listAppSessions,
  listUserSessions,
  retryTurn,
  rewindSession,
} from '../../contract/sessions.ts';
import { fieldOption } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { ofSession } from './naming.ts';

export const sessions: AddCommand = (group, act) => {
  group
    .command('list')
    .description('the latest sessions of an app, or of each')
    .addOption(fieldOption(listAppSessions, 'app', '--app <name>', { help: '(default: all of them)' }))
    .addOption(fieldOption(listUserSessions, 'userId', '--user <id>', { help: '(default: all of them)' }))
    .addOption(fieldOption(listAppSessions, 'limit', '--limit <number>').default(20))
    .addOption(fieldOption(listAppSessions, 'order', '--order <order>'))
    .addOption(fieldOption(listAppSessions, 'withTotal', '--with-total'))
    .option('--json', 'one JSON value: { sessions }, with --with-total { sessions, totalItems }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../sessions/session-commands.ts')).listSessions));

  ofSession(group.command('show').description('the transcript of a session, hidden events included'))
    .addOption(fieldOption(getSession, 'after', '--after <seq>'))
    .addOption(fieldOption(getSession, 'numRecentEvents', '--last <number>'))
    .option('--state', 'the state, too')
    .option('--events', 'JSON Lines: one stored event per line')
    .option('--json', 'one JSON value: the session with state and events')
    .action(act(async () => (await import('../sessions/session-commands.ts')).showSession));

  ofSession(group.command('fork').description('make a session that begins with the events of another'))
    .addOption(fieldOption(forkSession, 'at', '--at <seq>'))
    .addOption(fieldOption(forkSession, 'to', '--to <id>'))
    .option('--json', 'one JSON value: { app, userId, sessionId, seq, forkedFrom }')
    .action(act(async () => (await import('../sessions/session-commands.ts')).forkSession));

  ofSession(group.command('rewind').description('hide what came from an invocation on, while no turn runs'))
    .addOption(fieldOption(rewindSession, 'beforeInvocationId', '--before <invocation>'))
    .option('--turns <number>', 'hide the last so many turns', positiveNumber)
    .option('--json', 'one JSON value: the marker event')
    .action(act(async () => (await import('../sessions/session-commands.ts')).rewindSession));

  ofSession(group.command('retry').description('run a turn anew from a call on, and follow it to its end'))
    .addOption(
      fieldOption(retryTurn, 'callKey', '--from <call key>', {
        help: 'sessions show tells it',
      }).makeOptionMandatory(),
    )
    .option('--json', 'JSON Lines: one ADK event per line')
    .action(act(async () => (await import('../sessions/retry-session.ts')).retrySession));

  ofSession(group.command('delete').description("delete a session and its runs' histories"))
    .option('--yes', 'without asking')
    .addOption(fieldOption(deleteSession, 'withForks', '--with-forks'))
    .addOption(fieldOption(deleteSession, 'cancelRunning', '--cancel-running'))
    .option('--json', 'one JSON value: { sessions, runs }')
    .action(act(async () => (await import('../sessions/session-commands.ts')).deleteSession));
};

function positiveNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}
