import { isRecord } from '../protocol/json.ts';
import { kindOf } from '../schema/kind-of.ts';
import { BaseTool, type RunAsyncToolRequest } from '../tools/base-tool.ts';
import { Media, ResponseWithMedia } from '../tools/media.ts';
import { InvalidResultError } from '../tools/tool-error.ts';
import { plannedOnly } from '../tools/tool-gate.ts';
import {
  type BaseCodeExecutor,
  CodeExecutionLanguage,
  type CodeExecutionResult,
  type CodeFile,
} from './base-code-executor.ts';

/** The outcome of a run of code as the model gets it: the fields of a `codeExecutionResult` part. */
export interface CodeOutcome extends Record<string, unknown> {
  outcome: 'OUTCOME_OK' | 'OUTCOME_FAILED';
  output: string;
}

/**
 * The tool that runs the code of an `executableCode` part: args `{ code, language }`, response {@link CodeOutcome}, and the
 * files that the code wrote as media. It is never offered to the model.
 */
export function codeTool(executor: BaseCodeExecutor): BaseTool {
  return plannedOnly(new CodeTool(executor));
}

class CodeTool extends BaseTool {
  readonly #executor: BaseCodeExecutor;

  constructor(executor: BaseCodeExecutor) {
    super({ name: executor.name, description: 'Runs code of the model.', ...executor.durableOptions });
    this.#executor = executor;
  }

  override async runAsync({
    args,
    toolContext,
  }: RunAsyncToolRequest): Promise<CodeOutcome | ResponseWithMedia> {
    const { invocationContext, sessionId } = toolContext;
    const result = await this.#executor.executeCode({
      invocationContext,
      codeExecutionInput: {
        code: typeof args.code === 'string' ? args.code : '',
        language: languageOf(args.language),
        inputFiles: [],
        ...(this.#executor.stateful ? { executionId: sessionId } : {}),
      },
    });
    assertResult(this.name, result);
    const outcome = outcomeOf(result);
    const media = result.outputFiles.filter(isRead).map(mediaOf);
    return media.length === 0 ? outcome : new ResponseWithMedia(outcome, media);
  }
}

const LANGUAGES: ReadonlySet<unknown> = new Set(Object.values(CodeExecutionLanguage));

/** Gemini names one language, in upper case; what names none is Python, as in ADK. */
function languageOf(language: unknown): CodeExecutionLanguage {
  const name = typeof language === 'string' ? language.toLowerCase() : '';
  const isKnown = LANGUAGES.has(name) && name !== CodeExecutionLanguage.UNSPECIFIED;
  return isKnown ? (name as CodeExecutionLanguage) : CodeExecutionLanguage.PYTHON;
}

function assertResult(name: string, result: unknown): asserts result is CodeExecutionResult {
  const isResult =
    isRecord(result) &&
    typeof result.stdout === 'string' &&
    typeof result.stderr === 'string' &&
    Array.isArray(result.outputFiles);
  if (isResult) return;
  throw new InvalidResultError(
    `the code executor ${name} must return { stdout, stderr, outputFiles }, returned ${kindOf(result)}`,
  );
}

/** Texts: `buildCodeExecutionResultPart` of `@google/adk` 2.0.0. */
function outcomeOf({ stdout, stderr, outputFiles }: CodeExecutionResult): CodeOutcome {
  if (stderr !== '') return { outcome: 'OUTCOME_FAILED', output: stderr };
  const texts: string[] = [];
  if (stdout !== '' || outputFiles.length === 0) texts.push(`Code execution result:\n${stdout}\n`);
  const [read, others] = [outputFiles.filter(isRead), outputFiles.filter((file) => !isRead(file))];
  if (read.length > 0) texts.push(`Files:\n${namesOf(read)}`);
  if (others.length > 0) texts.push(`Files that can't be shown:\n${namesOf(others)}`);
  return { outcome: 'OUTCOME_OK', output: texts.join('\n\n') };
}

/** A model refuses requests with data of types that it doesn't read, and so would refuse the session from then on. */
const READ = /^(image|audio|video|text)\/|^application\/(json|pdf)$/;

function isRead({ mimeType, content }: CodeFile): boolean {
  return READ.test(mimeType) && content !== '';
}

function namesOf(files: readonly CodeFile[]): string {
  return files.map(({ name }) => name).join(', ');
}

function mediaOf({ name, content, contentEncoding, mimeType }: CodeFile): Media {
  return new Media({
    mimeType,
    data: Buffer.from(content, contentEncoding === 'base64' ? 'base64' : 'utf8'),
    ...(name === '' ? {} : { name }),
  });
}
