import { z } from 'zod';
import type { FunctionDeclaration } from '../../events/content.ts';
import { BaseTool, type RunAsyncToolRequest } from '../base-tool.ts';
import { FunctionTool } from '../function-tool.ts';

/**
 * `exit_loop`: ends the loop agent that the agent works in, and the turn without another model call. Semantics: `ExitLoopTool`
 * of `@google/adk` 2.0.0, whose response is an empty text.
 */
export class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
      trusted: true,
      description: 'Exits the loop.\n\nCall this function only when you are instructed to do so.',
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return { name: this.name, description: this.description };
  }

  override async runAsync({ toolContext: { actions } }: RunAsyncToolRequest): Promise<unknown> {
    actions.escalate = true;
    actions.skipSummarization = true;
    return '';
  }
}

export const EXIT_LOOP = new ExitLoopTool();

const PARAMETERS = z.object({
  reason: z.string().describe('Why you cannot go on, or what you need help with.'),
});

/**
 * `escalate`: the agent gives up with a reason. Ends the loop agent that it works in, and the turn without another model call.
 * Semantics: `Escalate` of hector's control tools.
 */
export class EscalateTool extends FunctionTool<typeof PARAMETERS> {
  constructor() {
    super({
      name: 'escalate',
      trusted: true,
      description:
        'Hands the task back to the agent or person above you. Call this when you are stuck, when you need help, or when the task is ' +
        'outside of what you can do.',
      parameters: PARAMETERS,
      execute: ({ reason }, { actions }) => {
        actions.escalate = true;
        actions.skipSummarization = true;
        return { status: 'escalated', reason };
      },
    });
  }
}

export const ESCALATE = new EscalateTool();
