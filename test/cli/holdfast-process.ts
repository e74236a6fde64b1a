import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isDeep } from '../setup/tier.ts';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export const binary = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

/** Milliseconds that an agent's tool may be silent where its process is killed: the default of 10 s would be waited for. */
export const KILLED_SOON = '5000';

/** Workflows run in their worker's thread, but for `npm run test:deep`: another thread takes longer to start than most turns last. */
const IN_ONE_THREAD: Record<string, string> = isDeep ? {} : { TEMPORAL_DEBUG: '1' };

/** A process of the built command, or of a program, without a key for Gemini. */
export class HoldfastProcess {
  readonly #child;
  readonly #closed;
  readonly #written = new EventEmitter();
  stdout = '';
  stderr = '';

  /** @param options `typed`: lines are written to its standard input, which is empty otherwise; `program`: its path. */
  constructor(
    args: readonly string[],
    options: { cwd?: string; env?: Record<string, string>; typed?: boolean; program?: string } = {},
  ) {
    const { GEMINI_API_KEY: _gemini, GOOGLE_API_KEY: _google, ...env } = process.env;
    this.#child = spawn(process.execPath, [options.program ?? binary, ...args], {
      cwd: options.cwd,
      env: { ...env, ...IN_ONE_THREAD, NO_COLOR: '1', ...options.env },
      stdio: [options.typed ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#written.emit('text');
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#written.emit('text');
    });
    this.#closed = once(this.#child, 'close');
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Lines of its standard input. */
  type(...lines: string[]): void {
    this.#child.stdin?.write(lines.map((line) => `${line}\n`).join(''));
  }

  endOfInput(): void {
    this.#child.stdin?.end();
  }

  /** As `| head` does when it has read enough. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  /** As a reader of standard error that ends. */
  closeRemarks(): void {
    this.#child.stderr?.destroy();
  }

  /** Waits until what it has written matches. */
  async prints(expected: RegExp): Promise<void> {
    while (!expected.test(this.stdout) && !expected.test(this.stderr)) {
      if (this.isOver)
        throw new Error(`it ended before it wrote ${expected}:\n${this.stdout}\n${this.stderr}`);
      await Promise.race([this.#closed, once(this.#written, 'text')]);
    }
  }

  async finished(): Promise<Finished> {
    const [code] = await this.#closed;
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}

export async function holdfast(
  ...parameters: ConstructorParameters<typeof HoldfastProcess>
): Promise<Finished> {
  return await new HoldfastProcess(...parameters).finished();
}
