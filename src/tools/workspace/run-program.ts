import { type ChildProcess, type IOType, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as later } from 'node:timers/promises';

export interface ProgramRun {
  command: string;
  args: readonly string[];
  directory: string;
  /** All of its environment. Defaults to PATH, HOME, LANG and TMPDIR of this process. */
  env?: NodeJS.ProcessEnv;
  /** Milliseconds. */
  timeout: number;
  abortSignal: AbortSignal | undefined;
  /** Bytes of each output that are kept, 256 KiB by default. */
  mostOutput?: number;
  /** Called with each piece of output as it comes. */
  onOutput?: ((piece: Buffer) => void) | undefined;
  /** Asked every 100 ms while the program runs: a text is why it has to end. */
  watch?: (pid: number) => Promise<string | undefined>;
}

export interface ProgramEnd {
  stdout: string;
  stderr: string;
  /** Undefined for a program that a signal has ended, and for one that could not be started. */
  exitCode?: number;
  signal?: string;
  /** It was ended at its timeout. */
  timedOut?: true;
  /** Why it was ended by its watch. */
  exceeded?: string;
  /** It could not be started, or not be ended. */
  error?: Error;
}

const MOST_OUTPUT = 256 * 1024;
/** How long the output of a program that has ended is waited for, milliseconds. */
const GRACE = 1_000;
const WATCH_EVERY = 100;
const LONGEST_TIMER = 2_147_483_647;
const VARIABLES = ['PATH', 'HOME', 'LANG', 'TMPDIR'];

/**
 * Runs a program to its end, and ends its process group with it.
 *
 * @throws the signal's reason.
 */
export async function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  const { command, args, directory, timeout, abortSignal, mostOutput = MOST_OUTPUT, watch } = run;
  abortSignal?.throwIfAborted();
  const child = spawn(command, args, {
    cwd: directory,
    env: run.env ?? Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]])),
    // A group of its own, to be ended as a whole.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...inherited()],
  });
  const [stdout, stderr] = [new Output(mostOutput), new Output(mostOutput)];
  const ended = endOf(child);
  for (const [stream, output] of [[child.stdout, stdout] as const, [child.stderr, stderr] as const]) {
    // There is none where no process could be started.
    stream?.on('data', (piece: Buffer) => {
      output.add(piece);
      run.onOutput?.(piece);
    });
  }
  const why: Pick<ProgramEnd, 'timedOut' | 'exceeded'> = {};
  const timer = setTimeout(
    () => {
      why.timedOut = true;
      endGroup(child);
    },
    Math.min(timeout, LONGEST_TIMER),
  );
  const onAbort = () => endGroup(child);
  abortSignal?.addEventListener('abort', onAbort);
  const over = new AbortController();
  const watching = watch && watched(child, watch, over.signal);
  try {
    const end = await ended;
    over.abort();
    const exceeded = await watching;
    abortSignal?.throwIfAborted();
    return { stdout: stdout.text, stderr: stderr.text, ...end, ...why, ...(exceeded ? { exceeded } : {}) };
  } finally {
    clearTimeout(timer);
    abortSignal?.removeEventListener('abort', onAbort);
  }
}

let closed: readonly IOType[] | undefined;

/** In place of files that this process was started with, and that each program would get, too: pipes of its own parents. */
function inherited(): readonly IOType[] {
  try {
    const files = () => readdirSync('/proc/self/fdinfo').map(Number).filter(isInherited);
    closed ??= Array<IOType>(Math.max(0, ...files().map((file) => file - 2))).fill('ignore');
    return closed;
  } catch {
    // There is no such list but on Linux, and none when this process may open no more files: it starts no program then.
    return [];
  }
}

function isInherited(file: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${file}`, 'utf8'))?.[1] ?? '';
    return file > 2 && (Number.parseInt(flags, 8) & CLOSED_IN_PROGRAMS) === 0;
  } catch {
    // It was open for the listing alone.
    return false;
  }
}

/** O_CLOEXEC of Linux. */
const CLOSED_IN_PROGRAMS = 0o2000000;

/** Ends the group if its watch says so; gives the reason. */
async function watched(
  child: ChildProcess,
  watch: NonNullable<ProgramRun['watch']>,
  over: AbortSignal,
): Promise<string | undefined> {
  const { pid } = child;
  while (pid !== undefined && !over.aborted) {
    const problem = await watch(pid).catch((error: Error) => `it can't be watched: ${error.message}`);
    if (over.aborted) return undefined;
    if (problem !== undefined) {
      endGroup(child);
      return problem;
    }
    await later(WATCH_EVERY, undefined, { signal: over }).catch(() => undefined);
  }
  return undefined;
}

function endOf(child: ChildProcess): Promise<Pick<ProgramEnd, 'exitCode' | 'signal' | 'error'>> {
  return new Promise((resolve) => {
    let end: Pick<ProgramEnd, 'exitCode' | 'signal' | 'error'> = {};
    let escaped: NodeJS.Timeout | undefined;
    child.on('error', (error) => {
      end = { ...end, error };
      if (child.pid === undefined) resolve(end);
    });
    child.on('exit', (code, signal) => {
      end = { ...end, ...(signal === null ? { exitCode: code ?? 0 } : { signal }) };
      // Processes that the program left running would hold its output open.
      endGroup(child);
      // A process that has left the group still holds it.
      escaped = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
      }, GRACE);
    });
    child.on('close', () => {
      clearTimeout(escaped);
      resolve(end);
    });
  });
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (!isOver(error)) throw error;
  }
}

/** Whether nobody is left in the group, or nobody who may be ended: macOS says so of one whose processes have all ended. */
function isOver(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ESRCH' || code === 'EPERM';
}

/** The first part of a program's output. */
class Output {
  readonly #pieces: Buffer[] = [];
  readonly #most: number;
  #bytes = 0;
  #isCut = false;

  constructor(most: number) {
    this.#most = most;
  }

  get text(): string {
    const written = new TextDecoder().decode(Buffer.concat(this.#pieces));
    return `${written}${this.#isCut ? `\n… cut after ${this.#most} bytes\n` : ''}`;
  }

  add(piece: Buffer): void {
    const left = piece.subarray(0, this.#most - this.#bytes);
    this.#isCut ||= left.length < piece.length;
    this.#bytes += left.length;
    if (left.length > 0) this.#pieces.push(left);
  }
}
