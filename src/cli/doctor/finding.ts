/** `fail`: turns don't run, or lose something. `warn`: they run, and something is less than it could be. */
export type Severity = 'ok' | 'warn' | 'fail';

/** One thing that was looked at. */
export interface Finding {
  /** Of what: `node`, `store`, … */
  about: string;
  status: Severity;
  message: string;
  /** The remedy; with every finding that isn't `ok`. */
  fix?: string;
}

/** Where the doctor looks. */
export interface Surroundings {
  folder: string;
  env: NodeJS.ProcessEnv;
  /** Task queue whose workers are looked for. Defaults to the one that this folder's process or environment names. */
  taskQueue?: string;
  /** File whose agents are looked at. */
  agents?: string;
  /** Ask the model a question of a few tokens. */
  askModel: boolean;
  runtime: RuntimeFacts;
}

/** The process, as far as it matters. */
export interface RuntimeFacts {
  /** Without `v`. */
  nodeVersion: string;
  platform: NodeJS.Platform;
  arch: string;
  /** Version of glibc; undefined elsewhere than on Linux, and on Linux with another C library. */
  glibc: string | undefined;
}

/** Makes findings about one thing, each as a list of its own. */
export function findingsAbout(about: string) {
  const fail = (message: string, fix: string): Finding[] => [{ about, status: 'fail', message, fix }];
  return {
    ok: (message: string): Finding[] => [{ about, status: 'ok', message }],
    warn: (message: string, fix: string): Finding[] => [{ about, status: 'warn', message, fix }],
    fail,
    /** An error as a finding: those of Holdfast say by themselves what to do. */
    failed: (error: unknown, fix: string): Finding[] => fail(problemOf(error), fix),
  };
}

export function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
}
