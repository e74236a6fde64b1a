import type { FunctionDeclaration } from '../../events/content.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { compileSchema } from '../../schema/compile-schema.ts';
import type { CompiledSchema } from '../../schema/compiled-schema.ts';
import type { SchemaLike } from '../../schema/schema-types.ts';
import { withObjectRoot } from '../../schema/subschemas.ts';
import { BaseTool, type RunAsyncToolRequest, type ToolProcessLlmRequest } from '../base-tool.ts';

/** Name of the tool by which an agent ends its task. */
export const FINISH_TASK_TOOL_NAME = 'finish_task';

/** Response to a call of {@link FinishTaskTool} that has ended the task. */
export const FINISH_TASK_SUCCESS_RESULT = 'Task completed.';

/** Told to models about the `mode` of their agents. */
export const MODE_INSTRUCTIONS = {
  task:
    'You work on a task that was handed to you. Do all of it with your tools first. When something is unclear, ask: a person answers what ' +
    'you say. When nothing is left to do, call `finish_task`, alone and without other text. Nothing else ends the task.',
  single_turn:
    'Nobody will answer questions or say more. Do the task with what you were given, and give its result as your only answer.',
};

const DEFAULT_SCHEMA = {
  type: 'object',
  properties: { result: { type: 'string', description: 'A short summary of what was done.' } },
  required: ['result'],
} as const;

/**
 * `finish_task`: the arguments of the call are the result of a task. An agent with `mode: 'task'` has it by itself, and is ended by it.
 * Another agent with the tool learns {@link FINISH_TASK_SUCCESS_RESULT}, or what is wrong. Semantics: `FinishTaskTool` of `@google/adk`
 * 2.0.0, but the arguments are checked by the whole schema.
 *
 * @throws DefinitionError from the constructor for a value that is no schema.
 */
export class FinishTaskTool extends BaseTool {
  readonly #schema: CompiledSchema;
  /** The argument that a result stands in which is no object. */
  readonly wrapperKey: 'result' | undefined;

  /** @param outputSchema of the result. Defaults to an object with the text `result`. */
  constructor(outputSchema: SchemaLike = DEFAULT_SCHEMA) {
    const description =
      'Ends the task that was handed to you: call it when all of the task is done. Its arguments are the result.';
    super({ name: FINISH_TASK_TOOL_NAME, trusted: true, description });
    const site = { owner: 'FinishTaskTool', field: 'outputSchema', side: 'input' } as const;
    this.#schema = compileSchema(outputSchema, site);
    this.wrapperKey = withObjectRoot(this.#schema.jsonSchema) === undefined ? 'result' : undefined;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { name, description, wrapperKey } = this;
    const { $defs = {}, ...result } = this.#schema.jsonSchema;
    const wrapped = { type: 'object', properties: { result }, required: ['result'], $defs };
    const parametersJsonSchema = wrapperKey ? wrapped : withObjectRoot(this.#schema.jsonSchema);
    return { name, description, parametersJsonSchema };
  }

  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    appendInstructions(request.llmRequest, [MODE_INSTRUCTIONS.task]);
  }

  /** The result in the arguments of a call. Semantics: the method of `@google/adk` 2.0.0. */
  extractOutput(args: Record<string, unknown>): unknown {
    return this.wrapperKey ? args.result : args;
  }

  /** Why a call has not ended the task, for the model; undefined if its arguments are a result. */
  async problemOf(args: Record<string, unknown>): Promise<string | undefined> {
    const validation = await this.#schema.validate(structuredClone(this.extractOutput(args)));
    return validation.ok
      ? undefined
      : `The task has not ended: ${validation.message}. Call \`${this.name}\` again.`;
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    const error = await this.problemOf(args);
    return error === undefined ? FINISH_TASK_SUCCESS_RESULT : { error };
  }
}
