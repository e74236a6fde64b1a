import type { Session } from '../../contract/sessions.ts';
import { visibleLines, visibleText } from '../../protocol/visible-text.ts';
import { CliError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from './named-session.ts';
import { ago, costWords, cutJson, tokensText } from './shown-values.ts';
import { transcriptLines, withHidden } from './transcript.ts';

export interface ShowOptions extends NamingOptions {
  /** Events after this seq. */
  after?: number;
  /** The last so many events. */
  last?: number;
  state?: boolean;
  /** JSON Lines, one stored event per line. */
  events?: boolean;
  json?: boolean;
}

/** `holdfast sessions show`: a session's transcript. */
export async function showSession(
  argument: string,
  options: ShowOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, after, last } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(argument, options, connected.apps);
    const range = {
      ...(after === undefined ? {} : { after }),
      ...(last === undefined ? {} : { numRecentEvents: last }),
    };
    const session = await withProgress(
      output,
      'reading the session',
      connected.sessions.get({ ...names, ...range }),
    );
    if (session === undefined) {
      throw new CliError(
        `app ${names.app} and user ${names.userId} have no session ${names.sessionId}; see holdfast sessions list`,
      );
    }
    print(session, options, output);
  } finally {
    await connected.close();
  }
}

function print(session: Session, { json, events, state }: ShowOptions, output: CommandOutput): void {
  const shown = withHidden(session.events);
  if (json) {
    output.json({ ...session, events: shown });
    return;
  }
  if (events) {
    for (const event of shown) output.json(event);
    return;
  }
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
