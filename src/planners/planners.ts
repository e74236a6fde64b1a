import type { ThinkingConfig } from '@google/genai';
import type { Part } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import type { Context } from '../tools/context.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';

/** Makes an agent plan before it acts. Semantics: `BasePlanner` of adk-python. */
export abstract class BasePlanner {
  /** Added to the system instruction; undefined for nothing. */
  abstract buildPlanningInstruction(context: ReadonlyContext, llmRequest: LlmRequest): string | undefined;

  /** Returns parts that replace those of a whole response; undefined leaves them. */
  abstract processPlanningResponse(context: Context, responseParts: readonly Part[]): Part[] | undefined;
}

const BUILT_IN_PLANNER = Symbol.for('holdfast.builtInPlanner');

export interface BuiltInPlannerOptions {
  /** How the model thinks: its budget or level, and whether its thoughts come with the answer. */
  thinkingConfig: ThinkingConfig;
}

/**
 * Leaves planning to the model's own thinking. Semantics: `BuiltInPlanner` of adk-python.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * new LlmAgent({
 *   name: 'analyst',
 *   model: 'gemini-2.5-pro',
 *   planner: new BuiltInPlanner({ thinkingConfig: { includeThoughts: true, thinkingBudget: 1024 } }),
 * });
 */
export class BuiltInPlanner extends BasePlanner {
  readonly [BUILT_IN_PLANNER] = true;
  readonly thinkingConfig: Readonly<ThinkingConfig>;

  constructor(options: BuiltInPlannerOptions) {
    super();
    const owner = 'BuiltInPlanner';
    assertKnownFields(owner, options, ['thinkingConfig']);
    const { thinkingConfig } = options;
    if (!isRecord(thinkingConfig)) {
      const problem =
        thinkingConfig === undefined ? 'required' : `expected an object, got ${kindOf(thinkingConfig)}`;
      throw new DefinitionError({ owner, field: 'thinkingConfig', problem });
    }
    this.thinkingConfig = Object.freeze({ ...thinkingConfig });
  }

  /** Sets the thinking of a request, in the place of its own. */
  applyThinkingConfig(llmRequest: LlmRequest): void {
    llmRequest.config = { ...llmRequest.config, thinkingConfig: { ...this.thinkingConfig } };
  }

  override buildPlanningInstruction(): undefined {
    return undefined;
  }

  override processPlanningResponse(): Part[] | undefined {
    return undefined;
  }
}

/** Whether `value` is a {@link BuiltInPlanner}, of this or of another copy of the package. */
export function isBuiltInPlanner(value: unknown): value is BuiltInPlanner {
  return (
    typeof value === 'object' &&
    value !== null &&
    BUILT_IN_PLANNER in value &&
    value[BUILT_IN_PLANNER] === true
  );
}

const PLANNING = '/*PLANNING*/';
const REPLANNING = '/*REPLANNING*/';
const REASONING = '/*REASONING*/';
const ACTION = '/*ACTION*/';
const FINAL_ANSWER = '/*FINAL_ANSWER*/';

const THOUGHTS = [PLANNING, REPLANNING, REASONING, ACTION];

/**
 * Has any model write a plan, reason about what its tools return, and mark its final answer, each under a tag. Text under another
 * tag than that of the final answer is a thought. A thought is no part of the answer's text. It is kept with its tag, so that the
 * model reads it again as it wrote it. Semantics: `PlanReActPlanner` of adk-python.
 *
 * @example new LlmAgent({ name: 'analyst', model: 'gemini-2.5-flash', tools, planner: new PlanReActPlanner() });
 */
export class PlanReActPlanner extends BasePlanner {
  override buildPlanningInstruction(): string {
    return INSTRUCTION;
  }

  /** Keeps the first function calls in a row. The model planned the calls after them without their results. */
  override processPlanningResponse(_context: Context, parts: readonly Part[]): Part[] | undefined {
    if (parts.length === 0) return undefined;
    const named = parts.filter(({ functionCall }) => functionCall === undefined || functionCall.name);
    const first = named.findIndex(isCall);
    if (first === -1) return named.flatMap(told);
    const afterCalls = named.findIndex((part, index) => index > first && !isCall(part));
    const calls = named.slice(first, afterCalls === -1 ? undefined : afterCalls);
    return [...named.slice(0, first).flatMap(told), ...calls];
  }
}

function isCall({ functionCall }: Part): boolean {
  return functionCall !== undefined;
}

function told(part: Part): Part[] {
  const { text } = part;
  if (!text) return [part];
  const end = text.lastIndexOf(FINAL_ANSWER) + FINAL_ANSWER.length;
  if (end < FINAL_ANSWER.length) {
    const start = text.trimStart();
    return [THOUGHTS.some((tag) => start.startsWith(tag)) ? { ...part, thought: true } : part];
  }
  const answer = text.slice(end);
  // A signature belongs to the end of the model's text.
  if (answer.trim() === '') return [{ ...part, thought: true }];
  return [
    { text: text.slice(0, end), thought: true },
    { ...part, text: answer },
  ];
}

const INSTRUCTION = `Work on the request in this order, and put each part under its tag:
1. ${PLANNING} A plan in plain language: a numbered list of steps that together cover the whole request. Each step says which of the available tools it uses; no step needs a tool that is not available.
2. ${ACTION} The tool calls of the next step.
3. ${REASONING} What the results so far mean for the request, and what the next step is.
Go on with ${ACTION} and ${REASONING} in turn until the plan is carried out.
4. ${FINAL_ANSWER} The one answer to the request.

The plan: where results show that it can't be carried out as it is, write a new one under ${REPLANNING}, which takes those results into account, and follow that one.

The reasoning: keep to the request, to the plan and to what the tools have returned.

Tools: call only tools that are available, with only the parameters that they declare. Prefer what tools return to what you remember; don't call a tool for what you have been told already.

The final answer: be exact, and keep to the format that the request asks for. Where the tools and what you have been told don't suffice, say why, and ask for what is missing.`;
