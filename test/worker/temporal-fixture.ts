import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { defaultCacheFolder } from '../../worker/temporal/cache-folder.ts';
import type { TemporalExecutable } from '../../worker/temporal/executable.ts';
import { obtainExecutable } from '../../worker/temporal/install.ts';
import { endServer } from '../setup/end-server.ts';

/** Long enough for a build with Go, where no executable is there. */
export const OBTAIN_TIMEOUT = 15 * 60_000;

let executable: Promise<TemporalExecutable> | undefined;

export function temporalExecutable(): Promise<TemporalExecutable> {
  executable ??= obtainExecutable({
    configured: process.env.HOLDFAST_TEMPORAL_CLI,
    cacheFolder: defaultCacheFolder(process.env),
    env: process.env,
    onProgress: (line) => console.error(line),
  });
  return executable;
}

export function temporaryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-test-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A `.holdfast` folder whose server is stopped when the test ends; its path has what breaks URLs. */
export function holdfastFolder(): string {
  const folder = join(temporaryFolder(), 'a#b 100% c', '.holdfast');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  onTestFinished(() => endServer(folder));
  return folder;
}

export interface TestProcess {
  pid: number;
  /** The next line of its standard output for which `accept` is true, or an error if it ends before. */
  line(accept?: (line: string) => boolean): Promise<string>;
  /** Sends SIGKILL and returns when it is gone. */
  kill(): Promise<void>;
  ended: Promise<number | null>;
}

/** Runs a program of this folder in a Node process of its own. */
export function startProgram(name: string, args: readonly string[], env = process.env): TestProcess {
  const program = fileURLToPath(new URL(`./${name}`, import.meta.url));
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const { promise: ended, resolve } = Promise.withResolvers<number | null>();
  child.once('exit', (code) => resolve(code));
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    pid: child.pid ?? 0,
    async line(accept = () => true) {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${name} has ended without that line`);
        if (accept(value)) return value;
      }
    },
    kill,
    ended,
  };
}
