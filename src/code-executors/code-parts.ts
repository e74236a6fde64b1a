import type { Language } from '@google/genai';
import type { Content, Part } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';
import type { ToolCallRecord } from '../tools/invocation-context.ts';
import type { BaseCodeExecutor } from './base-code-executor.ts';

/** Beginning and end of a block. */
export type Delimiters = readonly [string, string];

/** Code that is to be run: the arguments of the executor's tool. */
export interface FoundCode {
  /** The answer up to the code, which is an `executableCode` part: the model's text after it guesses the result. */
  parts: readonly Part[];
  code: { code: string; language: string };
}

/**
 * The code of an answer: the first `executableCode` part without a result after it, else the first block of code in the text;
 * undefined where there is none. Semantics: `extractCodeAndTruncateContent` of `@google/adk` 2.0.0, but the language of a block
 * counts, and thoughts are no code.
 *
 * @param isThought whether a part is a thought. Defaults to the part's mark.
 */
export function findCode(
  executor: BaseCodeExecutor,
  parts: readonly Part[],
  isThought = ({ thought }: Part): boolean => thought === true,
): FoundCode | undefined {
  const index = parts.findIndex(
    ({ executableCode }, at) =>
      executableCode !== undefined && parts[at + 1]?.codeExecutionResult === undefined,
  );
  const ready = parts[index]?.executableCode;
  if (ready !== undefined) {
    const { code = '', language = PYTHON } = ready;
    return { parts: parts.slice(0, index + 1), code: { code, language } };
  }
  const said = parts.filter((part) => part.text && !isThought(part));
  const block = firstBlock(said.map(({ text }) => text).join('\n'), executor.codeBlockDelimiters);
  if (block === undefined) return undefined;
  const { before, code, language } = block;
  return {
    parts: [
      ...parts.filter(isThought),
      ...(before === '' ? [] : [{ ...said[0], text: before }]),
      { executableCode: { code, language: language === 'python' ? PYTHON : UNSPECIFIED } },
    ],
    code: { code, language },
  };
}

// Values of the SDK's enum, without loading the SDK. Gemini knows no other languages.
const PYTHON = 'PYTHON' as Language;
const UNSPECIFIED = 'LANGUAGE_UNSPECIFIED' as Language;

/**
 * Contents as a model is sent them that runs no code itself: code and its results as blocks of text. Code that stands with its
 * result in one content was run by the provider and stays. Semantics: `convertCodeExecutionParts` of `@google/adk` 2.0.0.
 */
export function codeAsText(executor: BaseCodeExecutor, content: Content): Content {
  const parts = content.parts ?? [];
  if (!parts.some(isCode)) return content;
  const [code = ['', ''] as const] = executor.codeBlockDelimiters;
  const result = executor.executionResultDelimiters;
  const converted = parts.map((part, index): Part => {
    const { executableCode, codeExecutionResult, ...rest } = part;
    if (executableCode !== undefined && parts[index + 1]?.codeExecutionResult === undefined) {
      return { ...rest, text: `${code[0]}${executableCode.code ?? ''}${code[1]}` };
    }
    if (codeExecutionResult !== undefined && parts[index - 1]?.executableCode === undefined) {
      return { ...rest, text: `${result[0]}${codeExecutionResult.output ?? ''}${result[1]}` };
    }
    return part;
  });
  const isResult = parts.every(({ codeExecutionResult, inlineData }) => codeExecutionResult ?? inlineData);
  return { ...content, ...(isResult ? { role: 'user' } : {}), parts: converted };
}

/** Whether code has failed so often in a row, in this invocation, that the model's next code is not run. */
export function hasFailedTooOften(executor: BaseCodeExecutor, calls: readonly ToolCallRecord[]): boolean {
  const runs = calls.filter(({ callId }) => callId === '');
  const succeeded = runs.findLastIndex(({ failed, response }) => !failed && !isFailure(response));
  return runs.length - 1 - succeeded >= executor.errorRetryAttempts;
}

function isFailure(response: unknown): boolean {
  return isRecord(response) && response.outcome === 'OUTCOME_FAILED';
}

function isCode({ executableCode, codeExecutionResult }: Part): boolean {
  return executableCode !== undefined || codeExecutionResult !== undefined;
}

interface Block {
  before: string;
  code: string;
  language: string;
}

function firstBlock(text: string, delimiters: readonly Delimiters[]): Block | undefined {
  const found = delimiters.flatMap(([begin, end]): Block[] => {
    const start = begin === '' ? -1 : text.indexOf(begin);
    const stop = start === -1 ? -1 : text.indexOf(end, start + begin.length);
    if (stop === -1 || stop === start + begin.length) return [];
    const code = text.slice(start + begin.length, stop);
    return [{ before: text.slice(0, start), code, language: languageOf(begin) }];
  });
  return found.toSorted((one, other) => one.before.length - other.before.length)[0];
}

/** A block is named by the language, or by an alias of its own. */
function languageOf(begin: string): string {
  const name = /[a-z]+/.exec(begin)?.[0] ?? '';
  if (name === 'bash' || name === 'sh') return 'shell';
  return name === 'javascript' || name === 'typescript' ? name : 'python';
}
