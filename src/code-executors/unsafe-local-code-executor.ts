import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join, relative } from 'node:path';
import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import {
  BaseCodeExecutor,
  type CodeExecutionLanguage,
  type CodeExecutionResult,
  type CodeFile,
  type ExecuteCodeParams,
} from './base-code-executor.ts';
import { runProgram } from './run-program.ts';
import { writtenFiles } from './written-files.ts';

/** Fields: those of `@google/adk` 2.0.0. */
export interface UnsafeLocalCodeExecutorOptions {
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
} satisfies OptionsFor<UnsafeLocalCodeExecutorOptions>;

interface Program {
  command: string;
  file: string;
}

/**
 * Runs the model's code on this machine, as the worker's user: JavaScript, TypeScript, Python, shell. **Nothing is walled off**:
 * the code can read and write everything that the worker can, and reach its network. For development, and for machines that hold
 * nothing but it.
 *
 * Each run has a directory of its own, which is deleted after the run, and no variables of the worker's but PATH, HOME, LANG and
 * TMPDIR. The process group of a run ends with the program, at its timeout, or when its call is cancelled. A process that leaves
 * the group on purpose (`setsid`) goes on, and the run doesn't wait for it. The first 256 KiB of the output count, and 10 MiB of
 * the files that the run leaves, without links.
 *
 * Semantics: `UnsafeLocalCodeExecutor` of `@google/adk` 2.0.0, without PowerShell and cmd.
 *
 * @throws DefinitionError from the constructor, naming the option.
 */
export class UnsafeLocalCodeExecutor extends BaseCodeExecutor {
  readonly timeoutSeconds: number;
  readonly #programs: Readonly<Partial<Record<CodeExecutionLanguage, Program>>>;

  constructor(options: UnsafeLocalCodeExecutorOptions = {}) {
    super();
    const owner = new.target.name || 'UnsafeLocalCodeExecutor';
    const programs = readGroup(LOCAL_CODE, { owner, options });
    const { timeoutSeconds, commandPath, pythonCommandPath, shellCommandPath } = programs;
    this.timeoutSeconds = timeoutSeconds;
    this.#programs = {
      // Node decides by the syntax whether they are CommonJS.
      javascript: { command: commandPath, file: 'script.js' },
      typescript: { command: commandPath, file: 'script.ts' },
      python: { command: pythonCommandPath, file: 'script.py' },
      shell: { command: shellCommandPath, file: 'script.sh' },
    };
  }

  override async executeCode({
    invocationContext,
    codeExecutionInput,
  }: ExecuteCodeParams): Promise<CodeExecutionResult> {
    const { code, language, inputFiles, args } = codeExecutionInput;
    const program = this.#programs[language];
    if (program === undefined) {
      return { stdout: '', stderr: `Unsupported language: ${language}`, outputFiles: [] };
    }
    warnOnce();
    const directory = await mkdtemp(join(tmpdir(), 'holdfast-code-'));
    try {
      await writeFile(join(directory, program.file), code);
      for (const file of inputFiles) await writeInput(directory, file);
      const { stdout, stderr } = await runProgram({
        command: program.command,
        args: [program.file, ...argumentsOf(args)],
        directory,
        timeout: this.timeoutSeconds * 1_000,
        abortSignal: invocationContext.abortSignal,
      });
      const given = new Set([program.file, ...inputFiles.map(({ name }) => name)]);
      const { files, leftOut } = await writtenFiles(directory, given);
      return { stdout: stdout + noteOf(leftOut), stderr, outputFiles: files };
    } finally {
      // A process that is still dying may write yet.
      await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

const MOST_NAMES = 20;

function noteOf(leftOut: readonly string[]): string {
  if (leftOut.length === 0) return '';
  const others = leftOut.length > MOST_NAMES ? ` and ${leftOut.length - MOST_NAMES} others` : '';
  return `\nNot sent (too large, too many, or unreadable): ${leftOut.slice(0, MOST_NAMES).join(', ')}${others}\n`;
}

let warned = false;

function warnOnce(): void {
  if (warned) return;
  warned = true;
  process.emitWarning(
    'UnsafeLocalCodeExecutor runs code of a model on this machine, and nothing is walled off from it',
  );
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

function argumentsOf(args: ExecuteCodeParams['codeExecutionInput']['args'] = []): string[] {
  if (Array.isArray(args)) return args;
  return Object.entries(args).flatMap(([name, value]) => [`--${name}`, String(value)]);
}
