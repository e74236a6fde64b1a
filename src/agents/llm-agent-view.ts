import type { GenerateContentConfig } from '@google/genai';
import type { BaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import type { Part } from '../events/content.ts';
import type { BaseLlm } from '../models/base-llm.ts';
import type { BasePlanner } from '../planners/planners.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { ToolUnion } from '../tools/base-toolset.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import { ownerOf } from './base-agent.ts';
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
  readonly mode?: 'single_turn' | 'task';
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

/** Whether the agent is a tool of its parent, by its `mode`. */
export function hasMode(agent: unknown): boolean {
  return asksModel(agent) && agent.mode !== undefined;
}

/** Marks a `ToolAgent`. */
export const TOOL_AGENT = Symbol.for('holdfast.toolAgent');

/** Whether `value` is a `ToolAgent`, of this or of another copy of the package. */
export function isToolAgent(value: unknown): value is LlmAgentView {
  return asksModel(value) && TOOL_AGENT in value && value[TOOL_AGENT] === true;
}

type WithModel = LlmAgentView & { readonly model: string | BaseLlm };

/** The agent itself, or the nearest one above it that has a model. Semantics: `LlmAgent.canonicalModel` of `@google/adk` 2.0.0. */
export function nearestWithModel(agent: LlmAgentView): WithModel | undefined {
  for (let above: AgentView | undefined = agent; above !== undefined; above = above.parentAgent) {
    if (asksModel(above) && hasModel(above)) return above;
  }
  return undefined;
}

/** @throws DefinitionError where there is none. */
export function agentWithModel(agent: LlmAgentView): WithModel {
  const found = nearestWithModel(agent);
  if (found !== undefined) return found;
  throw new DefinitionError({
    owner: ownerOf(agent),
    field: 'model',
    problem:
      "required: the name of a model ('gemini-2.5-flash'), or a BaseLlm, of the agent or of an LlmAgent above it in its " +
      "tree (an AgentTool's agent isn't below the agent that calls it)",
  });
}

function hasModel(agent: LlmAgentView): agent is WithModel {
  return agent.model !== undefined;
}
