import type { Content } from '../../events/content.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { isBuiltInPlanner } from '../../planners/built-in-planner.ts';
import { kindOf } from '../../schema/kind-of.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';
import { InvocationContext } from '../../tools/invocation-context.ts';
import { ReadonlyContext } from '../../tools/readonly-context.ts';
import { asksModel } from '../llm-agent-view.ts';
import { DirectProcessor } from './direct-processor.ts';

/**
 * Lets the agent's planner set the model's thinking, or add its instruction; for the latter the thoughts of the contents are
 * sent as text, which the plan is made of. Semantics: adk-python.
 */
export class PlanningRequestProcessor extends DirectProcessor {
  override process(invocationContext: InvocationContext, llmRequest: LlmRequest): void {
    const { agent } = invocationContext;
    if (!asksModel(agent) || agent.planner === undefined) return;
    const { planner } = agent;
    if (isBuiltInPlanner(planner)) {
      planner.applyThinkingConfig(llmRequest);
      return;
    }
    const init = InvocationContext.initOf(invocationContext);
    const context = new ReadonlyContext({ ...init, invocation: invocationContext });
    const instruction: unknown = planner.buildPlanningInstruction(context, llmRequest);
    if (typeof instruction === 'string') {
      if (instruction !== '') appendInstructions(llmRequest, [instruction]);
    } else if (instruction !== undefined && instruction !== null) {
      const got = instruction instanceof Promise ? 'a promise' : kindOf(instruction);
      throw new TypeError(
        `planner.buildPlanningInstruction must return a string or undefined, returned ${got}`,
      );
    }
    llmRequest.contents = llmRequest.contents.map(withoutThoughtMarks);
  }
}

export const PLANNING_REQUEST_PROCESSOR = new PlanningRequestProcessor();

function withoutThoughtMarks(content: Content): Content {
  if (!content.parts?.some(({ thought }) => thought !== undefined)) return content;
  return { ...content, parts: content.parts.map(({ thought: _, ...part }) => part) };
}
