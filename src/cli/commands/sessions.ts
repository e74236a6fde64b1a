import { type Command, InvalidArgumentError, Option } from 'commander';
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
    .option('--app <name>', 'of this app (default: of all)')
    .option('--user <id>', 'of this user (default: of all)')
    .option('--limit <number>', 'so many at most', wholeNumber, 20)
    .addOption(
      new Option('--order <order>', 'newest or oldest first').choices(['desc', 'asc']).default('desc'),
    )
    .option('--json', 'one JSON value: { sessions, totalItems }')
    .option(...FOLDER_OPTION)
    .action(async (options: InFolder<ListOptions>) => {
      const { listSessions } = await import('../sessions/list-sessions.ts');
      await listSessions({ ...options, env: process.env });
    });

  named(group.command('show').description('the transcript of a session, hidden events included'))
    .option('--after <seq>', 'events after this one', wholeNumber)
    .option('--last <number>', 'the last so many events', wholeNumber)
    .option('--state', 'the state, too')
    .option('--events', 'JSON Lines: one stored event per line')
    .option('--json', 'one JSON value: the session with state and events')
    .action(async (session: string, options: InFolder<ShowOptions>) => {
      const { showSession } = await import('../sessions/show-session.ts');
      await showSession(session, { ...options, env: process.env });
    });

  named(group.command('fork').description('make a session that begins with the events of another'))
    .option('--at <seq>', 'last event that the fork has (default: the last)', wholeNumber)
    .option('--to <id>', 'id of the fork (default: a random one)')
    .option('--json', 'one JSON value: { app, userId, sessionId, seq, forkedFrom }')
    .action(async (session: string, options: InFolder<ForkOptions>) => {
      const { forkSession } = await import('../sessions/fork-session.ts');
      await forkSession(session, { ...options, env: process.env });
    });

  named(group.command('rewind').description('hide what came from an invocation on, while no turn runs'))
    .option('--before <invocation>', 'id of the first invocation that is hidden')
    .option('--turns <number>', 'hide the last so many turns', positiveNumber)
    .option('--json', 'one JSON value: the marker event')
    .action(async (session: string, options: InFolder<RewindOptions>) => {
      const { rewindSession } = await import('../sessions/rewind-session.ts');
      await rewindSession(session, { ...options, env: process.env });
    });

  named(group.command('retry').description('run a turn anew from a call on, and follow it to its end'))
    .requiredOption('--from <call key>', 'the call; sessions show tells its key')
    .option('--json', 'JSON Lines: one ADK event per line')
    .action(async (session: string, options: InFolder<RetryOptions>) => {
      const { retrySession } = await import('../sessions/retry-session.ts');
      exit(await retrySession(session, { ...options, env: process.env }));
    });

  named(group.command('delete').description("delete a session and its runs' histories"))
    .option('--yes', 'without asking')
    .option('--with-forks', 'the sessions that were forked from it, too')
    .option('--cancel-running', 'cancel a turn that runs, and wait for its end')
    .option('--json', 'one JSON value: { sessions, runs }')
    .action(async (session: string, options: InFolder<DeleteOptions>) => {
      const { deleteSession } = await import('../sessions/delete-session.ts');
      exit(await deleteSession(session, { ...options, env: process.env }));
    });
};

function named(command: Command): Command {
  return command
    .argument('<session>', "the session's id, or app/user/session, each part URI-encoded")
    .option('--app <name>', 'app of the session (default: the only one that has sessions)')
    .option('--user <id>', 'user of the session (default: user)')
    .option(...FOLDER_OPTION);
}

function wholeNumber(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  throw new InvalidArgumentError('Expected a whole number, 0 or more.');
}

function positiveNumber(text: string): number {
  const number = wholeNumber(text);
  if (number > 0) return number;
  throw new InvalidArgumentError('Expected a whole number, 1 or more.');
}
