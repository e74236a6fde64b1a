import type { FunctionDeclaration } from '../events/content.ts';
import { FunctionTool } from './function-tool.ts';
import type { ToolInputParameters, ToolOptions, ToolOutputSchema } from './tool-types.ts';

const NOTE =
  'NOTE: This is a long-running operation. Do not call this tool again if it has already returned some intermediate or ' +
  'pending status.';

/**
 * A {@link FunctionTool} whose call goes on after `execute` has returned: the model is told so, and the event of the call
 * lists it as long-running. What `execute` returns, a status for one, is an ordinary response.
 *
 * Semantics: `LongRunningFunctionTool` of `@google/adk` 2.0.0, with a result's schema.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new LongRunningFunctionTool({
 *   name: 'order_parts',
 *   description: 'Orders parts.',
 *   parameters: z.object({ part: z.string() }),
 *   execute: async ({ part }) => ({ status: 'pending', ticket: await order(part) }),
 * });
 */
export class LongRunningFunctionTool<
  const TParameters extends ToolInputParameters = undefined,
  const TOutput extends ToolOutputSchema = undefined,
> extends FunctionTool<TParameters, TOutput> {
  constructor(options: ToolOptions<TParameters, TOutput>) {
    super(typeof options === 'object' && options !== null ? { ...options, isLongRunning: true } : options);
  }

  override _getDeclaration(): FunctionDeclaration {
    const declaration = super._getDeclaration();
    const { description } = declaration;
    return { ...declaration, description: description ? `${description}\n\n${NOTE}` : NOTE };
  }
}
