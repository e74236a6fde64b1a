import type { StoredEvent } from '../../contract/events.ts';
import { visibleEvents } from '../../flows/event-visibility.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectedFolder, type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { type NamingOptions, namedSession } from './named-session.ts';

export interface RewindOptions extends NamingOptions {
  /** Invocation that is hidden, with all that came later. */
  before?: string;
  /** Hides the last so many turns. */
  turns?: number;
  json?: boolean;
}

/** `holdfast sessions rewind`: hides what came from an invocation on. */
export async function rewindSession(
  argument: string,
  options: RewindOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, before, turns } = options;
  if ((before === undefined) === (turns === undefined)) {
    throw new UsageError('say either --before <invocation id> or --turns <number>');
  }
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const names = await namedSession(argument, options, connected.apps);
    const marker = await withProgress(output, 'rewinding', rewind(connected, names));
    if (options.json) return output.json(marker);
    const { seq, hidesAfter, event } = marker;
    output.line(
      `events ${(hidesAfter ?? 0) + 1} to ${seq - 1} are hidden from agents; they stay in the store`,
    );
    output.note(`event ${seq} says so: before ${event.actions.rewindBeforeInvocationId}`);
  } finally {
    await connected.close();
  }

  async function rewind({ api: { sessions } }: ConnectedFolder, names: SessionNames): Promise<StoredEvent> {
    const beforeInvocationId =
      before ?? nthLastTurn((await sessions.get(names))?.events ?? [], turns ?? 0, '--turns');
    return await sessions.rewind({ ...names, beforeInvocationId });
  }
}

/** @throws CliError where the session has fewer turns; `asked` is how the caller named the number. */
export function nthLastTurn(events: readonly StoredEvent[], turns: number, asked: string): string {
  const invocations = [...new Set(visibleEvents(events).map(({ event }) => event.invocationId))];
  const found = turns === 0 ? undefined : invocations.at(-turns);
  if (found !== undefined && turns <= invocations.length) return found;
  throw new CliError(`${asked} ${turns}: the session has ${invocations.length} turns that are not hidden`);
}
