import { randomUUID } from 'node:crypto';
import { resolveModels } from '../../agents/agents-of-tree.ts';
import { sendMessage } from '../../contract/messages.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import { attestMessage, readApprover } from '../approvals/approver.ts';
import { ownerHasEnded, ownOrReach } from '../environment/folder-access.ts';
import { needsFolder } from '../environment/places.ts';
import { checkOptions } from '../field-option.ts';
import { GateDesk, type GateDeskOptions } from '../gates/gate-desk.ts';
import { terminalPerson } from '../gates/terminal-person.ts';
import { chooseAgent, chooseApp, loadAgents } from '../load-agents.ts';
import { givenMessage } from './message-options.ts';
import { jsonPrinter, type Printer, terminalPrinter } from './printer.ts';
import { runThrough } from './run-through.ts';
import type { TurnOfCommand } from './run-turn.ts';
import type { Interruption, RunningCommand, RunOptions, TurnLeft } from './running-command.ts';

/** Of a turn that waits for people or for a job, where the command doesn't. */
const WAITING = 3;

/** `holdfast run`: one turn to its end. Returns the exit code. */
export async function runCommand(file: string, options: RunOptions): Promise<number> {
  const given = givenMessage(options);
  checkOptions(sendMessage, {
    '--session': ['sessionId', options.session],
    '--user': ['userId', options.user],
    '--app': ['app', options.app],
    '--message-id': ['messageId', options.messageId],
  });
  const approver = readApprover(options);
  const held = heldPrinter(
    options.json
      ? jsonPrinter()
      : terminalPrinter(process.stdout, process.stderr, { folder: options.folder }),
  );
  const { printer } = held;
  const loaded = await loadAgents(file);
  const agent = chooseAgent(file, loaded, options.agent);
  // A model that nobody knows is told before anything is started.
  resolveModels(loaded.agents);
  const unsigned: TurnOfCommand = {
    app: chooseApp(file, { app: loaded.app, isExported: loaded.apps.length > 0 }, options.app),
    userId: options.user,
    sessionId: options.session ?? `s-${randomUUID().slice(0, 8)}`,
    messageId: options.messageId ?? randomUUID(),
    ...(options.agent === undefined ? {} : { agent: agent.name }),
    rootAgent: agent.rootAgent.name,
    ...given,
    // JSON has whole events only.
    ...(options.json || !process.stdout.isTTY ? {} : { runConfig: { streamingMode: 'sse' as const } }),
  };
  const turn = approver === undefined ? unsigned : await attestMessage(approver, unsigned);
  const resumeCommand = commandOf(file, options, turn);
  const interrupted = onInterrupt(printer, resumeCommand);
  const { app, userId, sessionId } = turn;
  const desk = new GateDesk({
    names: { app, userId, sessionId },
    note: printer.note,
    folder: options.folder,
    approver,
    leaves: !options.wait,
    ...askedAtTerminal(options, held),
  });
  const printed = { begun: false, seq: undefined, place: undefined };
  try {
    const outcome = await answered({ file, loaded, turn, options, printer, printed, desk, interrupted });
    if (outcome === undefined) return 130;
    if (typeof outcome === 'string') {
      printer.note(`the turn ${outcome}, and is kept; follow it with: ${resumeCommand}`);
      return WAITING;
    }
    desk.close();
    printer.outcome(outcome, { app, userId, sessionId });
    return outcome.status === 'completed' ? 0 : 1;
  } finally {
    desk.close();
    interrupted.forget();
  }
}

/** A person at a terminal is asked, unless programs read what they would see. */
function askedAtTerminal(
  { json, wait }: RunOptions,
  { hold, release }: ReturnType<typeof heldPrinter>,
): Pick<GateDeskOptions, 'person' | 'hold'> {
  if (json || !wait || !process.stdin.isTTY || !process.stderr.isTTY) return {};
  return { person: (signal) => terminalPerson(signal), hold: { begin: hold, end: release } };
}

/** By this process's own worker, or through the process that owns the folder, until that one ends. */
async function answered(command: RunningCommand): Promise<TurnLeft> {
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
      if (!ownerHasEnded(error)) throw error;
      printer.note('the process that answered has ended; the turn goes on here');
    }
  }
}

/** The command that goes on with this turn, with all defaults of the first one filled in. */
function commandOf(
  file: string,
  { message, content, state, folder, as, key }: RunOptions,
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
    as,
    key,
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

/** A printer that keeps back what comes while somebody types an answer. */
interface HeldPrinter {
  printer: Printer;
  hold(): void;
  /** Prints what was kept back. */
  release(): void;
}

function heldPrinter(to: Printer): HeldPrinter {
  let held: (() => void)[] | undefined;
  const kept =
    <Item extends unknown[]>(print: (...item: Item) => void) =>
    (...item: Item) => {
      if (held === undefined) print(...item);
      else held.push(() => print(...item));
    };
  return {
    printer: {
      note: kept(to.note),
      started: kept(to.started),
      event: kept(to.event),
      text: kept(to.text),
      textDropped: kept(to.textDropped),
      callStarted: kept(to.callStarted),
      callFinished: kept(to.callFinished),
      toolChunk: kept(to.toolChunk),
      toolChunksDropped: kept(to.toolChunksDropped),
      job: kept(to.job),
      endLine: kept(to.endLine),
      outcome: kept(to.outcome),
    },
    hold() {
      if (held === undefined) to.endLine();
      held ??= [];
    },
    release() {
      const kept = held ?? [];
      held = undefined;
      for (const print of kept) print();
    },
  };
}
