import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

export const binary = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

/** A process of the built command, without a key for Gemini. */
export class HoldfastProcess {
  readonly #child;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}) {
    const { GEMINI_API_KEY: _gemini, GOOGLE_API_KEY: _google, ...env } = process.env;
    this.#child = spawn(process.execPath, [binary, ...args], {
      cwd: options.cwd,
      env: { ...env, NO_COLOR: '1', ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** As `| head` does when it has read enough. */
  closeOutput(): void {
    this.#child.stdout.destroy();
  }

  async finished(): Promise<Finished> {
    const [code] = await once(this.#child, 'close');
    return { code, stdout: this.stdout, stderr: this.stderr };
  }
}

export async function holdfast(
  ...parameters: ConstructorParameters<typeof HoldfastProcess>
): Promise<Finished> {
  return await new HoldfastProcess(...parameters).finished();
}
