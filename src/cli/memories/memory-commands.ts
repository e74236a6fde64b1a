import { textOf } from '../../memory/passages.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { UsageError } from '../cli-error.ts';
import { agreement, processOutput, withProgress } from '../command-output.ts';
import { connected, connectSessions, type InFolder } from '../connect-folder.ts';
import { type NamingOptions, namedUser } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

/** `holdfast memories list`: memories of a user that have words, or the newest ones. */
export async function listMemories(
  query: string | undefined,
  options: InFolder<NamingOptions & { limit?: number }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { memories }, apps }) => {
    const owner = await namedUser(options, apps);
    const list = { ...owner, ...defined({ query, limit: options.limit }) };
    const listed = await withProgress(output, 'reading memories', memories.list(list));
    if (options.json) return output.json(listed);
    if (listed.memories.length === 0)
      return output.note(`no memories of user ${owner.userId} in app ${owner.app}`);
    const rows = listed.memories.map(({ id, author = '', saidAt, sessionId = '', content }) => [
      ...[id, author, ago(saidAt), sessionId].map((cell) => visibleExcerpt(cell, 40)),
      visibleExcerpt(textOf(content), 80),
    ]);
    for (const line of tableLines(['ID', 'AUTHOR', 'SAID', 'SESSION', 'TEXT'], rows)) output.line(line);
    if (listed.next !== undefined) output.note('there are more memories: see --limit');
  });
}

/** `holdfast memories add`: a memory of a user. */
export async function addMemory(
  text: string,
  options: InFolder<NamingOptions & { author?: string }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectSessions, options, output, async ({ api: { memories }, apps }) => {
    const owner = await namedUser(options, apps);
    const adding = memories.add({ ...owner, text, ...defined({ author: options.author }) });
    const added = await withProgress(output, 'adding', adding);
    if (options.json) return output.json(added);
    output.line(`added memory ${added.id} of user ${owner.userId}`);
  });
}

/** `holdfast memories delete`: a memory, or all of a user. Returns the exit code. */
export async function deleteMemories(
  id: string | undefined,
  options: InFolder<NamingOptions & { all?: boolean; yes?: boolean }>,
  output = processOutput(),
): Promise<number> {
  if ((options.all === true) === (id !== undefined))
    throw new UsageError('name one memory, or all of the user with --all');
  const agrees = agreement('this', options, output);
  return await connected(connectSessions, options, output, async ({ api: { memories }, apps }) => {
    const owner = await namedUser(options, apps);
    const shown = id === undefined ? 'all memories' : `memory ${visibleExcerpt(id, 40)}`;
    if (!(await agrees(`Delete ${shown} of user ${owner.userId}?`))) return 1;
    const deleting = id === undefined ? memories.deleteAll(owner) : memories.delete({ ...owner, id });
    const deleted = Number(await withProgress<number | boolean>(output, 'deleting', deleting));
    if (options.json) output.json({ deleted });
    else output.line(`deleted ${deleted} ${deleted === 1 ? 'memory' : 'memories'} of user ${owner.userId}`);
    return 0;
  });
}
