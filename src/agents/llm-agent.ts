import type { GenerateContentConfig } from '@google/genai';
import type { BaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import type { Part } from '../events/content.ts';
import type { Event } from '../events/event.ts';
import { type BaseLlm, isBaseLlm } from '../models/base-llm.ts';
import { LLMRegistry } from '../models/llm-registry.ts';
import type { BasePlanner } from '../planners/planners.ts';
import { isReservedKey, reservedKeyText } from '../protocol/reserved-state.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { CompiledSchema, JsonSchemaObject } from '../schema/compiled-schema.ts';
import { copyPlain } from '../schema/copy-plain.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import { OptionReader } from '../schema/option-reader.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';
import { resolveRetryOptions } from '../tools/retry-options.ts';
import { AGENT_TRANSFER_LLM_REQUEST_PROCESSOR } from './agent-transfer.ts';
import {
  assertNotScripted,
  BaseAgent,
  CHECKED_NOW,
  CONFIG_FIELDS,
  configNow,
  ownerOf,
  runByWorkflow,
} from './base-agent.ts';
import {
  type AfterModelCallback,
  type AfterToolCallback,
  type BeforeModelCallback,
  type BeforeToolCallback,
  callbackList,
  type OnModelErrorCallback,
  type OnToolErrorCallback,
  type SingleAfterModelCallback,
  type SingleAfterToolCallback,
  type SingleBeforeModelCallback,
  type SingleBeforeToolCallback,
  type SingleOnModelErrorCallback,
  type SingleOnToolErrorCallback,
} from './callbacks.ts';
import { staticInstructionParts } from './instructions.ts';
import {
  type InstructionProvider,
  LLM_AGENT_FIELDS,
  type LlmAgentConfig,
  type ResolvedAgentDurableOptions,
  UNSUPPORTED_AGENT_FIELDS,
} from './llm-agent-config.ts';
import {
  assertGenerateContentConfig,
  checkedCodeExecutor,
  checkedPlanner,
  checkedProcessors,
  checkedTools,
  matched,
  namesTaken,
} from './llm-agent-parts.ts';
import { agentWithModel, asksModel, LLM_AGENT, type LlmAgentView } from './llm-agent-view.ts';
import type { BaseLlmRequestProcessor, BaseLlmResponseProcessor } from './processors/base-llm-processor.ts';
import { defaultProcessors } from './processors/context-compactor-request-processor.ts';

export type {
  AgentDurableOptions,
  InstructionProvider,
  LlmAgentConfig,
  ResolvedAgentDurableOptions,
} from './llm-agent-config.ts';

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
export class LlmAgent extends BaseAgent<LlmAgentConfig> implements LlmAgentView {
  readonly [LLM_AGENT] = true;
  /** As it was given; absent: that of the nearest LlmAgent above this one. {@link LlmAgent.canonicalModel} is what is asked. */
  model?: string | BaseLlm;
  /** Defaults to `''`. */
  instruction: string | InstructionProvider;
  /** Defaults to `''`. */
  globalInstruction: string | InstructionProvider;
  /** Empty without a static instruction. */
  readonly staticInstruction: readonly Part[];
  tools: ToolUnion[];
  generateContentConfig: GenerateContentConfig;
  includeContents: 'default' | 'none';
  /** As it was given. */
  inputSchema?: SchemaLike;
  /** As it was given; {@link LlmAgent.outputJsonSchema} is what a model is told. */
  outputSchema?: SchemaLike;
  outputKey?: string;
  disallowTransferToParent: boolean;
  disallowTransferToPeers: boolean;
  /** This and those below: a list where none was set since. */
  beforeModelCallback?: BeforeModelCallback;
  afterModelCallback?: AfterModelCallback;
  onModelErrorCallback?: OnModelErrorCallback;
  beforeToolCallback?: BeforeToolCallback;
  afterToolCallback?: AfterToolCallback;
  onToolErrorCallback?: OnToolErrorCallback;
  requestProcessors: BaseLlmRequestProcessor[];
  responseProcessors: BaseLlmResponseProcessor[];
  planner?: BasePlanner;
  codeExecutor?: BaseCodeExecutor;
  /** How Holdfast runs the agent: its durable options with their defaults, milliseconds. */
  readonly durable: ResolvedAgentDurableOptions;

  #input: CompiledSchema | undefined;
  #output: CompiledSchema | undefined;
  #resolved: { name: string; model: BaseLlm } | undefined;

  constructor(config: LlmAgentConfig) {
    super(config);
    const owner = ownerOf(this);
    assertNotScripted(owner, this, LlmAgent);
    assertKnownFields(owner, config, LLM_AGENT_FIELDS, { unsupported: UNSUPPORTED_AGENT_FIELDS });
    const read = new OptionReader(owner, config);
    if (read.given('model')) this.model = modelOf(read, config.model);
    this.instruction = instructionOf(read, 'instruction', config.instruction);
    this.globalInstruction = instructionOf(read, 'globalInstruction', config.globalInstruction);
    this.staticInstruction = read.given('staticInstruction')
      ? staticInstructionParts(read, config.staticInstruction)
      : [];
    if (read.given('inputSchema')) {
      this.#input = compileSchema(config.inputSchema, { owner, field: 'inputSchema', side: 'input' });
      this.inputSchema = config.inputSchema as SchemaLike;
    }
    if (read.given('outputSchema')) {
      // A model writes what goes into the schema, and not what its transforms make of it.
      this.#output = compileSchema(config.outputSchema, { owner, field: 'outputSchema', side: 'input' });
      this.outputSchema = config.outputSchema as SchemaLike;
    }
    if (read.given('outputKey')) {
      this.outputKey = read.text('outputKey');
      if (this.outputKey === '') read.fail('outputKey', 'must not be empty');
      if (isReservedKey(this.outputKey)) read.fail('outputKey', reservedKeyText(this.outputKey));
    }
    const answersBySchema = this.#output !== undefined;
    this.disallowTransferToParent = read.boolean('disallowTransferToParent', false) || answersBySchema;
    this.disallowTransferToPeers = read.boolean('disallowTransferToPeers', false) || answersBySchema;
    this.includeContents = read.choice('includeContents', ['default', 'none'], 'default');
    if (read.given('planner')) this.planner = checkedPlanner(read, config.planner);
    if (read.given('codeExecutor')) this.codeExecutor = checkedCodeExecutor(read, config.codeExecutor);
    this.tools = checkedTools(owner, config.tools, namesTaken(this));
    assertGenerateContentConfig(owner, config.generateContentConfig, this.planner);
    this.generateContentConfig = copyPlain({ ...config.generateContentConfig });
    this.requestProcessors = withTransfer(
      this,
      checkedProcessors(
        read,
        'requestProcessors',
        config.requestProcessors,
        defaultProcessors(read, config.contextCompactors),
      ),
    );
    this.responseProcessors = checkedProcessors(read, 'responseProcessors', config.responseProcessors, []);
    this.beforeModelCallback = callbackList(owner, 'beforeModelCallback', config.beforeModelCallback);
    this.afterModelCallback = callbackList(owner, 'afterModelCallback', config.afterModelCallback);
    this.onModelErrorCallback = callbackList(owner, 'onModelErrorCallback', config.onModelErrorCallback);
    this.beforeToolCallback = callbackList(owner, 'beforeToolCallback', config.beforeToolCallback);
    this.afterToolCallback = callbackList(owner, 'afterToolCallback', config.afterToolCallback);
    this.onToolErrorCallback = callbackList(owner, 'onToolErrorCallback', config.onToolErrorCallback);
    this.durable = Object.freeze({
      modelTimeout: read.duration('modelTimeout', 600_000),
      modelRetry: resolveRetryOptions(owner, 'modelRetry', config.modelRetry),
      maxParallelCalls: read.count('maxParallelCalls', 32),
      ...(read.given('maxIterations') ? { maxIterations: read.count('maxIterations', 1) } : {}),
      sensitive: read.boolean('sensitive', false),
    });
  }

  /**
   * The agent's model, or that of the nearest LlmAgent above it; a name is looked up in the registry at the first use.
   *
   * @throws UnknownModelError for a name that no registered model supports.
   * @throws DefinitionError where no agent above has a model either.
   */
  get canonicalModel(): BaseLlm {
    const owner = agentWithModel(this);
    if (owner !== this) return owner.canonicalModel;
    const { model } = owner;
    if (typeof model !== 'string') return model;
    if (this.#resolved?.name !== model) this.#resolved = { name: model, model: LLMRegistry.newLlm(model) };
    return this.#resolved.model;
  }

  /**
   * The agent's tools, and those of its toolsets.
   *
   * @param context absent: all tools of the toolsets.
   */
  async canonicalTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    const tools = this.tools.map((tool) => (isBaseToolset(tool) ? tool.getTools(context) : [tool]));
    return (await Promise.all(tools)).flat();
  }

  get canonicalBeforeModelCallbacks(): readonly SingleBeforeModelCallback[] {
    return callbackList(this.name, 'beforeModelCallback', this.beforeModelCallback);
  }

  get canonicalAfterModelCallbacks(): readonly SingleAfterModelCallback[] {
    return callbackList(this.name, 'afterModelCallback', this.afterModelCallback);
  }

  get canonicalOnModelErrorCallbacks(): readonly SingleOnModelErrorCallback[] {
    return callbackList(this.name, 'onModelErrorCallback', this.onModelErrorCallback);
  }

  get canonicalBeforeToolCallbacks(): readonly SingleBeforeToolCallback[] {
    return callbackList(this.name, 'beforeToolCallback', this.beforeToolCallback);
  }

  get canonicalAfterToolCallbacks(): readonly SingleAfterToolCallback[] {
    return callbackList(this.name, 'afterToolCallback', this.afterToolCallback);
  }

  get canonicalOnToolErrorCallbacks(): readonly SingleOnToolErrorCallback[] {
    return callbackList(this.name, 'onToolErrorCallback', this.onToolErrorCallback);
  }

  /** `inputSchema` as JSON Schema. */
  get inputJsonSchema(): JsonSchemaObject | undefined {
    return this.#input?.jsonSchema;
  }

  /** `outputSchema` as JSON Schema. */
  get outputJsonSchema(): JsonSchemaObject | undefined {
    return this.#output?.jsonSchema;
  }

  /**
   * Returns the value as `outputSchema` returns it, with its defaults and transforms; the value itself without one. Semantics:
   * `LlmAgent.validateOutput` of `@google/adk` 2.0.0, but asynchronous: schemas may be.
   *
   * @throws SchemaMismatch naming each wrong part and its problem.
   */
  validateOutput(value: unknown): Promise<unknown> {
    return matched(this.#output, value);
  }

  /**
   * Returns the value as `inputSchema` returns it; the value itself without one.
   *
   * @throws SchemaMismatch naming each wrong part and its problem.
   */
  validateInput(value: unknown): Promise<unknown> {
    return matched(this.#input, value);
  }

  override get [CONFIG_FIELDS](): readonly string[] {
    return LLM_AGENT_FIELDS;
  }

  /** Fields that follow from an override, and were not set since, follow from it again. */
  override clone(overrides: Partial<LlmAgentConfig> = {}): this {
    const { requestProcessors, disallowTransferToParent, disallowTransferToPeers } = this.config;
    return super.clone({
      ...(Object.hasOwn(overrides, 'contextCompactors') && { requestProcessors }),
      ...(Object.hasOwn(overrides, 'outputSchema') &&
        this.outputSchema !== undefined && { disallowTransferToParent, disallowTransferToPeers }),
      ...overrides,
    });
  }

  override [CHECKED_NOW](): object {
    // `mode` may have been set by a program in JavaScript, where the configuration would refuse it.
    const config = configNow(this, this.config, [...LLM_AGENT_FIELDS, 'mode']);
    const now = new LlmAgent({ ...config, subAgents: [] });
    this.#input = now.#input;
    this.#output = now.#output;
    const fields = [...LLM_AGENT_FIELDS, 'durable'].filter((field) => Object.hasOwn(now, field));
    const checked = Object.fromEntries(fields.map((field) => [field, Reflect.get(now, field)]));
    return { ...checked, ...super[CHECKED_NOW]() };
  }

  protected override runAsyncImpl(): AsyncGenerator<Event, void, void> {
    return runByWorkflow(this);
  }
}

/** Whether `value` is an {@link LlmAgent}, of this or of another copy of the package. */
export function isLlmAgent(value: unknown): value is LlmAgent {
  return asksModel(value);
}

/** As in `@google/adk` 2.0.0: an agent with processors of its own leaves out transfer by its flags. */
function withTransfer(
  { disallowTransferToParent, disallowTransferToPeers, subAgents }: LlmAgent,
  processors: BaseLlmRequestProcessor[],
): BaseLlmRequestProcessor[] {
  if (disallowTransferToParent && disallowTransferToPeers && subAgents.length === 0) return processors;
  if (processors.includes(AGENT_TRANSFER_LLM_REQUEST_PROCESSOR)) return processors;
  return [...processors, AGENT_TRANSFER_LLM_REQUEST_PROCESSOR];
}

function modelOf(read: OptionReader, model: unknown): string | BaseLlm {
  if (isBaseLlm(model)) return model;
  if (typeof model !== 'string') {
    return read.fail('model', `expected the name of a model or a BaseLlm, got ${kindOf(model)}`);
  }
  return model.trim() === '' ? read.fail('model', 'must not be empty') : model;
}

function instructionOf(
  read: OptionReader,
  field: 'instruction' | 'globalInstruction',
  instruction: unknown = '',
): string | InstructionProvider {
  if (typeof instruction === 'string') return instruction;
  if (typeof instruction === 'function') return instruction as InstructionProvider;
  return read.fail(field, `expected a string or a function of the context, got ${kindOf(instruction)}`);
}
