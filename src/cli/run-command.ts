import { randomUUID } from 'node:crypto';
import { GatewayUnreachable } from '../client/gateway-errors.ts';
import { nameProblem } from '../protocol/message-limits.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import { CliError } from './cli-error.ts';
import { ownOrReach } from './environment/folder-access.ts';
import { needsFolder } from './environment/places.ts';
import { chooseAgent, loadAgents } from './load-agents.ts';
import { givenMessage } from './message-options.ts';
import { jsonPrinter, type Printer, terminalPrinter } from './printer.ts';
import { runThrough } from './run-through.ts';
import type { TurnOfCommand } from './run-turn.ts';
import type { Interruption, RunningCommand, RunOptions } from './running-command.ts';
import { shellWord } from './shell-word.ts';

function checkOptions(options: RunOptions): void {
  const { session, user, app, messageId } = options;
  for (const [name, value] of Object.entries({ session, user, app, 'message-id': messageId })) {
    if (value !== undefined && (value === '' || !value.isWellFormed())) {
      throw new CliError(
        `--${name}: expected text, got ${value === '' ? 'nothing' : 'malformed Unicode'}`,
        2,
      );
    }
  }
  const problem = messageId === undefined ? undefined : nameProblem(messageId);
  if (problem !== undefined) throw new CliError(`--message-id: ${problem}`, 2);
}

/** `holdfast run`: one turn to its end. Returns the exit code. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
  const given = givenMessage(options);
  checkOptions(options);
  const printer = options.json ? jsonPrinter() : terminalPrinter();
  const loaded = await loadAgents(file);
  const agent = chooseAgent(file, loaded, options.agent);
  // A model that nobody knows is told before anything is started.
  for (const { canonicalModel } of loaded.agents) void canonicalModel;
  const turn: TurnOfCommand = {
    app: options.app ?? loaded.app,
    userId: options.user,
    sessionId: options.session ?? `s-${randomUUID().slice(0, 8)}`,
    messageId: options.messageId ?? randomUUID(),
    agent: agent.name,
    ...given,
    // JSON has whole events only.
    ...(options.json || !process.stdout.isTTY ? {} : { runConfig: { streamingMode: 'sse' as const } }),
  };
  if (loaded.apps.length > 0 && turn.app !== loaded.app) {
    printer.note(`--app ${turn.app}: the plugins and settings of the app ${loaded.app} are not for it`);
  }
  const interrupted = onInterrupt(printer, commandOf(file, options, turn));
  const printed = { begun: false, seq: undefined };
  try {
    const outcome = await answered({ file, loaded, turn, options, printer, printed, interrupted });
    if (outcome === undefined) return 130;
    printer.outcome(outcome, { sessionId: turn.sessionId, app: turn.app, userId: turn.userId });
    return outcome.status === 'completed' ? 0 : 1;
  } finally {
    interrupted.forget();
  }
}

/** By this process's own worker, or through the process that owns the folder, until that one ends. */
async function answered(command: RunningCommand): Promise<InvocationOutcome | undefined> {
  const { options, printer } = command;
  for (;;) {
    const access = needsFolder(process.env)
      ? await ownOrReach(options.folder, printer.note)
      : { ownership: undefined };
    if ('ownership' in access) {
      // The worker, a second of loading, which nobody needs who only asks another process.
      const { runHere } = await import('./run-here.ts');
      return await runHere(command, access.ownership);
    }
    try {
      return await runThrough(command, access.owner);
    } catch (error) {
      if (!(error instanceof GatewayUnreachable)) throw error;
      printer.note('the process that answered has ended; the turn goes on here');
    }
  }
}

/** The command that goes on with this turn, whatever the first one left to defaults. */
function commandOf(
  file: string,
  { message, content, state, folder }: RunOptions,
  turn: TurnOfCommand,
): string {
  const options = {
    folder,
    app: turn.app,
    user: turn.userId,
    session: turn.sessionId,
    agent: turn.agent,
    'message-id': turn.messageId,
    message,
    content,
    state,
  };
  const words = Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, shellWord(value)],
  );
  return ['npx holdfast run', shellWord(file), ...words].join(' ');
}

function onInterrupt(printer: Printer, resumeCommand: string): Interruption & { forget(): void } {
  const { promise, resolve: happen } = Promise.withResolvers<undefined>();
  let isKept = false;
  const listener = () => {
    if (!isKept) process.exit(130);
    printer.note(`interrupted; the turn is kept and goes on with: ${resumeCommand}`);
    happen(undefined);
  };
  process.once('SIGINT', listener);
  process.once('SIGTERM', listener);
  return {
    happened: promise,
    keepsTurn() {
      isKept = true;
    },
    forget() {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}
