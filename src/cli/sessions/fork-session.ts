import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { namingOptions } from '../run/printer.ts';
import { type NamingOptions, namedSession } from './named-session.ts';

export interface ForkOptions extends NamingOptions {
  at?: number;
  to?: string;
  json?: boolean;
}

/** `holdfast sessions fork`: a session that begins with the events of another. */
export async function forkSession(
  argument: string,
  options: ForkOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, at, to } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(argument, options, connected.apps);
    const place = { ...(at === undefined ? {} : { at }), ...(to === undefined ? {} : { to }) };
    const fork = await withProgress(output, 'forking', connected.sessions.fork({ ...names, ...place }));
    const { app, userId, sessionId, seq, forkedFrom } = fork;
    if (options.json) return output.json({ app, userId, sessionId, seq, forkedFrom });
    output.line(sessionId);
    output.note(
      `${sessionId} has the first ${seq} events of ${names.sessionId}; go on with ` +
        namingOptions({ app, userId, sessionId }),
    );
  } finally {
    await connected.close();
  }
}
