import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';

export interface DeleteArtifactOptions extends NamingOptions {
  yes?: boolean;
  json?: boolean;
}

/** `holdfast artifacts delete`: all versions of an artifact. Returns the exit code. */
export async function deleteArtifact(
  session: string,
  name: string,
  options: DeleteArtifactOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const { folder, env, yes } = options;
  if (!yes && output.confirm === undefined) {
    throw new UsageError('there is nobody to ask whether this artifact is to be deleted: say so with --yes');
  }
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(session, options, connected.apps);
    const shown = `${visibleExcerpt(name, 100)} of session ${names.sessionId}`;
    if (!yes && !(await output.confirm?.(`Delete all versions of ${shown}? This can't be taken back.`))) {
      output.note('nothing was deleted');
      return 1;
    }
    const deleted = await withProgress(output, 'deleting', connected.artifacts.delete({ ...names, name }));
    if (options.json) output.json({ deleted });
    else
      output.line(
        deleted === 0
          ? `there was no artifact ${shown}`
          : `deleted ${deleted} ${deleted === 1 ? 'version' : 'versions'} of ${shown}`,
      );
    return 0;
  } finally {
    await connected.close();
  }
}
