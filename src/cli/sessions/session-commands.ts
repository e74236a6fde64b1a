import type { StoredEvent } from '../../contract/events.ts';
import type { ListSessions, Session, SessionSummary } from '../../contract/sessions.ts';
import { visibleEvents } from '../../flows/event-visibility.ts';
import { defined } from '../../protocol/json.ts';
import { visibleLines, visibleText } from '../../protocol/visible-text.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { agreement, type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { connected, connectFolder, connectSessions, type InFolder } from '../connect-folder.ts';
import { namingOptions } from '../run/printer.ts';
import { assertKnownApp, type NamingOptions, namedSession } from './named-session.ts';
import { ago, costText, costWords, cutJson, tableLines, tokensText } from './shown-values.ts';
import { transcriptLines, withHidden } from './transcript.ts';

type Options<More = object> = InFolder<NamingOptions & More>;

/** `holdfast sessions list`: the newest sessions of an app, or of all. */
export async function listSessions(
  options: Options<Required<Pick<ListSessions, 'limit' | 'order'>> & Pick<ListSessions, 'withTotal'>>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async (connection) => {
    const { app, user, limit, order, withTotal } = options;
    const { isAll, ...found } = await withProgress(output, 'reading sessions', sessionsOfApps());
    const { sessions, totalItems } = found;
    if (options.json) return output.json(found);
    if (sessions.length === 0) await assertKnownApp(app, connection.apps);
    if (sessions.length === 0) return output.note('no sessions');
    for (const line of tableLines(COLUMNS, sessions.map(rowOf))) output.line(line);
    const of = totalItems === undefined ? '' : ` of ${totalItems}`;
    if (!isAll) output.note(`${sessions.length}${of} sessions; more with --limit`);

    async function sessionsOfApps() {
      const apps = app === undefined ? await connection.apps() : [app];
      const list = { limit, order, ...defined({ userId: user, withTotal }) };
      const pages = await Promise.all(
        apps.map((each) => connection.api.sessions.list({ app: each, ...list })),
      );
      const sessions = pages.flatMap((page) => page.sessions);
      const sign = order === 'asc' ? 1 : -1;
      // Each page has its own order, in which a session's place is not told.
      if (apps.length > 1) sessions.sort((one, other) => sign * (one.updatedAt - other.updatedAt));
      const totals = pages.map(({ totalItems = 0 }) => totalItems);
      return {
        sessions: sessions.slice(0, limit),
        ...defined({ totalItems: withTotal ? totals.reduce((sum, total) => sum + total, 0) : undefined }),
        isAll: sessions.length <= limit && pages.every(({ next }) => next === undefined),
      };
    }
  });
}

const COLUMNS = [
  ...['APP', 'USER', 'SESSION', { right: 'EVENTS' }, 'UPDATED', 'AGENT'],
  ...[{ right: 'TOKENS' }, { right: 'COST' }, 'FORK OF'],
];

function rowOf(session: SessionSummary): string[] {
  const { app, userId, sessionId, seq, updatedAt, lastAgent = '', usage, forkedFrom } = session;
  return [
    app,
    userId,
    sessionId,
    String(seq),
    ago(updatedAt),
    lastAgent,
    tokensText(usage),
    costText(usage),
    forkedFrom === undefined ? '' : `${forkedFrom.sessionId} at ${forkedFrom.seq}`,
  ].map(visibleText);
}

interface ShowOptions {
  /** Events after this seq. */
  after?: number;
  /** The last so many events. */
  last?: number;
  state?: boolean;
  /** JSON Lines, one stored event per line. */
  events?: boolean;
}

/** `holdfast sessions show`: a session's transcript. */
export async function showSession(
  argument: string,
  options: Options<ShowOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { sessions }, apps }) => {
    const names = await namedSession(argument, options, apps);
    const range = defined({ after: options.after, numRecentEvents: options.last });
    const session = await withProgress(output, 'reading the session', sessions.get({ ...names, ...range }));
    if (session === undefined) {
      throw new CliError(
        `app ${names.app} and user ${names.userId} have no session ${names.sessionId}; see holdfast sessions list`,
      );
    }
    print(session, options, output);
  });
}

function print(session: Session, { json, events, state }: Options<ShowOptions>, output: CommandOutput): void {
  const shown = withHidden(session.events);
  const lines = json ? [{ ...session, events: shown }] : events ? shown : undefined;
  for (const line of lines ?? []) output.json(line);
  if (lines !== undefined) return;
  output.line(output.paint('bold', visibleText(headOf(session))));
  if (state) {
    for (const [key, value] of Object.entries(session.state)) {
      output.line(`  ${visibleText(key)} = ${visibleLines(cutJson(value))}`);
    }
  }
  for (const line of transcriptLines(shown, output)) output.line(line);
}

