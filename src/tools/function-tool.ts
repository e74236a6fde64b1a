import { argumentNames, isSensitive, type Sensitive } from '../approvals/sensitive.ts';
import type { FunctionDeclaration } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';
import { compileObjectSchema, compileSchema, isZodSchema } from '../schema/compile-schema.ts';
import type { CompiledSchema, JsonSchemaObject } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields, didYouMean } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, readFrom } from '../schema/options.ts';
import { formatPath } from '../schema/path.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import {
  BaseTool,
  type BaseToolParams,
  type RunAsyncToolRequest,
  TOOL_FIELDS,
  toolOwner,
} from './base-tool.ts';
import type { Context } from './context.ts';
import { jsonResult, responseSchema } from './function-response.ts';
import type { JobOptions } from './job-options.ts';
import { isMediaResult } from './media.ts';
import { ChunkRefused, type ChunkStream, isChunkStream, streamedResult } from './streamed-result.ts';
import { InvalidArgumentsError, InvalidResultError, ToolError, ToolExecutionError } from './tool-error.ts';
import { keptFromRunning, questionOf } from './tool-gate.ts';
import { assertToolName } from './tool-name.ts';
import type { ToolCancel, ToolInputParameters, ToolOptions, ToolOutputSchema } from './tool-types.ts';

const FUNCTION_TOOL = Symbol.for('holdfast.functionTool');

export const FUNCTION = {
  parameters: option.unchecked(),
  outputSchema: option.unchecked(),
  execute: option.callback('a function'),
  maxChunks: option.count(10_000),
} satisfies OptionsFor<Omit<ToolOptions<undefined>, keyof BaseToolParams>>;

const FIELDS = [...TOOL_FIELDS, ...namesOf(FUNCTION)];

type Execute = (input: unknown, toolContext: Context) => unknown;

/**
 * A function that the model can call. Arguments are validated before `execute` runs, the result after.
 *
 * Semantics: `FunctionTool` of `@google/adk` 2.0.0, except that parameters of any schema kind are validated and a
 * result may have a schema.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new FunctionTool({
 *   name: 'refund',
 *   description: 'Pays an order back.',
 *   parameters: z.object({ orderId: z.string() }),
 *   idempotent: false,
 *   execute: ({ orderId }, context) => payBack(orderId, { idempotencyKey: context.idempotencyKey }),
 * });
 */
export class FunctionTool<
  const TParameters extends ToolInputParameters = undefined,
  const TOutput extends ToolOutputSchema = undefined,
  const TLongRunning extends boolean = boolean,
