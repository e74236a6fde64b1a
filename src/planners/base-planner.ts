import type { Part } from '../events/content.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';

/** Makes an agent plan before it acts. Semantics: `BasePlanner` of adk-python. */
export abstract class BasePlanner {
  /** Added to the system instruction; undefined for nothing. */
  abstract buildPlanningInstruction(context: ReadonlyContext, llmRequest: LlmRequest): string | undefined;

  /** What takes the place of the parts of a whole response; undefined leaves them. */
  abstract processPlanningResponse(context: Context, responseParts: readonly Part[]): Part[] | undefined;
}
