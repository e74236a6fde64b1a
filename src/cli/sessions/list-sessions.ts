import type { SessionSummary } from '../../contract/sessions.ts';
import { visibleText } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { assertKnownApp, type NamingOptions } from './named-session.ts';
import { ago, costText, tableLines, tokensText } from './shown-values.ts';

export interface ListOptions extends NamingOptions {
  limit: number;
  order: 'asc' | 'desc';
  json?: boolean;
}

/** `holdfast sessions list`: the newest sessions of an app, or of all. */
export async function listSessions(
  options: ListOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, app, user, limit, order } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const found = await withProgress(output, 'reading sessions', sessionsOfApps());
    if (options.json) return output.json(found);
    if (found.totalItems === 0) await assertKnownApp(app, connected.apps);
    if (found.sessions.length === 0) return output.note('no sessions');
    for (const line of tableLines(COLUMNS, found.sessions.map(rowOf))) output.line(line);
    if (found.totalItems > found.sessions.length) {
      output.note(`${found.sessions.length} of ${found.totalItems} sessions; more with --limit`);
    }
  } finally {
    await connected.close();
  }

  async function sessionsOfApps() {
    const apps = app === undefined ? await connected.apps() : [app];
    const list = { limit, order, ...(user === undefined ? {} : { userId: user }) };
    const pages = await Promise.all(apps.map((each) => connected.sessions.list({ app: each, ...list })));
    const sign = order === 'asc' ? 1 : -1;
    const sessions = pages
      .flatMap((page) => page.sessions)
      .sort((one, other) => sign * (one.updatedAt - other.updatedAt))
      .slice(0, limit);
    return { sessions, totalItems: pages.reduce((sum, page) => sum + page.totalItems, 0) };
  }
}

const COLUMNS = [
  { title: 'APP' },
  { title: 'USER' },
  { title: 'SESSION' },
  { title: 'EVENTS', right: true },
  { title: 'UPDATED' },
  { title: 'AGENT' },
  { title: 'TOKENS', right: true },
  { title: 'COST', right: true },
  { title: 'FORK OF' },
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
