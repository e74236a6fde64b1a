import { LongRunningFunctionTool } from '../long-running-function-tool.ts';
import { UnsupportedGate } from '../unsupported-gate.ts';

/**
 * `get_user_choice`: the model has the user choose among options and waits for the choice. Its gate comes with a later
 * release: until then a call is refused, and the model is told so. Declaration: that of `@google/adk` 2.0.0.
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
  execute: () => {
    throw new UnsupportedGate('a choice of the user');
  },
});