> extends BaseTool {
  readonly [FUNCTION_TOOL] = true;
  readonly #execute: Execute;
  readonly #cancel: ToolCancel<false> | undefined;
  readonly #maxChunks: number;
  readonly #parameters: CompiledSchema | undefined;
  readonly #output: { schema: CompiledSchema; isZod: boolean } | undefined;

  constructor(options: ToolOptions<TParameters, TOutput, TLongRunning>) {
    const kind = new.target.name || 'FunctionTool';
    if (!isRecord(options)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(options)}` });
    }
    const { parameters, outputSchema, execute, maxChunks: _, cancel, ...params } = options;
    const name = nameOf(kind, options, execute);
    const owner = toolOwner(kind, name);
    assertKnownFields(owner, options, FIELDS);
    const read = new OptionReader(owner, options);
    const { maxChunks } = readFrom(FUNCTION, read);
    const endsJobs = options.isLongRunning === true || options.inProcess === true;
    if (!endsJobs && cancel !== undefined && typeof cancel !== 'function') {
      read.fail('cancel', `expected a function of the call's id, got ${kindOf(cancel)}`);
    }
    super({
      ...(params as Omit<BaseToolParams, 'name'>),
      name,
      ...(endsJobs && cancel !== undefined ? { cancel: cancel as NonNullable<JobOptions['cancel']> } : {}),
    });
    this.#execute = (execute as Execute | undefined) ?? notExecuted;
    this.#cancel = endsJobs ? undefined : (cancel as ToolCancel<false> | undefined);
    this.#maxChunks = maxChunks;
    if (parameters !== undefined) {
      this.#parameters = compileObjectSchema(parameters, { owner, field: 'parameters', side: 'input' });
    }
    if (outputSchema !== undefined) {
      const schema = compileSchema(outputSchema, { owner, field: 'outputSchema', side: 'output' });
      this.#output = { schema, isZod: isZodSchema(outputSchema) };
    }
    assertKnownArguments(owner, this.durable.sensitive, this.#parameters?.jsonSchema);
    if (this.gate?.approval?.allowEdit) {
      assertEditable(owner, this.durable.sensitive, this.#parameters?.jsonSchema);
    }
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: this.#parameters?.jsonSchema ?? { type: 'object', properties: {} },
      ...(this.#output === undefined
        ? {}
        : { responseJsonSchema: responseSchema(this.#output.schema.jsonSchema) }),
    };
  }

  /** Calls the option `cancel`, unless that is for jobs. */
  override cancel(callId: string): boolean | Promise<boolean> {
    return this.#cancel?.(callId) ?? false;
  }

  override supportsCancellation(): boolean {
    return this.#cancel !== undefined;
  }

  /** The arguments as the parameters' schema returns them. */
  override readArguments(args: Record<string, unknown>): Promise<unknown> {
    return this.#validated(args);
  }

  /** The result as the output schema returns it. */
  override async readResult(result: unknown): Promise<unknown> {
    if (this.#output === undefined || isMediaResult(result)) return result;
    return await this.#checked(result, this.#output);
  }

  /**
   * Whether a call with these arguments waits for a person's approval. Semantics: the method of `@google/adk` 2.0.0.
   *
   * @throws InvalidArgumentsError
   */
  async checkRequireConfirmation(args: Record<string, unknown>, toolContext: Context): Promise<boolean> {
    return (await questionOf(this, args, toolContext)) !== undefined;
  }

  /**
   * Validates the arguments, runs `execute`, validates its result, but not that of a call that goes on. Where another tool runs this
   * one, whose own gate nobody has passed, it asks by that tool's context, and does not run.
   *
   * @returns what `execute` returned, or the result of what it streamed, or what the output schema made of that.
   * @throws InvalidArgumentsError naming each wrong argument and its problem.
   * @throws ToolExecutionError whose `cause` is what `execute` threw.
   * @throws InvalidResultError where the result doesn't match the output schema.
   */
  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    const input = await this.#validated(request.args);
    const kept = await keptFromRunning(this, request);
    if (kept !== undefined) return kept;
    const returned = await this.#executed(input, request.toolContext);
    const result = isChunkStream(returned) ? await this.#streamed(returned, request) : returned;
    // The schema is that of the outcome, which is yet to come.
    const isOutcome = this.job.inProcess || !goesOn(this, request.toolContext);
    return isOutcome ? await this.readResult(result) : result;
  }

  async #validated(args: unknown): Promise<unknown> {
    if (!isRecord(args)) {
      throw new InvalidArgumentsError(
        `Error in tool '${this.name}': invalid arguments: expected object, got ${kindOf(args)}`,
      );
    }
    if (this.#parameters === undefined) return args;
    const { validate } = this.#parameters;
    const validation = await this.#guarded(() => validate(args));
    if (validation.ok) return validation.value;
    const { problems, message } = validation;
    if (!problems.every((problem) => problem.missing)) {
      throw new InvalidArgumentsError(`Error in tool '${this.name}': invalid arguments: ${message}`);
    }
    throw new InvalidArgumentsError(
      `Invoking \`${this.name}()\` failed as the following mandatory input parameters are not present:\n` +
        `${problems.map(({ path }) => formatPath(path)).join('\n')}\n` +
        'You could retry calling this tool, but it is IMPORTANT for you to provide all the mandatory parameters.',
    );
  }

  #executed(input: unknown, toolContext: Context): Promise<unknown> {
    return this.#guarded(() => this.#execute(input, toolContext));
  }

  async #streamed(chunks: ChunkStream, request: RunAsyncToolRequest): Promise<unknown> {
    const { onChunk, toolContext, leftSignal: signal = toolContext.abortSignal } = request;
    const options = { maxChunks: this.#maxChunks, signal, onChunk };
    const run = () => streamedResult(chunks, options).catch(refusalAsValue);
    const result = await this.#guarded(run);
    if (result instanceof ChunkRefused) throw result.cause;
    return result;
  }

  async #checked(
    result: unknown,
    { schema, isZod }: { schema: CompiledSchema; isZod: boolean },
  ): Promise<unknown> {
    // A zod schema may want what JSON turns into text, dates for one; a JSON Schema speaks of JSON.
    const value = isZod ? result : jsonResult(result);
    const validation = await this.#guarded(() => schema.validate(value));
    if (validation.ok) return validation.value;
    throw new InvalidResultError(
      `Error in tool '${this.name}': the result doesn't match outputSchema: ${validation.message}`,
    );
  }

  async #guarded<T>(action: () => T | Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (thrown) {
      throw new ToolExecutionError(`Error in tool '${this.name}': ${thrownMessage(thrown)}`, thrown);
    }
  }
}

/** Programs of ADK declare tools that nothing runs: the model is told so by a call. */
function notExecuted(): never {
  throw new ToolError('execute: expected a function that runs the call, got undefined', { retryable: false });
}

/** Whether `value` is a {@link FunctionTool}, of this or of another copy of the package. */
export function isFunctionTool(value: unknown): value is FunctionTool {
  return (
    typeof value === 'object' && value !== null && FUNCTION_TOOL in value && value[FUNCTION_TOOL] === true
  );
}

/** Run by hand, without a call, a tool is what it is declared as. */
function goesOn({ isLongRunning }: BaseTool, context: Context): boolean {
  return context.functionCallId === undefined ? isLongRunning : context.longRunning;
}

