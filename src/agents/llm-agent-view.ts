import type { GenerateContentConfig } from '@google/genai';
import type { BaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import type { Part } from '../events/content.ts';
import type { BaseLlm } from '../models/base-llm.ts';
import type { BasePlanner } from '../planners/base-planner.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import type { ToolUnion } from '../tools/base-toolset.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import type { InstructionProvider } from './llm-agent-config.ts';

export const LLM_AGENT = Symbol.for('holdfast.llmAgent');

/** An `LlmAgent` as those see it who build its requests and move turns between agents. */
export interface LlmAgentView extends AgentView {
  readonly [LLM_AGENT]: true;
  readonly model?: string | BaseLlm;
  readonly canonicalModel: BaseLlm;
  readonly instruction: string | InstructionProvider;
  readonly globalInstruction: string | InstructionProvider;
  readonly staticInstruction: readonly Part[];
  readonly tools: readonly ToolUnion[];
  readonly generateContentConfig: Readonly<GenerateContentConfig>;
  readonly includeContents: 'default' | 'none';
  readonly outputJsonSchema: JsonSchemaObject | undefined;
  readonly disallowTransferToParent: boolean;
  readonly disallowTransferToPeers: boolean;
  readonly planner?: BasePlanner;
  readonly codeExecutor?: BaseCodeExecutor;
}

/** Whether `value` is an agent that asks a model, of this or of another copy of the package. */
export function asksModel(value: unknown): value is LlmAgentView {
  return typeof value === 'object' && value !== null && LLM_AGENT in value && value[LLM_AGENT] === true;
}
