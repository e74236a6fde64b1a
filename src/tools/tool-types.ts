import type { Schema } from '@google/genai';
import type { z as z4 } from 'zod';
import type { z as z3 } from 'zod/v3';
import type { JsonSchema, SchemaInput, SchemaLike, SchemaOutput } from '../schema/schema-types.ts';
import type { BaseToolOptions } from './base-tool.ts';
import type { Context } from './context.ts';
import type { DurableOptions } from './durable-options.ts';
import type { ConfirmationPredicate, GateOptions } from './gate-options.ts';
import type { JobOptions } from './job-options.ts';
import type { Media } from './media.ts';

/** Parameters of a function: a schema whose root is an object. */
export type ToolInputParameters =
  | z4.core.$ZodType<object>
  | z3.ZodType<object, z3.ZodTypeDef, unknown>
  | Schema
  | JsonSchema
  | Readonly<Record<string, unknown>>
  | undefined;

/** Schema of a function's result, of any type. */
export type ToolOutputSchema = SchemaLike | undefined;

/** The arguments of `execute`: what the parameters' schema makes of the model's. */
export type ToolExecuteArgument<TParameters extends ToolInputParameters> = [TParameters] extends [undefined]
  ? Record<string, unknown>
  : unknown extends SchemaOutput<TParameters>
    ? Record<string, unknown>
    : SchemaOutput<TParameters>;

/** Possible results of `execute`. Schemas don't check media, and the result of a long-running tool isn't the outcome. */
export type ToolExecuteResult<TOutput extends ToolOutputSchema, TLongRunning extends boolean = boolean> = [
  TLongRunning,
] extends [true]
  ? unknown
  : [TOutput] extends [undefined]
    ? unknown
    : SchemaInput<TOutput> | Uint8Array | Media | Media[];

export type ToolExecuteFunction<
  TParameters extends ToolInputParameters,
  TOutput extends ToolOutputSchema = undefined,
  TLongRunning extends boolean = boolean,
> = (
  input: ToolExecuteArgument<TParameters>,
  toolContext: Context,
) =>
  | Promise<ToolExecuteResult<TOutput, TLongRunning>>
  | ToolExecuteResult<TOutput, TLongRunning>
  | AsyncGenerator<unknown, unknown>;

/** Whether calls of a function wait for a person's approval. Name: that of `@google/adk` 2.0.0. */
export type RequireConfirmation<TParameters extends ToolInputParameters> =
  | boolean
  | ConfirmationPredicate<ToolExecuteArgument<TParameters>>;

/** Ends a call in the tool's own way: its job, or where the tool isn't declared as long-running the running call. */
export type ToolCancel<TLongRunning extends boolean> = [TLongRunning] extends [true]
  ? NonNullable<JobOptions['cancel']>
  : (callId: string) => boolean | Promise<boolean>;

/** Options of a {@link FunctionTool}: those of `@google/adk` 2.0.0, an output schema, and how Holdfast runs it. */
export interface ToolOptions<
  TParameters extends ToolInputParameters,
  TOutput extends ToolOutputSchema = undefined,
  TLongRunning extends boolean = boolean,
> extends BaseToolOptions,
    DurableOptions,
    GateOptions<ToolExecuteArgument<TParameters>>,
    JobOptions<ToolCancel<TLongRunning>> {
  /**
   * Name of the tool for the model.
   *
   * @default the name of `execute`
   */
  name?: string;
  /** zod 4, zod 3, JSON Schema, or the provider's `Schema`. Without it the tool takes no arguments. */
  parameters?: TParameters;
  /** Schema of the value that `execute` returns, or of a job's outcome if the call goes on. It is checked, and shown to the model. */
  outputSchema?: TOutput;
  /**
   * Does the work of the tool. If it is an async generator, followers of the turn are told the chunks, and the last chunk is the
   * result: see {@link ToolChunk}.
   */
  execute: ToolExecuteFunction<TParameters, TOutput, TLongRunning>;
  /**
   * How many chunks an async generator may yield before its result.
   *
   * @default 10000
   */
  maxChunks?: number;
  /**
   * Whether the call goes on after `execute` has returned: a value is told to the model, and the outcome comes later; without one the
   * turn waits for the outcome. A tool may decide it while it runs, by `context.longRunning`.
   *
   * @default false; true with `inProcess: true`
   */
  isLongRunning?: TLongRunning;
  /**
   * Ends a call in the tool's own way. With `isLongRunning: true` it is for the job, as `cancel(job, context)`. Otherwise it is for the
   * running call, beside the abort signal of its context: it gets `context.functionCallId` of the call, and says whether it was told
   * to end; it is called for a job, too, where the tool has said while it ran that it has one.
   */
  cancel?: ToolCancel<TLongRunning>;
}
