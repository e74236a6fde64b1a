import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { basename, normalize } from 'node:path';
import { z } from 'zod';
import { digestOf } from '../../protocol/canonical-json.ts';
import { defined } from '../../protocol/json.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { linearPattern } from '../../schema/linear-pattern.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../../schema/options.ts';
import type { ApprovalOptions } from '../approval-options.ts';
import type { BaseTool, ToolChunk } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { FunctionTool } from '../function-tool.ts';
import { SPOOLED_FOLDER } from '../spooled/spooled-artifact.ts';
import { plannedOnly } from '../tool-gate.ts';
import { CommandOutput } from './command-output.ts';
import type { ProgramEnd } from './run-program.ts';
import { SANDBOX, Sandbox, type SandboxOptions } from './sandbox.ts';
import { lostFiles, Workspace } from './workspace.ts';

export interface CommandToolOptions {
  /** The folders of sessions in which commands run. */
  workspace: Workspace;
  sandbox?: SandboxOptions;
  /**
   * Whether the model writes a line for a shell, `command`, in place of a program and its arguments, `argv`.
   *
   * @default false
   */
  shell?: boolean;
  /**
   * Commands that run without asking: a program and perhaps its first arguments, like `git status`. `*` stands for any characters of a word.
   * A line for a shell is compared only if it is plain words. **This is no wall**: what a program does is not compared.
   *
   * @default none
   */
  allow?: readonly string[];
  /**
   * Commands that a person is asked about in any case, written as in `allow`.
   *
   * @default none
   */
  deny?: readonly string[];
  /** The people who may decide, and the rules of their decision. */
  approval?: ApprovalOptions;
  /** @default 'run_command' */
  name?: string;
  /** Describes the tool to the model. Defaults to a text about its sandbox. */
  description?: string;
}

const listOfCommands = option.own<readonly string[], readonly string[]>(
  (list) => Array.isArray(list) && list.every((each) => typeof each === 'string' && wordsOf(each).length > 0),
  "a list of commands, like ['git status', 'npm run *']",
  [],
);

const COMMAND_TOOL = {
  workspace: option.required(option.own<Workspace>((value) => value instanceof Workspace, 'a Workspace')),
  sandbox: option.unchecked(),
  shell: option.flag(false),
  allow: listOfCommands,
  deny: listOfCommands,
  approval: option.unchecked(),
  name: option.text('run_command'),
  description: option.text(),
} satisfies OptionsFor<CommandToolOptions>;

/** The result of a command. An exit code other than 0 is a result, too. */
export interface CommandResult {
  /** Undefined for a program that could not be started. */
  exitCode?: number;
  /** Standard output and error as they came: all, or beginning and end. */
  output: string;
  timedOut?: true;
  /** The signal that has ended it. */
  signal?: string;
  /** Why it was ended, or not started. */
  problem?: string;
  /** The artifact that has all of a long output, or output that is no text. */
  artifact?: string;
  version?: number;
  mimeType?: string;
  bytes?: number;
  /** Files of earlier calls that another worker had, where a workspace has no snapshots. */
  filesLost?: { note: string; files: string[] };
}

interface CommandArguments {
  argv?: string[] | undefined;
  command?: string | undefined;
  folder?: string | undefined;
}

/** Restoring and keeping the files of the session, milliseconds. */
const AROUND = 300_000;
const HOUR = 3_600_000;
/** Characters of a question. */
const LONGEST_QUESTION = 2_000;
/** Bytes of a result, which has the beginning and the end of a long output. */
const SPOOL_OVER = 256 * 1024;

/**
 * A tool by which the model runs programs in the session's folder, in a sandbox. A person is asked first, unless `allow` lists the command.
 * Output streams to followers; a long one is kept as an artifact. A command ends with its call, and with its worker.
 *
 * @throws DefinitionError naming the option.
 * @example
 * const workspace = new Workspace();
 * const run = commandTool({ workspace, allow: ['ls', 'git status'], sandbox: { network: ['registry.npmjs.org'] } });
 */
export function commandTool(options: CommandToolOptions): BaseTool {
  return plannedOnly(new CommandTool(options));
}

class CommandTool extends FunctionTool<z.ZodType<CommandArguments>> {
  readonly [SANDBOX]: Sandbox;
  readonly #shell: boolean;

