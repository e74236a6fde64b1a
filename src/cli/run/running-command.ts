import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { SigningOptions } from '../approvals/approver.ts';
import type { GateDesk, WaitsFor } from '../gates/gate-desk.ts';
import type { AgentsFile } from '../load-agents.ts';
import type { MessageOptions } from './message-options.ts';
import type { Printer } from './printer.ts';
import type { Printed, TurnOfCommand } from './run-turn.ts';

export interface RunOptions extends MessageOptions, SigningOptions {
  agent?: string;
  session?: string;
  user: string;
  app?: string;
  messageId?: string;
  json?: boolean;
  folder: string;
  stopServer?: boolean;
  /** False: at a gate or a job the command ends, and the turn waits on. */
  wait: boolean;
}

/** Ctrl-C and SIGTERM of a `holdfast run`. */
export interface Interruption {
  /** Resolves, to nothing, when it has happened. */
  happened: Promise<undefined>;
  /** From now on there is a turn to keep; before, the process just ends. */
  keepsTurn(): void;
}

/** Input of a `holdfast run`, for any place that answers its turn. */
export interface RunningCommand {
  file: string;
  loaded: AgentsFile;
  turn: TurnOfCommand;
  options: RunOptions;
  printer: Printer;
  printed: Printed;
  desk: GateDesk;
  interrupted: Interruption;
}

/** How a command leaves its turn: ended, waiting, or (undefined) interrupted. */
export type TurnLeft = InvocationOutcome | WaitsFor | undefined;
