import { FunctionTool } from './function-tool.ts';
import type { ToolInputParameters, ToolOptions, ToolOutputSchema } from './tool-types.ts';

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
