import type { GenerateContentConfig } from '@google/genai';
import type { BaseLlm } from '../models/base-llm.ts';
import { isBaseLlm } from '../models/base-llm.ts';
import { LLMRegistry } from '../models/llm-registry.ts';
import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';
import { type ResolvedRetryOptions, type RetryOptions, resolveRetryOptions } from '../tools/retry-options.ts';
import { checkedTools } from './agent-tools.ts';
import { agentOwner, BaseAgent, type BaseAgentConfig } from './base-agent.ts';
import { assertGenerateContentConfig } from './generate-content-config.ts';

const LLM_AGENT = Symbol.for('holdfast.llmAgent');

/** Writes an agent's instruction; placeholders in it are not filled in. */
export type InstructionProvider = (context: ReadonlyContext) => string | Promise<string>;

/** How Holdfast runs an agent: options of ours, beside those of ADK. */
export interface AgentDurableOptions {
  /**
   * Longest run of one model call.
   *
   * @default 10 minutes
   * @format milliseconds, or text like `'90s'`
   */
  modelTimeout?: Duration;
  /** How failed model calls are tried again: three attempts, 1 to 30 seconds apart, by default. */
  modelRetry?: RetryOptions;
  /**
   * How many calls of one step run at a time.
   *
   * @default 32
   */
  maxParallelCalls?: number;
  /**
   * Keeps what the model is writing from those who follow its turn until its answer is in the store: no partial text is
   * sent.
   *
   * @default false
   */
  sensitive?: boolean;
}

/** {@link AgentDurableOptions} with their defaults; durations in milliseconds. */
export interface ResolvedAgentDurableOptions {
  readonly modelTimeout: number;
  readonly modelRetry: ResolvedRetryOptions;
  readonly maxParallelCalls: number;
  readonly sensitive: boolean;
}

/** Configuration of an {@link LlmAgent}. Fields: `LlmAgentConfig` of `@google/adk` 2.0.0, and the durable options. */
export interface LlmAgentConfig extends BaseAgentConfig, AgentDurableOptions {
  /** Name of a model (`gemini-2.5-flash`), or a model. */
  model?: string | BaseLlm;
  /** Tells the model how to act. In text, `{name}` stands for the state's value of that key. */
  instruction?: string | InstructionProvider;
  /** What the model can call; no two of one name. */
  tools?: readonly BaseTool[];
  /** Temperature, safety settings and the like. Tools, instructions and response schemas have fields of their own. */
  generateContentConfig?: GenerateContentConfig;
  /** Key of the state that gets the text of the agent's final answer. */
  outputKey?: string;
}

const FIELDS = [
  'name',
  'description',
  'model',
  'instruction',
  'tools',
  'generateContentConfig',
  'outputKey',
  'modelTimeout',
  'modelRetry',
  'maxParallelCalls',
  'sensitive',
];

const UNSUPPORTED = [
  'parentAgent',
  'subAgents',
  'globalInstruction',
  'disallowTransferToParent',
  'disallowTransferToPeers',
  'includeContents',
  'mode',
  'inputSchema',
  'outputSchema',
  'stateSchema',
  'beforeAgentCallback',
  'afterAgentCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolCallback',
  'afterToolCallback',
  'requestProcessors',
  'responseProcessors',
  'contextCompactors',
  'codeExecutor',
  'rerunOnResume',
  'waitForOutput',
  'retryConfig',
  'timeout',
  'isolationScope',
];

/**
 * An agent that asks a model what to do. Semantics: `LlmAgent` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * export const rootAgent = new LlmAgent({
 *   name: 'support',
 *   model: 'gemini-2.5-flash',
 *   instruction: 'You answer questions about orders of {user:name?}.',
 *   tools: [findOrder, refund],
 * });
 */
export class LlmAgent extends BaseAgent {
  readonly [LLM_AGENT] = true;
  readonly model: string | BaseLlm;
  /** Defaults to `''`. */
  readonly instruction: string | InstructionProvider;
  readonly tools: readonly BaseTool[];
  readonly generateContentConfig: Readonly<GenerateContentConfig>;
  readonly outputKey?: string;
  /** How Holdfast runs the agent: its durable options with their defaults, milliseconds. */
  readonly durable: ResolvedAgentDurableOptions;

  #resolvedModel: BaseLlm | undefined;

  constructor(config: LlmAgentConfig) {
    super(config);
    const owner = agentOwner(new.target.name || 'LlmAgent', config.name);
    assertKnownFields(owner, config, FIELDS, { unsupported: UNSUPPORTED });
    const read = new OptionReader(owner, config);
    this.model = modelOf(read, config.model);
    this.instruction = instructionOf(read, config.instruction);
    this.tools = checkedTools(owner, config.tools);
    assertGenerateContentConfig(owner, config.generateContentConfig);
    this.generateContentConfig = Object.freeze({ ...config.generateContentConfig });
    if (read.given('outputKey')) {
      this.outputKey = read.text('outputKey');
      if (this.outputKey === '') read.fail('outputKey', 'must not be empty');
    }
    this.durable = Object.freeze({
      modelTimeout: read.duration('modelTimeout', 600_000),
      modelRetry: resolveRetryOptions(owner, 'modelRetry', config.modelRetry),
      maxParallelCalls: read.count('maxParallelCalls', 32),
      sensitive: read.boolean('sensitive', false),
    });
  }

  /**
   * The agent's model; a name is looked up in the registry at the first use.
   *
   * @throws UnknownModelError for a name that no registered model supports.
   */
  get canonicalModel(): BaseLlm {
    this.#resolvedModel ??= typeof this.model === 'string' ? LLMRegistry.newLlm(this.model) : this.model;
    return this.#resolvedModel;
  }
}

/** Whether `value` is an {@link LlmAgent}, of this or of another copy of the package. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return typeof value === 'object' && value !== null && LLM_AGENT in value && value[LLM_AGENT] === true;
}

function modelOf(read: OptionReader, model: unknown): string | BaseLlm {
  if (model === undefined)
    return read.fail('model', `required: the name of a model ('gemini-2.5-flash'), or a BaseLlm`);
  if (isBaseLlm(model)) return model;
  if (typeof model !== 'string') {
    return read.fail('model', `expected the name of a model or a BaseLlm, got ${kindOf(model)}`);
  }
  return model.trim() === '' ? read.fail('model', 'must not be empty') : model;
}

function instructionOf(read: OptionReader, instruction: unknown = ''): string | InstructionProvider {
  if (typeof instruction === 'string') return instruction;
  if (typeof instruction === 'function') return instruction as InstructionProvider;
  return read.fail(
    'instruction',
    `expected a string or a function of the context, got ${kindOf(instruction)}`,
  );
}