function headOf(session: Session): string {
  const { app, userId, sessionId, seq, updatedAt, lastAgent, usage, forkedFrom } = session;
  return [
    `${app}/${userId}/${sessionId}`,
    `${seq} events`,
    `updated ${ago(updatedAt)}`,
    ...(lastAgent === undefined ? [] : [`agent ${lastAgent}`]),
    [`${usage.modelCalls} model calls`, `${tokensText(usage)} tokens`, ...costWords(usage)].join(', '),
    ...(forkedFrom === undefined ? [] : [`forked from ${forkedFrom.sessionId} at ${forkedFrom.seq}`]),
  ].join(' · ');
}

/** `holdfast sessions fork`: a session that begins with the events of another. */
export async function forkSession(
  argument: string,
  options: Options<{ at?: number; to?: string }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { sessions }, apps }) => {
    const names = await namedSession(argument, options, apps);
    const forking = sessions.fork({ ...names, ...defined({ at: options.at, to: options.to }) });
    const { app, userId, sessionId, seq, forkedFrom } = await withProgress(output, 'forking', forking);
    if (options.json) return output.json({ app, userId, sessionId, seq, forkedFrom });
    output.line(sessionId);
    output.note(
      `${sessionId} has the first ${seq} events of ${names.sessionId}; go on with ` +
        namingOptions({ app, userId, sessionId }),
    );
  });
}

interface RewindOptions {
  /** Invocation that is hidden, with all that came later. */
  before?: string;
  /** Hides the last so many turns. */
  turns?: number;
}

/** `holdfast sessions rewind`: hides what came from an invocation on. */
export async function rewindSession(
  argument: string,
  options: Options<RewindOptions>,
  output = processOutput(),
): Promise<void> {
  const { before, turns } = options;
  if ((before === undefined) === (turns === undefined)) {
    throw new UsageError('say either --before <invocation id> or --turns <number>');
  }
  await connected(connectFolder, options, output, async ({ api: { sessions }, apps }) => {
    const names = await namedSession(argument, options, apps);
    const marker = await withProgress(output, 'rewinding', rewind());
    if (options.json) return output.json(marker);
    const { seq, hidesAfter, event } = marker;
    output.line(
      `events ${(hidesAfter ?? 0) + 1} to ${seq - 1} are hidden from agents; they stay in the store`,
    );
    output.note(`event ${seq} says so: before ${event.actions.rewindBeforeInvocationId}`);

    async function rewind(): Promise<StoredEvent> {
      const beforeInvocationId =
        before ?? nthLastTurn((await sessions.get(names))?.events ?? [], turns ?? 0, '--turns');
      return await sessions.rewind({ ...names, beforeInvocationId });
    }
  });
}

/** @throws CliError where the session has fewer turns; `asked` is how the caller named the number. */
export function nthLastTurn(events: readonly StoredEvent[], turns: number, asked: string): string {
  const invocations = [...new Set(visibleEvents(events).map(({ event }) => event.invocationId))];
  const found = turns === 0 ? undefined : invocations.at(-turns);
  if (found !== undefined && turns <= invocations.length) return found;
  throw new CliError(`${asked} ${turns}: the session has ${invocations.length} turns that are not hidden`);
}

/** `holdfast sessions delete`: a session's content, and the histories of its runs. Returns the exit code. */
export async function deleteSession(
  argument: string,
  options: Options<{ yes?: boolean; withForks?: boolean; cancelRunning?: boolean }>,
  output = processOutput(),
): Promise<number> {
  const { withForks = false, cancelRunning = false } = options;
  const agrees = agreement('this session', options, output);
  return await connected(connectFolder, options, output, async ({ api, apps }) => {
    const names = await namedSession(argument, options, apps);
    const { app, userId, sessionId } = names;
    const shown = `${app}/${userId}/${sessionId}${withForks ? ' and what was forked from it' : ''}`;
    if (!(await agrees(`Delete session ${shown}?`))) return 1;
    const deleted = await withProgress(
      output,
      cancelRunning ? 'cancelling and deleting' : 'deleting',
      api.sessions.delete({ ...names, withForks, cancelRunning }),
    );
    const { sessions, runs } = deleted;
    const count = sessions.length === 1 ? 'a session' : `${sessions.length} sessions`;
    const ids = sessions.map((each) => each.sessionId).join(', ');
    if (options.json) output.json(deleted);
    else {
      output.line(sessions.length === 0 ? `there was no session ${shown}` : `deleted ${count}: ${ids}`);
      output.line(`Temporal was asked to delete the histories of ${runs} ${runs === 1 ? 'run' : 'runs'}`);
    }
    return 0;
  });
}