/** An error of a listener is not the tool's failure, and stays as it is. */
function refusalAsValue(error: unknown): ChunkRefused {
  if (error instanceof ChunkRefused) return error;
  throw error;
}

function nameOf(kind: string, options: { name?: unknown }, execute: unknown): string {
  const chosen = options.name ?? (typeof execute === 'function' ? execute.name : undefined);
  if (chosen === undefined || chosen === '') {
    throw new DefinitionError({
      owner: kind,
      field: 'name',
      problem: 'Tool name cannot be empty. Either name the `execute` function or provide a `name`.',
    });
  }
  assertToolName(kind, chosen, options);
  return chosen;
}

/** An edit leaves sensitive arguments out. */
function assertEditable(owner: string, sensitive: Sensitive, parameters: JsonSchemaObject = {}): void {
  const names = argumentNames(parameters) ?? [];
  if (typeof sensitive === 'boolean' || names.length === 0) return;
  if (names.some((name) => !isSensitive(sensitive, name))) return;
  throw new DefinitionError({
    owner,
    field: 'approval.allowEdit',
    problem:
      'all arguments are listed under sensitive, and no edit may name those: leave allowEdit out, or list fewer of them',
  });
}

/** A mistyped name would leave the argument open to view. */
function assertKnownArguments(owner: string, sensitive: Sensitive, parameters: JsonSchemaObject = {}): void {
  const known = argumentNames(parameters);
  if (typeof sensitive === 'boolean' || known === undefined) return;
  const names = [...known, 'result'];
  for (const [index, name] of sensitive.entries()) {
    if (names.includes(name)) continue;
    throw new DefinitionError({
      owner,
      field: `sensitive[${index}]`,
      problem: `no argument has the name "${name}"${didYouMean(name, names)}`,
    });
  }
}

const NOTE =
  'NOTE: This is a long-running operation. Do not call this tool again if it has already returned some intermediate or ' +
  'pending status.';

/**
 * A {@link FunctionTool} whose call goes on after `execute` has returned: the model is told so, and the event of the call
 * lists it as long-running. The call has a job, `context.job`, that ends once: by a message with the response of the call, by a
 * callback to `context.job.callbackUrl`, by `poll`, by an operator, or at the `deadline`.
 *
 * - `execute` returns a value, a status for one: the model is told it and goes on. The outcome is a later response to the same call,
 *   in whose place it then stands; it joins the session's turn, or starts one. Any number of updates may come before. With
 *   `pauseOnReturn` the turn waits, and only people see the value.
 * - It returns undefined or null: the turn waits for the outcome, for days if need be.
 * - It sets `context.longRunning = false`: what it returns is the outcome.
 * - With `inProcess` its own run is the job, and what it returns is the outcome.
 *
 * `execute` never runs again once it has returned. Semantics: `LongRunningFunctionTool` of `@google/adk` 2.0.0, with a schema of the
 * outcome.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new LongRunningFunctionTool({
 *   name: 'order_report',
 *   description: 'Orders a report.',
 *   parameters: z.object({ month: z.string() }),
 *   deadline: '2 days',
 *   execute: async ({ month }, { job }) => {
 *     await orderReport(month, { callbackUrl: job.callbackUrl, token: job.token });
 *     return { status: 'ordered' };
 *   },
 *   cancel: (job) => withdrawReport(job.id),
 * });
 */
export class LongRunningFunctionTool<
  const TParameters extends ToolInputParameters = undefined,
  const TOutput extends ToolOutputSchema = undefined,
> extends FunctionTool<TParameters, TOutput, true> {
  constructor(options: ToolOptions<TParameters, TOutput, true>) {
    super(typeof options === 'object' && options !== null ? { ...options, isLongRunning: true } : options);
  }

  override _getDeclaration(): FunctionDeclaration {
    const declaration = super._getDeclaration();
    const { description } = declaration;
    return { ...declaration, description: description ? `${description}\n\n${NOTE}` : NOTE };
  }
}

/**
 * Short for `new FunctionTool(…)`: arguments of `execute` are inferred from `parameters`, its result is checked against
 * `outputSchema`, JSON Schemas written in place included.
 *
 * @throws DefinitionError naming the field.
 * @example
 * const weather = tool({
 *   name: 'weather',
 *   description: 'Tells the weather of a city.',
 *   parameters: z.object({ city: z.string() }),
 *   outputSchema: z.object({ celsius: z.number() }),
 *   execute: async ({ city }) => ({ celsius: await measure(city) }),
 * });
 */
export function tool<
  const TParameters extends ToolInputParameters = undefined,
  const TOutput extends ToolOutputSchema = undefined,
  const TLongRunning extends boolean = boolean,
>(options: ToolOptions<TParameters, TOutput, TLongRunning>): FunctionTool<TParameters, TOutput> {
  return new FunctionTool(options);
}
