import type { FunctionDeclaration } from '../../events/content.ts';
import { BaseTool, type RunAsyncToolRequest } from '../base-tool.ts';

export const CONSOLIDATE_CONTEXT = 'consolidate_context';
/** Keys of the state, as in `@google/adk` 2.0.0. */
export const CONSOLIDATE = 'temp:consolidate_context';
export const CONSOLIDATE_DETAIL = 'temp:consolidate_context_detail';

const LONGEST_DETAIL = 4_000;

/**
 * `consolidate_context`: the model asks for a summary of what was said before. Needs an `AgentControlledContextCompactor` among the agent's
 * `contextCompactors`. Semantics: the class of `@google/adk` 2.0.0.
 */
export class ConsolidateContextTool extends BaseTool {
  constructor() {
    super({
      name: CONSOLIDATE_CONTEXT,
      trusted: true,
      description:
        'Requests context consolidation (compaction) to manage history size. Use this when a subtask is complete and you want to summarize progress and clear detailed history.',
    });
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: {
        type: 'object',
        properties: {
          detail: {
            type: 'string',
            description:
              'Optional description of what has been accomplished so far. This detail will be used to guide the summarization of the history.',
          },
        },
      },
    };
  }

  override async runAsync({ args: { detail }, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    toolContext.state.set(CONSOLIDATE, true);
    if (typeof detail === 'string')
      toolContext.state.set(CONSOLIDATE_DETAIL, detail.slice(0, LONGEST_DETAIL).toWellFormed());
    return { status: 'success', message: 'Context consolidation requested.' };
  }
}
