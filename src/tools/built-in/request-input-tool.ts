import { REQUEST_INPUT_FUNCTION_CALL_NAME } from '../../events/reserved-calls.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { isRecord } from '../../schema/kind-of.ts';
import { LongRunningFunctionTool } from '../long-running-function-tool.ts';
import { ToolError } from '../tool-error.ts';
import { withReservedName } from '../tool-name.ts';
import type { ToolOptions } from '../tool-types.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    message: { type: 'string', description: 'The prompt for the user.' },
    response_schema: {
      type: 'object',
      description: 'Expected schema of the response.',
      additionalProperties: {},
    },
  },
  required: ['message'],
} as const;

/**
 * `adk_request_input`: the model asks a person a question and gets the answer as the response of its call; text as
 * `{ result: answer }`, objects as they are. Declaration: that of `@google/adk` 2.0.0.
 */
export const requestInputTool = new LongRunningFunctionTool(
  withReservedName<ToolOptions<typeof PARAMETERS, undefined, true>>({
    name: REQUEST_INPUT_FUNCTION_CALL_NAME,
    description: 'Presents a custom message to the user and awaits unstructured or structured input.',
    parameters: PARAMETERS,
    execute: async ({ message, response_schema: responseSchema }, context) => {
      try {
        const answer = await context.requestInput({ message, responseSchema });
        // The person has answered: nothing goes on.
        context.longRunning = false;
        return isRecord(answer) ? answer : { result: answer };
      } catch (error) {
        if (!(error instanceof DefinitionError)) throw error;
        // The model wrote it, and can write another one.
        throw new ToolError(`response_schema is no JSON Schema: ${error.problem}`, {
          code: 'HOLDFAST_INVALID_ARGUMENTS',
          retryable: false,
          cause: error,
        });
      }
    },
  }),
);
