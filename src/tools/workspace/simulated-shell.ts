import type { ProgramEnd } from './run-program.ts';

export interface SimulatedRun {
  argv: readonly string[];
  root: string;
  /** Path of the root, and of the folder in it, as the command sees them. */
  inside: string;
  directory: string;
  env: Readonly<Record<string, string>>;
  timeout: number;
  mostOutput: number;
  abortSignal: AbortSignal | undefined;
  onOutput?: ((piece: Buffer) => void) | undefined;
}

/** Commands of one call: each is a step of this process, which must go on meanwhile. */
const MOST_COMMANDS = 10_000;

/**
 * Runs a command in just-bash: a shell in this process, over the root folder and nothing else. It has commands of its own, no programs of the
 * machine, and no network.
 *
 * @throws the signal's reason.
 */
export async function runSimulated(run: SimulatedRun): Promise<ProgramEnd> {
  const { argv, root, inside, directory, timeout, mostOutput, abortSignal } = run;
  const { Bash, InMemoryFs, MountableFs, ReadWriteFs } = await import('just-bash');
  const fs = new MountableFs({
    base: new InMemoryFs(),
    mounts: [{ mountPoint: inside, filesystem: new ReadWriteFs({ root }) }],
  });
  const bash = new Bash({
    fs,
    cwd: directory,
    env: { ...run.env },
    executionLimits: {
      maxCommandCount: MOST_COMMANDS,
      maxLoopIterations: MOST_COMMANDS,
      maxOutputSize: mostOutput,
    },
  });
  const late = AbortSignal.timeout(timeout);
  const signal = abortSignal === undefined ? late : AbortSignal.any([abortSignal, late]);
  const [program = '', ...args] = argv;
  const quoted = `'${program.replaceAll("'", `'\\''`)}'`;
  const { stdout, stderr, exitCode } = await bash.exec(quoted, { args, signal });
  abortSignal?.throwIfAborted();
  run.onOutput?.(Buffer.from(stdout + stderr));
  return { stdout, stderr, exitCode, ...(late.aborted ? { timedOut: true } : {}) };
}
