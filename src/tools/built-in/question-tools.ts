import { z } from 'zod';
import { REQUEST_INPUT_FUNCTION_CALL_NAME } from '../../events/request-calls.ts';
import { isRecord } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import { LongRunningFunctionTool } from '../function-tool.ts';
import { ToolError } from '../tool-error.ts';
import { withReservedName } from '../tool-name.ts';
import type { ToolOptions } from '../tool-types.ts';

/**
 * `get_user_choice`: the model has a person choose among options, and gets `{ result: choice }`. Declaration: that of `@google/adk`
 * 2.0.0. A function response to the call answers it as there, with `{ choice }` or `{ result }`. An answer to the request may be
 * the choice itself or either of these. Another choice is refused, and the question stays open.
 *
 * @example new LlmAgent({ name: 'travel', model: 'gemini-2.5-flash', tools: [getUserChoiceTool] })
 */
export const getUserChoiceTool = new LongRunningFunctionTool({
  name: 'get_user_choice',
  trusted: true,
  description: 'Presents a list of options to the user and awaits their selection.',
  parameters: z.object({
    options: z.array(z.string()).describe('List of options to present to the user.'),
  }),
  execute: async ({ options }, context) => {
    const choices = [...new Set(options)];
    if (choices.length === 0) {
      const message = 'there is nothing to choose from: give at least one option';
      throw new ToolError(message, { code: 'HOLDFAST_INVALID_ARGUMENTS', retryable: false });
    }
    const choice = await context.requestInput({
      message: 'Please choose one of the options.',
      responseSchema: { type: 'string', enum: choices },
      payload: { options: choices },
    });
    // The person has chosen: nothing goes on.
    context.longRunning = false;
    return { result: choice };
  },
});

const PARAMETERS = z.object({
  message: z.string().describe('The prompt for the user.'),
  response_schema: z.record(z.string(), z.unknown()).optional().describe('Expected schema of the response.'),
});

/**
 * `adk_request_input`: the model asks a person a question and gets the answer as the response of its call; text as
 * `{ result: answer }`, objects as they are. Declaration: that of `@google/adk` 2.0.0.
 */
export const requestInputTool = new LongRunningFunctionTool(
  withReservedName<ToolOptions<typeof PARAMETERS, undefined, true>>({
    name: REQUEST_INPUT_FUNCTION_CALL_NAME,
    trusted: true,
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
