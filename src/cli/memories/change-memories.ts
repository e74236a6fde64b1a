import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { DEFAULT_USER, onlyApp } from '../sessions/named-session.ts';
import type { OwnerOptions } from './list-memories.ts';

export interface AddMemoryOptions extends OwnerOptions {
  author?: string;
  json?: boolean;
}

/** `holdfast memories add`: a memory of a user. */
export async function addMemory(
  text: string,
  options: AddMemoryOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, author, user: userId = DEFAULT_USER } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const app = options.app ?? (await onlyApp(connected.apps));
    const memory = { app, userId, text, ...(author === undefined ? {} : { author }) };
    const added = await withProgress(output, 'adding', connected.memories.add(memory));
    if (options.json) return output.json(added);
    output.line(`added memory ${added.id} of user ${userId}`);
  } finally {
    await connected.close();
  }
}

export interface DeleteMemoriesOptions extends OwnerOptions {
  all?: boolean;
  yes?: boolean;
  json?: boolean;
}

/** `holdfast memories delete`: a memory, or all of a user. Returns the exit code. */
export async function deleteMemories(
  id: string | undefined,
  options: DeleteMemoriesOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const { folder, env, all = false, yes, user: userId = DEFAULT_USER } = options;
  if (all === (id !== undefined)) throw new UsageError('name one memory, or all of the user with --all');
  if (!yes && output.confirm === undefined) {
    throw new UsageError('there is nobody to ask whether this is to be deleted: say so with --yes');
  }
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const app = options.app ?? (await onlyApp(connected.apps));
    const owner = { app, userId };
    const shown = id === undefined ? 'all memories' : `memory ${visibleExcerpt(id, 40)}`;
    if (!yes && !(await output.confirm?.(`Delete ${shown} of user ${userId}? This can't be taken back.`))) {
      output.note('nothing was deleted');
      return 1;
    }
    const { memories } = connected;
    const deleting = id === undefined ? memories.deleteAll(owner) : memories.delete({ ...owner, id });
    const deleted = Number(await withProgress<number | boolean>(output, 'deleting', deleting));
    if (options.json) output.json({ deleted });
    else output.line(`deleted ${deleted} ${deleted === 1 ? 'memory' : 'memories'} of user ${userId}`);
    return 0;
  } finally {
    await connected.close();
  }
}
