import { type ChildProcess, fork } from 'node:child_process';
import { createInterface } from 'node:readline';
import { moduleFile } from '../../own-files.ts';
import type { StoreNotice } from '../../store/live/live-feed.ts';
import type { FromWorker, LoadedAgents, LoadedFile, ToWorker, WorkerPlace } from './child-messages.ts';

export interface ChildListener {
  file(file: LoadedFile): void;
  notice(notice: StoreNotice): void;
  /** A line that user code has printed. */
  line(line: string): void;
}

/** A worker process, which serves the agents file as it was when the process began. */
export class WorkerChild {
  readonly #process: ChildProcess;
  /** Rejects where the file can't be loaded or defines no agents. */
  readonly loaded: Promise<LoadedAgents>;
  /** Rejects where it ends before. */
  readonly polls: Promise<void>;
  /** Why it has ended; undefined where it was to end. */
  readonly ended: Promise<string | undefined>;

  constructor(file: string, listener: ChildListener) {
    const child = fork(moduleFile('src/cli/dev/worker-process'), [file], {
      // node:sqlite and type stripping are experimental in Node 22, and say so on stderr.
      // The environment has the variables of the file already, and Node would warn of a missing file again.
      execArgv: [
        ...process.execArgv.filter((argument) => !argument.startsWith('--env-file')),
        '--disable-warning=ExperimentalWarning',
      ],
      serialization: 'advanced',
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = child;
    const loaded = Promise.withResolvers<LoadedAgents>();
    const polls = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<string | undefined>();
    let failure: string | undefined;
    const over = (reason: string | undefined) => {
      const error = new Error(reason ?? 'it was stopped');
      loaded.reject(error);
      polls.reject(error);
      ended.resolve(reason);
    };
    child.on('message', (message: FromWorker) => {
      if (message.type === 'file') listener.file(message.file);
      else if (message.type === 'notice') listener.notice(message.notice);
      else if (message.type === 'loaded') loaded.resolve(message.loaded);
      else if (message.type === 'polls') polls.resolve();
      else failure = message.message;
    });
    child.on('error', (error) => over(error.message));
    // Its streams are read to their ends by then.
    child.once('close', (code, signal) =>
      over(failure ?? (code === 0 ? undefined : `the worker process ended (${signal ?? `code ${code}`})`)),
    );
    // There are none where no process could be started.
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      const lines = createInterface({ input: stream }).on('line', listener.line);
      lines.on('error', () => lines.close());
    }
    for (const { promise } of [loaded, polls]) promise.catch(() => undefined);
    this.loaded = loaded.promise;
    this.polls = polls.promise;
    this.ended = ended.promise;
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  open(place: WorkerPlace): void {
    this.#tell({ type: 'open', place });
  }

  /** Takes no new tasks, and ends once its running tools have. */
  drain(): void {
    this.#tell({ type: 'drain' });
  }

  /** Ends soon; what it runs is tried again by another worker. */
  quit(): void {
    this.#tell({ type: 'quit' });
  }

  kill(): void {
    // A child that could not be started has no id, and Node would end this process's own group in its place.
    if (this.#process.pid !== undefined) this.#process.kill('SIGKILL');
  }

  #tell(message: ToWorker): void {
    // One that has just ended hears nothing, and needs not to.
    if (this.#process.connected) this.#process.send(message, () => undefined);
  }
}
