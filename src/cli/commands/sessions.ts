import { type Command, InvalidArgumentError } from 'commander';
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
import type { DeleteOptions } from '../sessions/delete-session.ts';
import type { ForkOptions } from '../sessions/fork-session.ts';
import type { ListOptions } from '../sessions/list-sessions.ts';
import type { RetryOptions } from '../sessions/retry-session.ts';
import type { RewindOptions } from '../sessions/rewind-session.ts';
import type { ShowOptions } from '../sessions/show-session.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

export const sessions: AddToGroup = (group, exit) => {
  group
    .command('list')
    .description('the sessions of an app, or of all, by their last update')
    .addOption(fieldOption(listAppSessions, 'app', '--app <name>', { help: '(default: all of them)' }))
    .addOption(fieldOption(listUserSessions, 'userId', '--user <id>', { help: '(default: all of them)' }))
    .addOption(fieldOption(listAppSessions, 'limit', '--limit <number>').default(20))
    .addOption(fieldOption(listAppSessions, 'order', '--order <order>'))
    .option('--json', 'one JSON value: { sessions, totalItems }')
    .option(...FOLDER_OPTION)
    .action(async (options: InFolder<ListOptions>) => {
      const commands = await import('../sessions/list-sessions.ts');
      await commands.listSessions({ ...options, env: process.env });
    });

  named(group.command('show').description('the transcript of a session, hidden events included'))
    .addOption(fieldOption(getSession, 'after', '--after <seq>'))
    .addOption(fieldOption(getSession, 'numRecentEvents', '--last <number>'))
    .option('--state', 'the state, too')
    .option('--events', 'JSON Lines: one stored event per line')
    .option('--json', 'one JSON value: the session with state and events')
    .action(async (session: string, options: InFolder<ShowOptions>) => {
      const { showSession } = await import('../sessions/show-session.ts');
      await showSession(session, { ...options, env: process.env });
    });

  named(group.command('fork').description('make a session that begins with the events of another'))
    .addOption(fieldOption(forkSession, 'at', '--at <seq>'))
    .addOption(fieldOption(forkSession, 'to', '--to <id>'))
    .option('--json', 'one JSON value: { app, userId, sessionId, seq, forkedFrom }')
    .action(async (session: string, options: InFolder<ForkOptions>) => {
      const commands = await import('../sessions/fork-session.ts');
      await commands.forkSession(session, { ...options, env: process.env });
    });

  named(group.command('rewind').description('hide what came from an invocation on, while no turn runs'))
    .addOption(fieldOption(rewindSession, 'beforeInvocationId', '--before <invocation>'))
    .option('--turns <number>', 'hide the last so many turns', positiveNumber)
    .option('--json', 'one JSON value: the marker event')
    .action(async (session: string, options: InFolder<RewindOptions>) => {
      const commands = await import('../sessions/rewind-session.ts');
      await commands.rewindSession(session, { ...options, env: process.env });
    });

  named(group.command('retry').description('run a turn anew from a call on, and follow it to its end'))
    .addOption(
      fieldOption(retryTurn, 'callKey', '--from <call key>', {
        help: 'sessions show tells it',
      }).makeOptionMandatory(),
    )
    .option('--json', 'JSON Lines: one ADK event per line')
    .action(async (session: string, options: InFolder<RetryOptions>) => {
      const { retrySession } = await import('../sessions/retry-session.ts');
      exit(await retrySession(session, { ...options, env: process.env }));
    });

  named(group.command('delete').description("delete a session and its runs' histories"))
    .option('--yes', 'without asking')
    .addOption(fieldOption(deleteSession, 'withForks', '--with-forks'))
    .addOption(fieldOption(deleteSession, 'cancelRunning', '--cancel-running'))
    .option('--json', 'one JSON value: { sessions, runs }')
    .action(async (session: string, options: InFolder<DeleteOptions>) => {
      const commands = await import('../sessions/delete-session.ts');
      exit(await commands.deleteSession(session, { ...options, env: process.env }));
    });
};

function named(command: Command): Command {
  return command
    .argument('<session>', "the session's id, or app/user/session, each part URI-encoded")
    .addOption(
      fieldOption(getSession, 'app', '--app <name>', { help: '(default: the only one that has sessions)' }),
    )
    .addOption(fieldOption(getSession, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}

function positiveNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}
