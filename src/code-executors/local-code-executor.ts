import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative } from 'node:path';
import * as option from '../schema/option-kinds.ts';
import type { OptionsFor, Resolved } from '../schema/options.ts';
import type { ProgramEnd } from '../tools/workspace/run-program.ts';
import {
  BaseCodeExecutor,
  type CodeExecutionInput,
  type CodeExecutionLanguage,
  type CodeExecutionResult,
  type CodeFile,
  type ExecuteCodeParams,
} from './base-code-executor.ts';
import { writtenFiles } from './written-files.ts';

/** Programs that run code on this machine. Fields: those of `UnsafeLocalCodeExecutor` of `@google/adk` 2.0.0. */
export interface LocalCodeOptions {
  /**
   * Longest run of one piece of code.
   *
   * @default 30
   */
  timeoutSeconds?: number;
  /** Runs JavaScript and TypeScript, ES modules and CommonJS. Defaults to the running Node.js. */
  commandPath?: string;
  /** @default 'python3' */
  pythonCommandPath?: string;
  /** @default 'bash' */
  shellCommandPath?: string;
}

/** The longest time that a Node timer takes. */
const LONGEST_SECONDS = 2_147_483;

export const LOCAL_CODE = {
  timeoutSeconds: option.checked(option.number(0.001, 30), (seconds) =>
    seconds > LONGEST_SECONDS ? `expected at most ${LONGEST_SECONDS}` : undefined,
  ),
  commandPath: option.text(process.execPath),
  pythonCommandPath: option.text('python3'),
  shellCommandPath: option.text('bash'),
} satisfies OptionsFor<LocalCodeOptions>;

/** Runs code in a directory of its own. Texts about how it has failed: `@google/adk` 2.0.0. */
export abstract class LocalCodeExecutor extends BaseCodeExecutor {
  readonly timeoutSeconds: number;
  readonly #programs: Readonly<Partial<Record<CodeExecutionLanguage, readonly [string, string]>>>;

  constructor(options: Resolved<typeof LOCAL_CODE>) {
    super();
    this.timeoutSeconds = options.timeoutSeconds;
    this.#programs = {
      // Node decides by the syntax whether they are CommonJS.
      javascript: [options.commandPath, 'script.js'],
      typescript: [options.commandPath, 'script.ts'],
      python: [options.pythonCommandPath, 'script.py'],
      shell: [options.shellCommandPath, 'script.sh'],
    };
  }

  /** @param timeout milliseconds */
  protected abstract run(
    argv: [string, ...string[]],
    at: { directory: string; timeout: number; abortSignal: AbortSignal | undefined },
  ): Promise<ProgramEnd>;

  override async executeCode({
    invocationContext: { abortSignal },
    codeExecutionInput: { code, language, inputFiles, args },
  }: ExecuteCodeParams): Promise<CodeExecutionResult> {
    const [command, file] = this.#programs[language] ?? [];
    if (command === undefined || file === undefined) {
      return { stdout: '', stderr: `Unsupported language: ${language}`, outputFiles: [] };
    }
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-code-'));
    try {
      await writeFile(join(directory, file), code);
      for (const each of inputFiles) await writeInput(directory, each);
      const at = { directory, timeout: this.timeoutSeconds * 1_000, abortSignal };
      const end = await this.run([command, file, ...argumentsOf(args)], at);
      const given = new Set([file, ...inputFiles.map(({ name }) => name)]);
      const { files, leftOut } = await writtenFiles(directory, given);
      const stderr = end.stderr + failureOf(end, this.timeoutSeconds);
      return { stdout: end.stdout + noteOf(leftOut), stderr, outputFiles: files };
    } finally {
      // A process that is still dying may write yet.
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

function failureOf(
  { stderr, exitCode, signal, timedOut, exceeded, error }: ProgramEnd,
  seconds: number,
): string {
  if (timedOut) return `\nCode execution timed out after ${seconds} seconds.`;
  if (exceeded !== undefined) return `\nEnded: ${exceeded}`;
  if (error !== undefined) return `Process error: ${error.message}\n`;
  if (signal !== undefined) return `Ended by ${signal}`;
  return exitCode !== 0 && stderr === '' ? `Exit code ${exitCode}` : '';
}

const MOST_NAMES = 20;

function noteOf(leftOut: readonly string[]): string {
  if (leftOut.length === 0) return '';
  const others = leftOut.length > MOST_NAMES ? ` and ${leftOut.length - MOST_NAMES} others` : '';
  return `\nNot sent (too large, too many, or unreadable): ${leftOut.slice(0, MOST_NAMES).join(', ')}${others}\n`;
}

async function writeInput(directory: string, { name, content, contentEncoding }: CodeFile): Promise<void> {
  const path = join(directory, name);
  const inside = relative(directory, path);
  if (inside === '' || inside.startsWith('..') || isAbsolute(inside)) {
    throw new TypeError('input file: name: must be a path below the directory of the run');
  }
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content, contentEncoding === 'base64' ? 'base64' : 'utf8');
}

function argumentsOf(args: CodeExecutionInput['args'] = []): string[] {
  if (Array.isArray(args)) return args;
  return Object.entries(args).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
