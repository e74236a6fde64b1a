import { isGemini2OrAbove } from '../models/gemini-generation.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import { BaseCodeExecutor, type CodeExecutionResult } from './base-code-executor.ts';

const BUILT_IN_CODE_EXECUTOR = Symbol.for('holdfast.builtInCodeExecutor');

/**
 * Lets Gemini, 2 or later, run the code that it writes: nothing runs here. Semantics: `BuiltInCodeExecutor` of `@google/adk`
 * 2.0.0.
 *
 * @example new LlmAgent({ name: 'analyst', model: 'gemini-2.5-pro', codeExecutor: new BuiltInCodeExecutor() });
 */
export class BuiltInCodeExecutor extends BaseCodeExecutor {
  readonly [BUILT_IN_CODE_EXECUTOR] = true;

  override async executeCode(): Promise<CodeExecutionResult> {
    return { stdout: '', stderr: '', outputFiles: [] };
  }

  /** @throws DefinitionError for a model that runs no code. */
  processLlmRequest(llmRequest: LlmRequest): void {
    const { model, config } = llmRequest;
    if (!isGemini2OrAbove(model)) {
      throw new DefinitionError({
        owner: 'BuiltInCodeExecutor',
        problem: `Gemini code execution tool is not supported for model ${model}`,
      });
    }
    llmRequest.config = { ...config, tools: [...(config?.tools ?? []), { codeExecution: {} }] };
  }
}

/** Whether `value` is a {@link BuiltInCodeExecutor}, of this or of another copy of the package. */
export function isBuiltInCodeExecutor(value: unknown): value is BuiltInCodeExecutor {
  return (
    typeof value === 'object' &&
    value !== null &&
    BUILT_IN_CODE_EXECUTOR in value &&
    value[BUILT_IN_CODE_EXECUTOR] === true
  );
}
