import { LongRunningFunctionTool } from '../long-running-function-tool.ts';
import { ToolError } from '../tool-error.ts';

/**
 * `get_user_choice`: the model has a person choose among options, and gets `{ result: choice }`. Declaration: that of
 * `@google/adk` 2.0.0. A function response to the call answers it as there, with `{ choice }` or `{ result }`; so does an answer
 * to the request, with the choice itself or either of these. Another choice is refused, and the question stays open.
 *
 * @example new LlmAgent({ name: 'travel', model: 'gemini-2.5-flash', tools: [getUserChoiceTool] })
 */
export const getUserChoiceTool = new LongRunningFunctionTool({
  name: 'get_user_choice',
  description: 'Presents a list of options to the user and awaits their selection.',
  parameters: {
    type: 'object',
    properties: {
      options: {
        type: 'array',
        items: { type: 'string' },
        description: 'List of options to present to the user.',
      },
    },
    required: ['options'],
  } as const,
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
