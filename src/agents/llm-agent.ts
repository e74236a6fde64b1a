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
import * as option from '../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, readFrom } from '../schema/options.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import { FinishTaskTool } from '../tools/built-in/finish-task-tool.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';
import { AGENT_TRANSFER_LLM_REQUEST_PROCESSOR } from './agent-transfer.ts';
import {
  assertNotScripted,
  BASE_AGENT_FIELDS,
  BaseAgent,
  type BaseAgentConfig,
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
  AGENT_DURABLE,
  type AgentDurableOptions,
  type InstructionProvider,
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

const instruction = option.own<string | InstructionProvider, string>(
  (given) => typeof given === 'string' || typeof given === 'function',
  'a string or a function of the context',
  '',
);

const callbacks = option.group(callbackList as (owner: string, field: string, given: unknown) => never[]);

const LLM_AGENT_OPTIONS = {
  model: option.custom(modelOf),
  instruction,
  globalInstruction: instruction,
  staticInstruction: option.custom((given, read) => staticInstructionParts(read, given), []),
  tools: option.unchecked(),
  generateContentConfig: option.unchecked(),
  includeContents: option.choice(['default', 'none'], 'default'),
  mode: option.choice(['single_turn', 'task']),
  inputSchema: option.unchecked(),
  outputSchema: option.unchecked(),
  outputKey: option.checked(option.text(), (key) => {
    if (key === '') return 'must not be empty';
    return isReservedKey(key) ? reservedKeyText(key) : undefined;
  }),
  disallowTransferToParent: option.flag(false),
  disallowTransferToPeers: option.flag(false),
  beforeModelCallback: callbacks,
  afterModelCallback: callbacks,
  onModelErrorCallback: callbacks,
  beforeToolCallback: callbacks,
  afterToolCallback: callbacks,
  onToolErrorCallback: callbacks,
  requestProcessors: (read) =>
    checkedProcessors(read, 'requestProcessors', defaultProcessors(read, read.value('contextCompactors'))),
  contextCompactors: option.unchecked(),
  responseProcessors: (read) => checkedProcessors<BaseLlmResponseProcessor>(read, 'responseProcessors', []),
  planner: option.custom(checkedPlanner),
  codeExecutor: option.custom(checkedCodeExecutor),
} satisfies OptionsFor<Omit<LlmAgentConfig, keyof (BaseAgentConfig & AgentDurableOptions)>>;

const LLM_AGENT_FIELDS: readonly string[] = [
  ...BASE_AGENT_FIELDS,
  ...namesOf(LLM_AGENT_OPTIONS),
  ...namesOf(AGENT_DURABLE),
];

function modelOf(model: unknown, read: OptionReader, name: string): string | BaseLlm {
  if (isBaseLlm(model)) return model;
  if (typeof model !== 'string') {
    return read.fail(name, `expected the name of a model or a BaseLlm, got ${kindOf(model)}`);
  }
  return model.trim() === '' ? read.fail(name, 'must not be empty') : model;
}

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
  instruction!: string | InstructionProvider;
  /** Defaults to `''`. */
  globalInstruction!: string | InstructionProvider;
  /** Empty without a static instruction. */
  readonly staticInstruction!: readonly Part[];
  tools: ToolUnion[];
  generateContentConfig: GenerateContentConfig;
  includeContents!: 'default' | 'none';
  mode?: 'single_turn' | 'task';
  /** As it was given. */
  inputSchema?: SchemaLike;
  /** As it was given; {@link LlmAgent.outputJsonSchema} is what a model is told. */
  outputSchema?: SchemaLike;
  outputKey?: string;
  disallowTransferToParent!: boolean;
  disallowTransferToPeers!: boolean;
  /** This and those below: a list where none was set since. */
  beforeModelCallback?: BeforeModelCallback;
  afterModelCallback?: AfterModelCallback;
  onModelErrorCallback?: OnModelErrorCallback;
  beforeToolCallback?: BeforeToolCallback;
  afterToolCallback?: AfterToolCallback;
  onToolErrorCallback?: OnToolErrorCallback;
  requestProcessors: BaseLlmRequestProcessor[];
  responseProcessors!: BaseLlmResponseProcessor[];
  planner?: BasePlanner;
  codeExecutor?: BaseCodeExecutor;
  /** How Holdfast runs the agent: its durable options with their defaults, milliseconds. */
  readonly durable: ResolvedAgentDurableOptions;

  #input: CompiledSchema | undefined;
  #output: CompiledSchema | undefined;
  #finishTask: FinishTaskTool | undefined;
  #resolved: { name: string; model: BaseLlm } | undefined;

  constructor(config: LlmAgentConfig) {
    super(config);
    const owner = ownerOf(this);
    assertNotScripted(owner, this, LlmAgent);
    assertKnownFields(owner, config, LLM_AGENT_FIELDS, { unsupported: UNSUPPORTED_AGENT_FIELDS });
    const read = new OptionReader(owner, config);
    const { tools, generateContentConfig, contextCompactors: _, ...own } = readFrom(LLM_AGENT_OPTIONS, read);
    Object.assign(this, own satisfies Partial<LlmAgent>);
    const { inputSchema, outputSchema } = own;
    if (inputSchema !== undefined) {
      this.#input = compileSchema(inputSchema, { owner, field: 'inputSchema', side: 'input' });
    }
    if (outputSchema !== undefined) {
      // A model writes what goes into the schema, and not what its transforms make of it.
      this.#output = compileSchema(outputSchema, { owner, field: 'outputSchema', side: 'input' });
      this.disallowTransferToParent = true;
      this.disallowTransferToPeers = true;
    }
    this.tools = checkedTools(owner, tools, namesTaken(this));
    assertGenerateContentConfig(owner, generateContentConfig, this.planner);
    this.generateContentConfig = copyPlain({ ...generateContentConfig });
    this.requestProcessors = withTransfer(this, own.requestProcessors);
    this.durable = Object.freeze(readFrom(AGENT_DURABLE, read));
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

  /** The tool that ends the agent's tasks, with its `outputSchema`. */
  get finishTaskTool(): FinishTaskTool {
    this.#finishTask ??= new FinishTaskTool(this.outputSchema);
    return this.#finishTask;
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
    const config = configNow(this, this.config, LLM_AGENT_FIELDS);
    const now = new LlmAgent({ ...config, subAgents: [] });
    this.#input = now.#input;
    this.#output = now.#output;
    this.#finishTask = undefined;
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
