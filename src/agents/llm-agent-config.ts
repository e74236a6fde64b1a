import type { GenerateContentConfig } from '@google/genai';
import type { BaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import type { BaseLlm } from '../models/base-llm.ts';
import type { BasePlanner } from '../planners/planners.ts';
import type { Duration } from '../schema/duration.ts';
import * as option from '../schema/option-kinds.ts';
import type { OptionsFor, Resolved } from '../schema/options.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import type { ToolUnion } from '../tools/base-toolset.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';
import { type RetryOptions, resolveRetryOptions } from '../tools/retry-options.ts';
import type { BaseAgentConfig } from './base-agent.ts';
import type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  OnModelErrorCallback,
  OnToolErrorCallback,
} from './callbacks.ts';
import type { BaseContextCompactor } from './compaction/base-context-compactor.ts';
import type { StaticInstruction } from './instructions.ts';
import type { BaseLlmRequestProcessor, BaseLlmResponseProcessor } from './processors/base-llm-processor.ts';

/** Writes an agent's instruction; placeholders in it are not filled in. */
export type InstructionProvider = (context: ReadonlyContext) => string | Promise<string>;

/** How Holdfast runs an agent: options of ours, beside those of ADK. */
export interface AgentDurableOptions {
  /**
   * Longest run of one model call, the callbacks around it included.
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
   * How often the agent may ask its model in one of its runs; `maxLlmCalls` of the run config bounds the whole turn.
   * Semantics: `max_iterations` of adk-rs.
   *
   * @default not limited
   */
  maxIterations?: number;
  /**
   * `'chain'` has the activity of a step go on with the steps after it while all of their calls run inline: for models that answer in
   * milliseconds, for evaluations and for bulk work. It comes back to the workflow where a call, a person or a limit needs that, and
   * after 10 seconds.
   *
   * @default as the app has it
   */
  steps?: 'activity' | 'chain';
  /**
   * Followers of the turn get no partial text: they see the answer when it is in the store.
   *
   * @default false
   */
  sensitive?: boolean;
}

export const AGENT_DURABLE = {
  modelTimeout: option.duration(600_000),
  modelRetry: option.group(resolveRetryOptions),
  maxParallelCalls: option.count(32),
  maxIterations: option.count(),
  steps: option.choice(['activity', 'chain']),
  sensitive: option.flag(false),
} satisfies OptionsFor<AgentDurableOptions>;

/** {@link AgentDurableOptions} with their defaults; durations in milliseconds. */
export interface ResolvedAgentDurableOptions extends Resolved<typeof AGENT_DURABLE> {}

/**
 * Configuration of an {@link LlmAgent}. Fields: `LlmAgentConfig` of `@google/adk` 2.0.0; `staticInstruction`, `planner` and
 * the error callbacks, which are those of adk-python; and the durable options.
 */
export interface LlmAgentConfig extends BaseAgentConfig, AgentDurableOptions {
  /**
   * Name of a model (`gemini-2.5-flash`), or a model. Without one the agent has that of the nearest LlmAgent above it; a root
   * agent, and the agent of an `AgentTool`, need their own.
   */
  model?: string | BaseLlm;
  /** Tells the model how to act. In text, `{name}` stands for the state's value of that key. */
  instruction?: string | InstructionProvider;
  /** For a root agent: stands before the instruction of each agent of its tree. Filled in as `instruction` is. */
  globalInstruction?: string | InstructionProvider;
  /**
   * The system instruction as it is, nothing filled in, so that the provider can cache it; parts that are no text are sent as
   * contents that it refers to. `instruction` then follows the history, as a content of the user, before the user's last
   * words.
   */
  staticInstruction?: StaticInstruction;
  /** Tools that the model can call, with different names, and toolsets, which are asked for their tools at every request. */
  tools?: readonly ToolUnion[];
  /** Temperature, safety settings and the like. Tools, instructions and response schemas have fields of their own. */
  generateContentConfig?: GenerateContentConfig;
  /**
   * `'none'`: the model sees only contents since the latest message, or since the latest event of another agent.
   *
   * @default 'default'
   */
  includeContents?: 'default' | 'none';
  /**
   * Makes a sub-agent a tool of its parent, by its name: nobody transfers the turn to it, nor does it transfer one. `'single_turn'`: its
   * only answer is the result. `'task'`: it works until its model calls `finish_task`, whose arguments are the result, by the
   * `outputSchema`; text without that call is a question to a person. Semantics: adk-python.
   *
   * @default a turn may be transferred to it
   */
  mode?: 'single_turn' | 'task';
  /** Schema of the input that another agent gives to this one: zod 3 or 4, JSON Schema, or the `Schema` of `@google/genai`. */
  inputSchema?: SchemaLike;
  /**
   * Schema of the answer: zod 3 or 4, JSON Schema, or the `Schema` of `@google/genai`. An agent with tools, on a model that
   * can't have both, answers by calling `set_model_response`. Such an agent is never transferred from.
   */
  outputSchema?: SchemaLike;
  /** Key of the state that gets the text of the agent's final answer; with an `outputSchema` its value. */
  outputKey?: string;
  /** @default false; true with an `outputSchema` */
  disallowTransferToParent?: boolean;
  /** @default false; true with an `outputSchema` */
  disallowTransferToPeers?: boolean;
  beforeModelCallback?: BeforeModelCallback;
  afterModelCallback?: AfterModelCallback;
  onModelErrorCallback?: OnModelErrorCallback;
  beforeToolCallback?: BeforeToolCallback;
  afterToolCallback?: AfterToolCallback;
  onToolErrorCallback?: OnToolErrorCallback;
  /**
   * Takes the place of {@link DEFAULT_REQUEST_PROCESSORS}, which build the request: a list without them starts from nothing. The
   * processor that offers `transfer_to_agent` follows in any case, unless the transfer flags and the lack of sub-agents leave
   * nothing to offer.
   */
  requestProcessors?: readonly BaseLlmRequestProcessor[];
  /**
   * Make the context smaller before the model is asked, in this order. The session keeps all events. Ignored with `requestProcessors`, as in ADK.
   */
  contextCompactors?: readonly BaseContextCompactor[];
  /** Run for every response of the model, partial ones, too, after the after-model callbacks. */
  responseProcessors?: readonly BaseLlmResponseProcessor[];
  /** Makes the agent plan before it acts; its `thinkingConfig` wins over that of `generateContentConfig`. */
  planner?: BasePlanner;
  /** Runs the code that the model writes. `BuiltInCodeExecutor` leaves that to the provider. */
  codeExecutor?: BaseCodeExecutor;
}

/** Of `@google/adk` 2.0.0; they come with later releases. */
export const UNSUPPORTED_AGENT_FIELDS: readonly string[] = [
  'parentAgent',
  'rerunOnResume',
  'waitForOutput',
  'retryConfig',
  'timeout',
  'isolationScope',
];