  constructor(options: CommandToolOptions) {
    const owner = 'commandTool';
    const read = readGroup(COMMAND_TOOL, { owner, options });
    const { shell, allow, deny, approval, name, description } = read;
    const { workspace } = options;
    const sandbox = new Sandbox(owner, options.sandbox);
    const { network, limits } = sandbox.options;
    const timeout = limits.time + AROUND;
    super({
      name,
      description: description ?? descriptionOf(shell, network),
      parameters: (shell ? SHELL_PARAMETERS : ARGV_PARAMETERS) as z.ZodType<CommandArguments>,
      ...defined({ approval: approval as ApprovalOptions | undefined }),
      requireConfirmation: (args) => {
        const words = args.argv ?? plainWords(args.command ?? '');
        const isAllowed =
          matches(allow, words) && !matches(deny, words) && !matches(deny, withoutPath(words));
        return isAllowed ? false : { hint: questionOf(args) };
      },
      idempotent: false,
      isConcurrencySafe: false,
      timeout,
      totalTimeout: Math.max(timeout, HOUR),
      maxChunks: Number.MAX_SAFE_INTEGER,
      spool: { over: SPOOL_OVER },
      execute: (args, context) => run(args, context),
    });
    this[SANDBOX] = sandbox;
    this.#shell = shell;

    async function* run(args: CommandArguments, context: Context): AsyncGenerator<ToolChunk> {
      const { command = '', argv: [program = SHELL, ...rest] = [SHELL, '-c', command], folder } = args;
      // A stream that is left early ends the command, too.
      const left = new AbortController();
      const output = new CommandOutput();
      let told = {};
      const running = workspace.use(context, (root, use) => {
        told = lostFiles(use);
        return sandbox.run({
          ...{ argv: [program, ...rest], root, ownsRoot: true, ...defined({ folder }) },
          abortSignal: AbortSignal.any([context.abortSignal, left.signal]),
          onOutput: (piece) => output.add(piece),
        });
      });
      try {
        for await (const content of output.live(running)) yield { content, streaming: true };
        const result = await resultOf(await running, output, context, name);
        yield { content: { ...result, ...told }, streaming: false };
      } finally {
        left.abort(new Error('the command was left'));
      }
    }
  }

  override get definitionDigest(): string {
    return digestOf({ shell: this.#shell, sandbox: this[SANDBOX].terms });
  }
}

const text = z.string().refine((value) => !value.includes('\0'), 'no character of 0');
const folder = text
  .refine((path) => !/^\/|^\.\.(?:\/|$)/.test(normalize(path)), 'a folder below the root')
  .describe('Folder below the root in which it runs; the root by default.')
  .optional();
const ARGV_PARAMETERS = z.strictObject({
  argv: z
    .array(text)
    // A shell would take it for an option.
    .refine(([program = '-']) => /^[^-]/.test(program), 'a program, and its arguments')
    .describe('The program and its arguments. No shell reads them: there are no pipes, globs or variables.'),
  folder,
});
const SHELL_PARAMETERS = z.strictObject({ command: text.min(1).describe('The line for the shell.'), folder });
const SHELL = existsSync('/bin/bash') ? 'bash' : 'sh';

function descriptionOf(shell: boolean, network: readonly string[]): string {
  const what = shell ? 'Runs a line of shell' : 'Runs a program';
  const reach = network.length === 0 ? 'There is no network' : `The network has only ${network.join(', ')}`;
  return `${what} in a sandbox, in the folder of the session. ${reach}. A non-zero exit code is a result.`;
}

function questionOf({ argv, command, folder = '.' }: CommandArguments): string {
  const place = normalize(folder) === '.' ? '' : ` in ${shellWord(folder)}`;
  const words = command ?? argv?.map(shellWord).join(' ') ?? '';
  return visibleExcerpt(`Run${place}: ${words}`, LONGEST_QUESTION);
}

function withoutPath([program = '', ...words]: readonly string[] = []): readonly string[] {
  return [basename(program), ...words];
}

/** Undefined for a line that a shell would read as more than words. */
function plainWords(command: string): readonly string[] | undefined {
  return /^[\w@%+:,./ -]+$/.test(command) ? wordsOf(command) : undefined;
}

function wordsOf(command: string): string[] {
  return command.split(' ').filter((word) => word !== '');
}

function matches(commands: readonly string[], words: readonly string[] | undefined): boolean {
  if (words === undefined) return false;
  return commands.some((command) =>
    wordsOf(command).every((pattern, index) => {
      const word = words[index];
      return word !== undefined && isLike(pattern, word);
    }),
  );
}

function isLike(pattern: string, word: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[\\^$.|?*+()[\]{}/-]/g, '\\$&'));
  return linearPattern(`^${parts.join('[\\s\\S]*')}$`)?.test(word) ?? false;
}

async function resultOf(
  end: ProgramEnd,
  output: CommandOutput,
  context: Context,
  tool: string,
): Promise<CommandResult> {
  const { exitCode, signal, timedOut, exceeded, error } = end;
  const { text, isWhole, isText, bytes, kept } = output.told();
  const result = {
    ...defined({ exitCode, signal, timedOut, problem: exceeded ?? error?.message }),
    output: text,
  };
  if (isWhole || context.functionCallId === undefined) return result;
  const mimeType = isText ? 'text/plain' : 'application/octet-stream';
  const digest = createHash('sha256').update(context.idempotencyKey).digest('hex').slice(0, 16);
  const artifact = `${SPOOLED_FOLDER}${tool}/${digest}`;
  const version = await context.saveArtifact(artifact, { stream: kept, mimeType });
  return { ...result, artifact, version, mimeType, bytes };
}
