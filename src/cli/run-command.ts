import { randomUUID } from 'node:crypto';
import { workflowUrl } from '../../worker/index.ts';
import type { OutgoingMessage } from '../client/outgoing-turn.ts';
import { invocationIdOf, workflowIdOf } from '../protocol/identity.ts';
import { nameProblem } from '../protocol/message-limits.ts';
import type { InvocationOutcome } from '../protocol/turn.ts';
import { CliError } from './cli-error.ts';
import { type Environment, openEnvironment } from './environment.ts';
import { followInvocation } from './follow-invocation.ts';
import { chooseAgent, loadAgents } from './load-agents.ts';
import { offerGemini } from './offer-gemini.ts';
import { jsonPrinter, type Printer, terminalPrinter } from './printer.ts';

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

type TurnOfCommand = OutgoingMessage & { agent: string; messageId: string };

/** `holdfast run`: one turn to its end. Returns the exit code. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
  checkOptions(options);
  const printer = options.json ? jsonPrinter() : terminalPrinter();
  const loaded = await loadAgents(file);
  const agent = chooseAgent(file, loaded, options.agent);
  // A model that nobody knows is told before anything is started.
  for (const { canonicalModel } of loaded.agents) void canonicalModel;
  const turn = {
    app: options.app ?? loaded.app,
    userId: options.user,
    sessionId: options.session ?? `s-${randomUUID().slice(0, 8)}`,
    messageId: options.messageId ?? randomUUID(),
    agent: agent.name,
    message: options.message,
  };
  const resumeCommand = commandOf(file, options, turn);
  const gemini = await offerGemini(loaded.agents, loaded.geminiScript, process.env, printer.note);
  let environment: Environment | undefined;
  const interrupted = onInterrupt(() => environment, printer, resumeCommand);
  try {
    environment = await openEnvironment({
      folder: options.folder,
      agents: loaded.agents,
      apps: loaded.apps,
      rootAgent: agent,
      env: process.env,
      taskQueueOf: file,
      onProgress: printer.note,
    });
    const outcome = await Promise.race([
      runTurn(environment, turn, printer),
      interrupted.happened,
      environment.failed,
    ]);
    if (outcome === undefined) return 130;
    printer.outcome(outcome, { sessionId: turn.sessionId, app: turn.app, userId: turn.userId });
    return outcome.status === 'completed' ? 0 : 1;
  } finally {
    interrupted.forget();
    await environment?.close({ stopServer: options.stopServer ?? false });
    await gemini?.close();
  }
}

async function runTurn(
  { store, client, temporal, taskQueue }: Environment,
  turn: TurnOfCommand,
  printer: Printer,
): Promise<InvocationOutcome> {
  const names = { app: turn.app, userId: turn.userId, sessionId: turn.sessionId };
  const first = invocationIdOf(turn.app, turn.userId, turn.sessionId, turn.messageId);
  // In this order: another process may begin the turn meanwhile.
  const known = await store.findSession(names);
  const recorded = await store.findInvocation(names, first);
  const invocationId = recorded?.invocationId ?? first;
  if (recorded?.outcome !== undefined) {
    printer.note(`message ${turn.messageId} was answered before; this is its recorded turn`);
    await followInvocation({
      store,
      names,
      invocationId,
      after: recorded.from - 1,
      printer,
      ended: Promise.resolve(),
    });
    return recorded.outcome;
  }
  const handle = await client.sendMessage(turn);
  if (handle.taskQueue !== taskQueue) {
    throw new CliError(
      `message ${turn.messageId} is under way on the task queue ${handle.taskQueue}, of another folder or agents file: ` +
        'run it there, or give both the same HOLDFAST_STORE and HOLDFAST_TASK_QUEUE',
    );
  }
  if (handle.disposition === 'attached') {
    printer.note(`message ${turn.messageId} is under way; following it`);
  } else if (handle.disposition === 'sent') {
    printer.note(`the session is answering another message; ${turn.messageId} comes after it`);
  }
  const link = workflowUrl(temporal, workflowIdOf(turn.app, turn.userId, turn.sessionId), handle.runId);
  printer.started({ ...turn, link });
  const result = handle.result();
  const after = recorded === undefined ? (known?.seq ?? 0) : recorded.from - 1;
  const read = await followInvocation({ store, names, invocationId, after, printer, ended: result });
  const outcome = await result;
  if (read < outcome.events.to) {
    throw new CliError(
      `the turn ran in another process with another store, up to event ${outcome.events.to}; this one's ends at ${read}: ` +
        'give both the same HOLDFAST_STORE, or each its own HOLDFAST_TASK_QUEUE',
    );
  }
  return outcome;
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

function onInterrupt(environment: () => Environment | undefined, printer: Printer, resumeCommand: string) {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const listener = () => {
    if (environment() === undefined) process.exit(130);
    printer.note(`interrupted; the turn is kept and goes on with: ${resumeCommand}`);
    resolve(undefined);
  };
  process.once('SIGINT', listener);
  process.once('SIGTERM', listener);
  return {
    happened: promise,
    forget() {
      process.off('SIGINT', listener);
      process.off('SIGTERM', listener);
    },
  };
}
