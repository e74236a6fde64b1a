import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from './named-session.ts';

export interface DeleteOptions extends NamingOptions {
  yes?: boolean;
  withForks?: boolean;
  cancelRunning?: boolean;
  json?: boolean;
}

/** `holdfast sessions delete`: a session's content, and the histories of its runs. Returns the exit code. */
export async function deleteSession(
  argument: string,
  options: DeleteOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<number> {
  const { folder, env, yes, withForks = false, cancelRunning = false } = options;
  if (!yes && output.confirm === undefined) {
    throw new UsageError('there is nobody to ask whether this session is to be deleted: say so with --yes');
  }
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(argument, options, connected.apps);
    const { app, userId, sessionId } = names;
    const shown = `${app}/${userId}/${sessionId}${withForks ? ' and what was forked from it' : ''}`;
    if (!yes && !(await output.confirm?.(`Delete session ${shown}? This can't be taken back.`))) {
      output.note('nothing was deleted');
      return 1;
    }
    const deleted = await withProgress(
      output,
      cancelRunning ? 'cancelling and deleting' : 'deleting',
      connected.api.sessions.delete({ ...names, withForks, cancelRunning }),
    );
    if (options.json) {
      output.json(deleted);
      return 0;
    }
    const { sessions, runs } = deleted;
    output.line(
      sessions.length === 0
        ? `there was no session ${shown}`
        : `deleted ${sessions.length === 1 ? 'a session' : `${sessions.length} sessions`}: ${sessions
            .map((each) => each.sessionId)
            .join(', ')}`,
    );
    output.line(`Temporal was asked to delete the histories of ${runs} ${runs === 1 ? 'run' : 'runs'}`);
    return 0;
  } finally {
    await connected.close();
  }
}
