import type { DurableOptions } from '../tools/durable-options.ts';
import type { InvocationContext } from '../tools/invocation-context.ts';

const BASE_CODE_EXECUTOR = Symbol.for('holdfast.baseCodeExecutor');

export const CodeExecutionLanguage = {
  UNSPECIFIED: 'unspecified',
  PYTHON: 'python',
  JAVASCRIPT: 'javascript',
  TYPESCRIPT: 'typescript',
  SHELL: 'shell',
  POWERSHELL: 'powershell',
  WINDOWS_CMD: 'cmd',
} as const;
export type CodeExecutionLanguage = (typeof CodeExecutionLanguage)[keyof typeof CodeExecutionLanguage];

export const FileContentEncoding = { UTF8: 'utf-8', BASE64: 'base64' } as const;
export type FileContentEncoding = (typeof FileContentEncoding)[keyof typeof FileContentEncoding];

/** A file that code reads or writes. Fields: `File` of `@google/adk` 2.0.0. */
export interface CodeFile {
  name: string;
  /** In the encoding that `contentEncoding` names; UTF-8 text by default. */
  content: string;
  contentEncoding?: FileContentEncoding;
  mimeType: string;
}

export interface CodeExecutionInput {
  code: string;
  language: CodeExecutionLanguage;
  inputFiles: CodeFile[];
  executionId?: string;
  args?: string[] | Record<string, string | number | boolean>;
}

export interface CodeExecutionResult {
  stdout: string;
  /** Where it isn't empty, the code has failed. */
  stderr: string;
  outputFiles: CodeFile[];
}

export interface ExecuteCodeParams {
  invocationContext: InvocationContext;
  codeExecutionInput: CodeExecutionInput;
}

/**
 * Runs code that a model writes as an `executableCode` part. Each piece of code is a call of its step: an activity of its
 * own, whose type is the executor's name, with its call key, its retries and its `onUnknownOutcome`.
 *
 * Fields: `BaseCodeExecutor` of `@google/adk` 2.0.0; `name` and `durableOptions` are ours.
 */
export abstract class BaseCodeExecutor {
  readonly [BASE_CODE_EXECUTOR] = true;
  /** Type of its activities. Defaults to the class's name. */
  get name(): string {
    return this.constructor.name;
  }
  /** How its activities run. Code is not idempotent unless they say so. */
  get durableOptions(): DurableOptions {
    return { idempotent: false };
  }
  optimizeDataFile = false;
  stateful = false;
  /** Failures in a row of one invocation, after which the error is the model's last word. Defaults to 2. */
  errorRetryAttempts = 2;
  /**
   * How code stands in the model's text, beginning and end of a block; the first is how code is sent to the model. Defaults to
   * those of `@google/adk` 2.0.0: fenced blocks of `tool_code`, `python`, `javascript`, `typescript`, `bash`, `sh`.
   */
  codeBlockDelimiters: readonly (readonly [string, string])[] = [
    'tool_code',
    'python',
    'javascript',
    'typescript',
    'bash',
    'sh',
  ].map((language) => [`\`\`\`${language}\n`, '\n```']);
  /** How results are sent to the model. Defaults to a fenced block of `tool_output`. */
  executionResultDelimiters: readonly [string, string] = ['```tool_output\n', '\n```'];

  abstract executeCode(params: ExecuteCodeParams): Promise<CodeExecutionResult>;
}

/** Whether `value` is a code executor, of this or of another copy of the package. */
export function isBaseCodeExecutor(value: unknown): value is BaseCodeExecutor {
  return (
    typeof value === 'object' &&
    value !== null &&
    BASE_CODE_EXECUTOR in value &&
    value[BASE_CODE_EXECUTOR] === true
  );
}
