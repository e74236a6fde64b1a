import type { BaseTool, RunAsyncToolRequest } from './base-tool.ts';
import { questionsOf } from './context.ts';
import { questionOf, termsOf } from './tool-gate.ts';

/**
 * Asks for a gated tool that is run by another tool, and not as a call: no gate was passed for it. Texts and order: `FunctionTool`
 * of `@google/adk` 2.0.0.
 *
 * @returns the response in place of a run; undefined where the tool may run.
 */
export async function keptFromRunning(
  tool: BaseTool,
  { args, toolContext }: RunAsyncToolRequest,
): Promise<{ error: string } | undefined> {
  if (tool.gate?.confirmation === undefined || questionsOf(toolContext).passed === tool.gate)
    return undefined;
  const question = await questionOf(tool, args, toolContext);
  if (question === undefined) return undefined;
  const { toolConfirmation, actions } = toolContext;
  if (toolConfirmation === undefined) {
    toolContext.requestConfirmation(question);
    const terms = question.terms ?? termsOf(tool);
    // Those who may decide about this tool are asked, not those of the tool that runs it.
    if (Object.keys(terms).length > 0) {
      questionsOf(toolContext).ask({ kind: 'confirmation', ...question, terms });
    }
    actions.skipSummarization = true;
    return { error: 'This tool call requires confirmation, please approve or reject.' };
  }
  return toolConfirmation.confirmed === true ? undefined : { error: REJECTED };
}

/** What the model is told of a call that a person has refused. Text of `@google/adk` 2.0.0. */
export const REJECTED = 'This tool call is rejected.';
