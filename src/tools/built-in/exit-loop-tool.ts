import type { FunctionDeclaration } from '../../events/content.ts';
import { BaseTool, type RunAsyncToolRequest } from '../base-tool.ts';

/**
 * `exit_loop`: ends the loop agent that the agent works in, and the turn without another model call. Semantics: `ExitLoopTool`
 * of `@google/adk` 2.0.0, whose response is an empty text.
 */
export class ExitLoopTool extends BaseTool {
  constructor() {
    super({
      name: 'exit_loop',
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
