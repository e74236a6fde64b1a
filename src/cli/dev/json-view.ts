import type { StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnResult } from '../../protocol/turn.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import type { LoadedAgents } from './child-messages.ts';
import type { DevFacts, DevView, ShownTurn } from './dev-view.ts';

/** For programs: JSON Lines on standard output, each with a `type`; remarks on standard error. */
export class JsonView implements DevView {
  readonly #out: NodeJS.WritableStream;
  readonly #err: NodeJS.WritableStream;
  #turn: Pick<ShownTurn, 'sessionId' | 'invocationId'> | undefined;

  constructor(out: NodeJS.WritableStream = process.stdout, err: NodeJS.WritableStream = process.stderr) {
    this.#out = out;
    this.#err = err;
  }

  note(line: string): void {
    this.#err.write(`${visibleLines(line)}\n`);
  }

  problem(message: string): void {
    this.#tell('error', { message });
  }

  answer(lines: readonly string[]): void {
    this.#tell('answer', { lines });
  }

  ready({ file, folder, loaded, workerPid, address, namespace, uiUrl, gateway, ...more }: DevFacts): void {
    const { store, taskQueue, session } = more;
    const temporal = { address, namespace };
    this.#tell('ready', {
      file,
      folder,
      ...loaded,
      workerPid,
      temporal,
      uiUrl,
      gateway,
      store,
      taskQueue,
      session,
    });
  }

  reloading(): void {
    this.#tell('reloading');
  }

  reloaded(loaded: LoadedAgents, workerPid: number | undefined): void {
    this.#tell('reloaded', { ...loaded, workerPid });
  }

  refused(message: string, keeps: boolean): void {
    this.#tell('load-failed', { message, keepsWorker: keeps });
  }

  drained(pid: number | undefined, ms: number): void {
    this.#tell('drained', { workerPid: pid, ms });
  }

  died(message: string, pause: number): void {
    this.#tell('worker-ended', { message, restartsInMs: pause });
  }

  printed(line: string): void {
    this.#tell('output', { line });
  }

  queued({ messageId, ahead }: { messageId: string; ahead: number }): void {
    this.#tell('queued', { messageId, ahead });
  }

  turnBegins({ sessionId, invocationId, messageId, link }: ShownTurn): void {
    this.#turn = { sessionId, invocationId };
    this.#tell('turn', { sessionId, invocationId, messageId, link });
  }

  item({ type, ...item }: StreamItem): void {
    this.#tell(type.replaceAll(' ', '-'), { ...this.#turn, ...item });
  }

  turnEnded(result: TurnResult, ms: number): void {
    this.#tell('turn-ended', { ...this.#turn, ...result, ms });
  }

  turnFailed(message: string): void {
    this.#tell('turn-failed', { ...this.#turn, message });
  }

  #tell(type: string, more: Record<string, unknown> = {}): void {
    this.#out.write(`${JSON.stringify({ type, ...more })}\n`);
  }
}
