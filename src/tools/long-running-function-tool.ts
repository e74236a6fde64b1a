import type { FunctionDeclaration } from '../events/content.ts';
import { FunctionTool } from './function-tool.ts';
import type { ToolInputParameters, ToolOptions, ToolOutputSchema } from './tool-types.ts';

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
