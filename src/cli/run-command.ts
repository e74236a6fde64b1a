import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { type FolderOwnership, workflowUrl } from '../../worker/index.ts';
import { GatewayClient } from '../client/gateway-client.ts';
import { GatewayUnreachable } from '../client/gateway-errors.ts';
import { nameProblem } from '../protocol/message-limits.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import { CliError } from './cli-error.ts';
import { ownOrReach, type ReachedOwner } from './environment/folder-access.ts';
import { type Environment, openEnvironment } from './environment/open-environment.ts';
import { needsFolder, taskQueueFor } from './environment/places.ts';
import { folderLogger, installRuntime, lineLogger } from './environment/worker-logs.ts';
import { type AgentsFile, chooseAgent, loadAgents } from './load-agents.ts';
import { offerGemini } from './offer-gemini.ts';
import { jsonPrinter, type Printer, terminalPrinter } from './printer.ts';
import { othersWaiting, type Printed, runTurn, type TurnOfCommand } from './run-turn.ts';

export interface RunOptions {
  agent?: string;
  message: string;
  session?: string;
  user: string;
  app?: string;
  messageId?: string;
  json?: boolean;
  folder: string;
  stopServer?: boolean;
}

function checkOptions(options: RunOptions): void {
  if (options.message.trim() === '') throw new CliError('--message is empty: say what the agent is to do', 2);
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

/** How long a process that has gone away is waited for, milliseconds. */
const GATEWAY_PATIENCE = 2_000;

/** Somebody has pressed Ctrl-C and waits: running tools get a moment, and another attempt later. Milliseconds. */
const SHUTDOWN_GRACE = 1_000;

/** `holdfast run`: one turn to its end. Returns the exit code. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
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
    message: options.message,
    // JSON has whole events only.
    ...(options.json || !process.stdout.isTTY ? {} : { runConfig: { streamingMode: 'sse' as const } }),
  };
  const command: Command = { file, loaded, turn, options, printer, printed: { begun: false, seq: undefined } };
  const interrupted = onInterrupt(printer, commandOf(file, options, turn));
  try {
    const outcome = await answered(command, interrupted);
    if (outcome === undefined) return 130;
    printer.outcome(outcome, { sessionId: turn.sessionId, app: turn.app, userId: turn.userId });
    return outcome.status === 'completed' ? 0 : 1;
  } finally {
    interrupted.forget();
  }
}

interface Command {
  file: string;
  loaded: AgentsFile;
  turn: TurnOfCommand;
  options: RunOptions;
  printer: Printer;
  printed: Printed;
}

type Interruption = ReturnType<typeof onInterrupt>;

/** By this process's own worker, or through the process that owns the folder, until that one ends. */
async function answered(
  command: Command,
  interrupted: Interruption,
): Promise<InvocationOutcome | undefined> {
  const { options, printer } = command;
  for (;;) {
    if (!needsFolder(process.env)) return await runHere(command, undefined, interrupted);
    const access = await ownOrReach(options.folder, printer.note);
    if ('ownership' in access) return await runHere(command, access.ownership, interrupted);
    try {
      return await runThrough(command, access.owner, interrupted);
    } catch (error) {
      if (!(error instanceof GatewayUnreachable)) throw error;
      printer.note('the process that answered has ended; the turn goes on here');
    }
  }
}

async function runHere(
  { file, loaded, turn, options, printer, printed }: Command,
  ownership: FolderOwnership | undefined,
  interrupted: Interruption,
): Promise<InvocationOutcome | undefined> {
  let environment: Environment | undefined;
  const gemini = await offerGemini(loaded.agents, loaded.geminiScript, process.env, printer.note);
  const log = ownership && folderLogger(ownership.folder);
  installRuntime(log ?? new DefaultLogger('ERROR'), { handlesSignals: true });
  try {
    environment = await openEnvironment({
      folder: options.folder,
      ownership,
      file,
      loaded,
      rootAgent: turn.agent,
      env: process.env,
      logger: log ?? lineLogger(printer.note),
      grace: SHUTDOWN_GRACE,
      onProgress: printer.note,
    });
    interrupted.keepsTurn();
    const { client, temporal, taskQueue, failed } = environment;
    const linkOf = (workflowId: string, runId: string) => workflowUrl(temporal, workflowId, runId || undefined);
    const running = runTurn(client, turn, { taskQueue, linkOf, printer, printed });
    const outcome = await Promise.race([running, interrupted.happened, failed]);
    if (outcome === undefined) return undefined;
    const others = await othersWaiting(client, turn);
    if (others > 0)
      printer.note(`${messages(others)} of this session: kept, and answered by the next command with this file`);
    return outcome;
  } finally {
    await environment?.close({ stopServer: options.stopServer ?? false });
    await gemini?.close();
  }
}

async function runThrough(
  { file, turn, options, printer, printed }: Command,
  { url, token, pid }: ReachedOwner,
  interrupted: Interruption,
): Promise<InvocationOutcome | undefined> {
  const api = new GatewayClient({ url, token, patience: GATEWAY_PATIENCE });
  const about = await api.about();
  const taskQueue = taskQueueFor(process.env, options.folder, file);
  const owner = pid === undefined ? 'the process that owns the folder' : `process ${pid}`;
  if (about.taskQueue !== taskQueue) {
    throw new CliError(
      `the folder ${resolve(options.folder)} is in use by ${owner}, which serves another agents file ` +
        `(${about.agents.join(', ') || 'no agents'}): end that process, or use another folder (--folder)`,
    );
  }
  if (!about.agents.includes(turn.agent)) {
    throw new CliError(
      `${owner} serves this file without the agent ${turn.agent} (it has ${about.agents.join(', ') || 'none yet'}): ` +
        'see what it says of the file, or end it and try again',
    );
  }
  if (!printed.begun) printer.note(`${owner} owns the folder and answers; with it ends the turn, or comes here`);
  if (options.stopServer) printer.note(`--stop-server: the Temporal server is that of ${owner}, and stays up`);
  interrupted.keepsTurn();
  const linkOf = (workflowId: string, runId: string) => workflowUrl(about, workflowId, runId || undefined);
  const running = runTurn(api, turn, { taskQueue, linkOf, printer, printed });
  running.catch(() => undefined);
  const outcome = await Promise.race([running, interrupted.happened]);
  if (outcome === undefined) return undefined;
  const others = await othersWaiting(api, turn);
  if (others > 0) printer.note(`${messages(others)} of this session, which ${owner} answers`);
  return outcome;
}

function messages(count: number): string {
  return count === 1 ? 'another message waits' : `${count} other messages wait`;
}

/** The command that goes on with this turn, whatever the first one left to defaults. */
function commandOf(file: string, { message, folder }: RunOptions, turn: TurnOfCommand): string {
  const options = {
    folder,
    app: turn.app,
    user: turn.userId,
    session: turn.sessionId,
    agent: turn.agent,
    'message-id': turn.messageId,
    message,
  };
  const words = Object.entries(options).flatMap(([name, value]) => [`--${name}`, quoted(value)]);
  return ['npx holdfast run', quoted(file), ...words].join(' ');
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function onInterrupt(printer: Printer, resumeCommand: string) {
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
    /** From now on there is something to keep. */
    keepsTurn() {
      isKept = true;
    },
    forget() {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}
