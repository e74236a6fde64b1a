import { constants } from 'node:fs';
import { mkdir, mkdtemp, open, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../../schema/options.ts';
import { isBelow } from './bubblewrap.ts';
import { Sandbox, type SandboxOptions } from './sandbox.ts';

/** How a command ended. Fields: `ExecutionResult` of `@google/adk` 2.0.0. */
export interface ExecutionResult {
  /** 128 and its number where a signal has ended the command. */
  exitCode: number;
  /** The first MiB, as text. */
  stdout: string;
  /** The first MiB, as text. */
  stderr: string;
  timedOut: boolean;
}

/** A folder in which commands run. Members: `BaseEnvironment` of `@google/adk` 2.0.0. */
export abstract class BaseEnvironment {
  protected initialized = false;

  get isInitialized(): boolean {
    return this.initialized;
  }

  async initialize(): Promise<void> {}

  async close(): Promise<void> {}

  /** Absolute path. */
  abstract get workingDir(): string;

  /** @param timeoutSeconds not limited without. */
  abstract execute(command: string, timeoutSeconds?: number): Promise<ExecutionResult>;

  /** @param filePath absolute, or from the folder. */
  abstract readFile(filePath: string): Promise<Uint8Array>;

  /** Makes the folders of the file, too. */
  abstract writeFile(filePath: string, content: string | Uint8Array): Promise<void>;

  /** @throws Error before `initialize()`. */
  protected assertInitialized(): void {
    if (!this.initialized) throw new Error(`${this.constructor.name}: call initialize() first`);
  }
}

/** Fields: those of `@google/adk` 2.0.0; `sandbox` is ours. */
export interface LocalEnvironmentOptions {
  /** Absolute path of the folder. Without it the environment has a temporary one, which `close()` removes. */
  workingDir?: string;
  /** Variables of commands beside PATH, HOME, LANG and TMPDIR. */
  envVars?: Record<string, string>;
  /** The sandbox of commands; `envVars` join its `env`. */
  sandbox?: SandboxOptions;
}

const LOCAL_ENVIRONMENT = {
  workingDir: option.text(),
  envVars: option.unchecked(),
  sandbox: option.unchecked(),
} satisfies OptionsFor<LocalEnvironmentOptions>;

const MOST_OUTPUT = 1024 * 1024;
/** Commands without a limit end with their environment. */
const UNLIMITED = 2_147_483_000;

/**
 * Runs lines of shell in a folder of this machine, in a sandbox: they write to the folder alone, reach only named hosts, and get only named
 * variables. All that a command has started ends with it. Semantics else: `LocalEnvironment` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the option.
 * @example
 * const environment = new LocalEnvironment({ envVars: { CI: 'true' } });
 * await environment.initialize();
 * const { exitCode, stdout } = await environment.execute('echo $CI', 10);
 */
export class LocalEnvironment extends BaseEnvironment {
  readonly #sandbox: Sandbox;
  readonly #given: string | undefined;
  readonly #closed = new AbortController();
  #folder: string | undefined;

  constructor(options: LocalEnvironmentOptions = {}) {
    super();
    const owner = new.target.name || 'LocalEnvironment';
    readGroup(LOCAL_ENVIRONMENT, { owner, options });
    const { workingDir, envVars, sandbox } = options;
    const env = { ...sandbox?.env, ...envVars };
    this.#sandbox = new Sandbox(owner, { ...sandbox, env });
    this.#given = workingDir && resolve(workingDir);
  }

  get workingDir(): string {
    const folder = this.#folder ?? this.#given;
    if (folder === undefined) throw new Error('`workingDir` is not set. Call initialize() first.');
    return folder;
  }

  override async initialize(): Promise<void> {
    if (this.initialized) return;
    if (this.#given !== undefined) await mkdir(this.#given, { recursive: true });
    this.#folder = await realpath(this.#given ?? (await mkdtemp(join(tmpdir(), 'holdfast-environment-'))));
    this.initialized = true;
  }

  override async close(): Promise<void> {
    this.#closed.abort(new Error('the environment was closed'));
    const folder = this.#folder;
    this.initialized = false;
    this.#folder = undefined;
    if (this.#given === undefined && folder !== undefined) {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }

  /** @throws HOLDFAST_NO_SANDBOX, or an Error for a command that `close()` has ended. */
  override async execute(command: string, timeoutSeconds?: number): Promise<ExecutionResult> {
    this.assertInitialized();
    const root = this.workingDir;
    const end = await this.#sandbox.run({
      argv: ['/bin/sh', '-c', command],
      root,
      inside: root,
      ownsRoot: this.#given === undefined,
      timeout: timeoutSeconds === undefined ? UNLIMITED : timeoutSeconds * 1_000,
      abortSignal: this.#closed.signal,
      mostOutput: MOST_OUTPUT,
    });
    const { exitCode = KILLED, stdout, timedOut = false, exceeded } = end;
    if (end.error !== undefined) throw end.error;
    const stderr = exceeded === undefined ? end.stderr : `${end.stderr}\nended: ${exceeded}\n`;
    return { exitCode, stdout, stderr, timedOut };
  }

  /** @throws Error for a path that leads out of the folder, by a link too. */
  override async readFile(filePath: string): Promise<Uint8Array> {
    const path = this.#inside(filePath);
    await this.#assertReal(path);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return new Uint8Array(await file.readFile());
    } finally {
      await file.close();
    }
  }

  /** @throws Error for a path that leads out of the folder, by a link too. */
  override async writeFile(filePath: string, content: string | Uint8Array): Promise<void> {
    const path = this.#inside(filePath);
    await this.#assertReal(dirname(path));
    await mkdir(dirname(path), { recursive: true });
    await this.#assertReal(dirname(path));
    const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW, O_NONBLOCK } = constants;
    const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK);
    try {
      await file.writeFile(content);
    } finally {
      await file.close();
    }
  }

  #inside(filePath: string): string {
    this.assertInitialized();
    const path = resolve(this.workingDir, filePath);
    if (isBelow(this.workingDir, path)) return path;
    throw new Error(`Path escapes working directory: ${filePath}`);
  }

  /** Commands may have put a link anywhere: the nearest folder that is there has to be where its path says. */
  async #assertReal(path: string): Promise<void> {
    if (path === this.workingDir || !isBelow(this.workingDir, path)) return;
    const real = await realpath(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (real === undefined) return await this.#assertReal(dirname(path));
    if (real !== path) throw new Error(`Path escapes working directory: ${relative(this.workingDir, path)}`);
  }
}

const KILLED = 128 + 9;
