import { LongRunningFunctionTool } from '../long-running-function-tool.ts';
import { withReservedName } from '../tool-name.ts';
import { UnsupportedGate } from '../unsupported-gate.ts';

/**
 * `adk_request_input`: the model asks the user a question and waits for the answer. Its gate comes with a later release: until
 * then a call is refused, and ends the turn. Declaration: that of `@google/adk` 2.0.0.
 */
export const requestInputTool = new LongRunningFunctionTool(
  withReservedName({
    name: 'adk_request_input',
    description: 'Presents a custom message to the user and awaits unstructured or structured input.',
    parameters: {
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
    } as const,
    execute: (_question, { actions }) => {
      // The model doesn't see reserved calls, this refusal included, and would ask again.
      actions.skipSummarization = true;
      return { error: new UnsupportedGate('a question to the user').message };
    },
  }),
);
