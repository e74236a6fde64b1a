import { type ChildProcess, spawn } from 'node:child_process';

export interface ProgramRun {
  command: string;
  args: readonly string[];
  directory: string;
  /** Milliseconds. */
  timeout: number;
  abortSignal: AbortSignal | undefined;
}

const MOST_OUTPUT = 256 * 1024;
/** How long the output of a program that has ended is waited for, milliseconds. */
const GRACE = 1_000;
const VARIABLES = ['PATH', 'HOME', 'LANG', 'TMPDIR'];

/**
 * Runs a program to its end, and ends its process group with it. Texts about how it has failed: `@google/adk` 2.0.0.
 *
 * @throws the signal's reason.
 */
export async function runProgram(run: ProgramRun): Promise<{ stdout: string; stderr: string }> {
  const { command, args, directory, timeout, abortSignal } = run;
  abortSignal?.throwIfAborted();
  const child = spawn(command, args, {
    cwd: directory,
    env: Object.fromEntries(VARIABLES.map((name) => [name, process.env[name]])),
    // A group of its own, to be ended as a whole.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr] = [new Output(), new Output()];
  const ended = endOf(child);
  // There are none where no process could be started.
  child.stdout?.on('data', (piece: Buffer) => stdout.add(piece));
  child.stderr?.on('data', (piece: Buffer) => stderr.add(piece));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    endGroup(child);
  }, timeout);
  const onAbort = () => endGroup(child);
  abortSignal?.addEventListener('abort', onAbort);
  try {
    const failure = await ended;
    abortSignal?.throwIfAborted();
    if (timedOut) stderr.say(`\nCode execution timed out after ${timeout / 1_000} seconds.`);
    else if (failure !== undefined && (failure.always || stderr.isEmpty)) stderr.say(failure.text);
    return { stdout: stdout.text, stderr: stderr.text };
  } finally {
    clearTimeout(timer);
    abortSignal?.removeEventListener('abort', onAbort);
  }
}

interface Failure {
  text: string;
  /** Said even where the program has said something itself. */
  always: boolean;
}

function endOf(child: ChildProcess): Promise<Failure | undefined> {
  return new Promise((resolve) => {
    let failure: Failure | undefined;
    let escaped: NodeJS.Timeout | undefined;
    child.on('error', (error) => {
      failure = { text: `Process error: ${error.message}\n`, always: true };
      if (child.pid === undefined) resolve(failure);
    });
    child.on('exit', (code, signal) => {
      if (signal !== null) failure ??= { text: `Ended by ${signal}`, always: true };
      else if (code !== 0) failure ??= { text: `Exit code ${code}`, always: false };
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
      resolve(failure);
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
  #bytes = 0;
  #isCut = false;
  #said = '';

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  get text(): string {
    const written = new TextDecoder().decode(Buffer.concat(this.#pieces));
    return `${written}${this.#isCut ? `\n… cut after ${MOST_OUTPUT} bytes\n` : ''}${this.#said}`;
  }

  add(piece: Buffer): void {
    const left = piece.subarray(0, MOST_OUTPUT - this.#bytes);
    this.#isCut ||= left.length < piece.length;
    this.#bytes += left.length;
    if (left.length > 0) this.#pieces.push(left);
  }

  say(text: string): void {
    this.#said += text;
  }
}
