import type { StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnResult } from '../../protocol/turn.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { LoadedAgents } from './child-messages.ts';

/** Facts for a person, or a program, when all is up. */
export interface DevFacts {
  file: string;
  folder: string;
  loaded: LoadedAgents;
  workerPid: number | undefined;
  /** Of the Temporal server, `host:port`. */
  address: string;
  namespace: string;
  uiUrl: string | undefined;
  gateway: { url: string; token: string };
  store: 'embedded' | 'postgres';
  taskQueue: string;
  /** Undefined without a chat. */
  session: SessionNames | undefined;
}

export interface ShownTurn extends SessionNames {
  messageId: string;
  invocationId: string;
  /** Empty where the turn has begun by itself. */
  text: string;
  /** Page of the run in the Temporal UI. */
  link: string | undefined;
  /** The message has waited for others. */
  waited: boolean;
}

/** How `holdfast dev` shows what happens. */
export interface DevView {
  note(line: string): void;
  problem(text: string): void;
  /** A command's answer. */
  answer(lines: readonly string[]): void;
  ready(facts: DevFacts): void;
  reloading(): void;
  reloaded(loaded: LoadedAgents, workerPid: number | undefined): void;
  refused(reason: string, keeps: boolean): void;
  drained(pid: number | undefined, ms: number): void;
  died(reason: string, pause: number): void;
  /** A line that user code has printed. */
  printed(line: string): void;
  queued(message: { messageId: string; text: string; ahead: number }): void;
  turnBegins(turn: ShownTurn): void;
  item(item: StreamItem): void;
  turnEnded(result: TurnResult, ms: number): void;
  /** A turn of which there is no result. */
  turnFailed(problem: string): void;
}
