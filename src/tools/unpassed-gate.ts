import { coversTerms } from '../approvals/edited-terms.ts';
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
  const questions = questionsOf(toolContext);
  if (tool.gate?.confirmation === undefined || questions.passed === tool.gate) return undefined;
  const question = await questionOf(tool, args, toolContext);
  if (question === undefined) return undefined;
  const { toolConfirmation, actions } = toolContext;
  const terms = question.terms ?? termsOf(tool);
  // An approval of the tool that runs it is good for it, too, unless others have to give it.
  const isOthers = toolConfirmation?.confirmed === true && !coversTerms(questions.terms ?? {}, terms);
  if (toolConfirmation === undefined || isOthers) {
    toolContext.requestConfirmation(question);
    // Those who may decide about this tool are asked, not those of the tool that runs it.
    if (Object.keys(terms).length > 0) {
      questions.ask({ kind: 'confirmation', ...question, terms });
    }
    actions.skipSummarization = true;
    return { error: 'This tool call requires confirmation, please approve or reject.' };
  }
  return toolConfirmation.confirmed === true ? undefined : { error: REJECTED };
}

/** What the model is told of a call that a person has refused. Text of `@google/adk` 2.0.0. */
export const REJECTED = 'This tool call is rejected.';
