import { textOf } from '../../memory/passages.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { DEFAULT_USER, onlyApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

/** Names the user whose memories are meant. */
export interface OwnerOptions {
  app?: string;
  user?: string;
}

export interface ListMemoriesOptions extends OwnerOptions {
  limit?: number;
  json?: boolean;
}

/** `holdfast memories list`: memories of a user that have words, or the newest ones. */
export async function listMemories(
  query: string | undefined,
  options: ListMemoriesOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, limit, user: userId = DEFAULT_USER } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const app = options.app ?? (await onlyApp(connected.apps));
    const list = {
      ...{ app, userId },
      ...(query === undefined ? {} : { query }),
      ...(limit === undefined ? {} : { limit }),
    };
    const listed = await withProgress(output, 'reading memories', connected.memories.list(list));
    if (options.json) return output.json(listed);
    if (listed.memories.length === 0) return output.note(`no memories of user ${userId} in app ${app}`);
    const rows = listed.memories.map(({ id, author = '', saidAt, sessionId = '', content }) => [
      ...[id, author, ago(saidAt), sessionId].map((cell) => visibleExcerpt(cell, 40)),
      visibleExcerpt(textOf(content), 80),
    ]);
    for (const line of tableLines(COLUMNS, rows)) output.line(line);
    if (listed.next !== undefined) output.note('there are more memories: see --limit');
  } finally {
    await connected.close();
  }
}

const COLUMNS = ['ID', 'AUTHOR', 'SAID', 'SESSION', 'TEXT'].map((title) => ({ title }));
