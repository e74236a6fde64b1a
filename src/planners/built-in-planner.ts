import type { ThinkingConfig } from '@google/genai';
import type { Part } from '../events/content.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import { BasePlanner } from './base-planner.ts';

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

  /** Sets the thinking of a request, in the place of what it has. */
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
