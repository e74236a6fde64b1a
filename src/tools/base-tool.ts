import { isResultSensitive } from '../approvals/sensitive.ts';
import type { FunctionDeclaration } from '../events/content.ts';
import { appendTools, type ModelRequest } from '../models/llm-request.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { RunBudget } from '../protocol/run-terms.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { OptionReader, type OptionsFor, readFrom } from '../schema/options.ts';
import { asJsonSchema } from '../schema/provider-schema.ts';
import type { Context } from './context.ts';
import {
  DURABLE,
  type DurableOptions,
  type ResolvedDurableOptions,
  resolveDurableOptions,
} from './durable-options.ts';
import { GATE, type GateOptions, resolveGate, type ToolGate } from './gate-options.ts';
import type { AgentView } from './invocation-context.ts';
import { JOB, type JobOptions, type ResolvedJobOptions, resolveJobOptions } from './job-options.ts';
import { type ResolvedSpool, resolveSpool, type SpoolOptions } from './spooled/spool-options.ts';
import { assertToolName, RESERVED_NAME } from './tool-name.ts';

/** A tool that isn't run itself: its agent is, as a child workflow. */
export const AGENT_OF_TOOL = Symbol.for('holdfast.agentOfTool');

/** How the agent of a tool is run. */
export interface AgentOfTool<Agent extends AgentView = AgentView> {
  readonly agent: Agent;
  readonly skipSummarization: boolean;
  /** Milliseconds, of all its runs; not limited without. */
  readonly timeout?: number;
  /** How often it is run before its failure is the call's. */
  readonly attempts: number;
  /** Budget of each run, with the runs below it. */
  readonly budget?: Readonly<RunBudget>;
  /** Where its workers are, if not where the caller's are. */
  readonly taskQueue?: string;
}

/** The agent that a call of this tool runs in its place; undefined for a tool that runs itself. */
export function agentOfTool(tool: { readonly [AGENT_OF_TOOL]?: AgentOfTool }): AgentOfTool | undefined {
  return tool[AGENT_OF_TOOL];
}

/** Result of {@link BaseTool.describe}. */
export interface ToolDescription {
  name: string;
  description: string;
  inputSchema?: JsonSchemaObject;
}

const BASE_TOOL = Symbol.for('holdfast.baseTool');

export interface RunAsyncToolRequest {
  args: Record<string, unknown>;
  toolContext: Context;
  /** Called with each chunk of a streaming tool, as it comes. An error that it throws ends the run. */
  onChunk?: (chunk: ToolChunk) => void;
  /**
   * Fires when the run's result no longer counts. That is later than the context's abort signal if the tool was told of its
   * cancellation, and may still give a result.
   */
  leftSignal?: AbortSignal;
}

/** The request to a model. Semantics: `LlmRequest` of `@google/adk` 2.0.0, whose live field is required. */
export interface LlmRequest extends ModelRequest<BaseTool> {
  /** The turn's tools, for callbacks, plugins and processors to edit. Absent in requests that no turn sends. */
  tools?: TurnTools;
}

/**
 * The tools of a turn as `request.tools` lets callbacks, plugins and processors edit them. An edit counts for this request
 * and for all later ones of the invocation, on any worker; the agent's own tools never change.
 *
 * @example
 * beforeModelCallback: ({ request }) => {
 *   request.tools?.add('orderQuery', { orderId: '42' });
 *   return undefined;
 * }
 */
export interface TurnTools {
  /**
   * Adds what a factory of the app (`durable.toolFactories`) makes of `args`. Kept as the factory's name and the arguments, so
   * that any worker makes it again.
   *
   * @param factory its name. A tool itself is refused: another worker could not make it.
   * @param args JSON; defaults to `{}`.
   * @throws DefinitionError for a tool or a function in place of a name, an unknown factory, arguments that are no JSON, and a
   * name that is taken, unless the tool says `onCollision`.
   */
  add(factory: string, args?: Record<string, unknown>): BaseTool;
  /**
   * Takes a tool out of the turn, one that the provider runs by itself too; other changes of the tool to this request stay. False
   * where no tool has this name.
   */
  remove(name: string): boolean;
  get(name: string): BaseTool | undefined;
  has(name: string): boolean;
  /** In the order in which the model is told of them, those that it doesn't call last. */
  list(): BaseTool[];
}

/** Makes a tool for a turn; must make the same one of the same arguments on every worker. */
export type ToolFactory = (args: Record<string, unknown>) => BaseTool;

/** Input of a tool that changes a request. Semantics: `ToolProcessLlmRequest` of `@google/adk` 2.0.0. */
export interface ToolProcessLlmRequest {
  /** Its state and actions are the model event's. */
  toolContext: Context;
  llmRequest: LlmRequest;
}

/** One chunk of a streaming tool. Fields: `tool.Result` of kadirpekel/hector. */
export interface ToolChunk {
  content?: unknown;
  /** False: this is the result, and nothing comes after it. */
  streaming: boolean;
  error?: string;
  metadata?: Record<string, unknown>;
}

/** Options that tools of all kinds have in the same way. */
export interface BaseToolOptions {
  /** Describes the tool to the model. */
  description: string;
  /**
   * Whether the tool only reads, for callbacks and policies that ask before they let a tool run.
   *
   * @default false
   */
  isReadOnly?: boolean;
  /**
   * Whether what the tool brings can be trusted like the agent's own instruction. A model gets what others bring marked as data where the
   * app says `markUntrusted`. Media say it themselves, by their `trustTier`.
   *
   * @default false
   */
  trusted?: boolean;
  /**
   * Whether a {@link ToolRegistry} lets go of the tool when the invocation completes. Tools that callbacks add to a turn
   * go with it in any case.
   *
   * @default false
   */
  ephemeral?: boolean;
  /**
   * Decides about another tool of the same name when this one is merged into a {@link ToolRegistry} or added to a turn: an error,
   * this one replaces it, or the other one stays.
   *
   * @default 'throw'
   */
  onCollision?: OnCollision;
  /**
   * Keeps large results as artifacts: the model gets a handle, a preview, and tools that query them. `true` stands for the defaults
   * of {@link SpoolOptions}.
   *
   * @default false
   */
  spool?: boolean | SpoolOptions<BaseTool>;
}

export interface BaseToolParams extends BaseToolOptions, DurableOptions, GateOptions, JobOptions {
  /** Starts with a letter or an underscore; letters, digits, `_`, `.`, `:`, `-`; at most 128 characters. */
  name: string;
  /**
   * Whether the call goes on after the tool has returned: a value is told to the model, and the outcome comes later; without one the
   * turn waits for the outcome. A tool may decide it while it runs, by `context.longRunning`.
   *
   * @default false; true with `inProcess: true`
   */
  isLongRunning?: boolean;
}

/** A tool's rule about names that are taken. */
export type OnCollision = 'throw' | 'replace' | 'keep';

export const TOOL = {
  description: option.required(option.text()),
  isLongRunning: option.flag(),
  isReadOnly: option.flag(false),
  trusted: option.flag(false),
  ephemeral: option.flag(false),
  onCollision: option.choice(['throw', 'replace', 'keep'], 'throw'),
  spool: (read, name) => resolveSpool<BaseTool>(read.owner, read.value(name)),
} satisfies OptionsFor<Omit<BaseToolParams, 'name' | keyof (DurableOptions & GateOptions & JobOptions)>>;

export const TOOL_FIELDS: readonly string[] = ['name', ...[TOOL, DURABLE, GATE, JOB].flatMap(Object.keys)];

/**
 * Something that a model can call. Semantics: `BaseTool` of `@google/adk` 2.0.0.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * class Clock extends BaseTool {
 *   constructor() {
 *     super({ name: 'clock', description: 'Tells the time.' });
 *   }
 *   override _getDeclaration() {
 *     return { name: this.name, description: this.description };
 *   }
 *   override async runAsync() {
 *     return { time: new Date().toISOString() };
 *   }
 * }
 */
export abstract class BaseTool {
  readonly [BASE_TOOL] = true;
  readonly [RESERVED_NAME]?: string;
  readonly [AGENT_OF_TOOL]?: AgentOfTool;
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  readonly isReadOnly: boolean;
  readonly trusted: boolean;
  readonly ephemeral: boolean;
  readonly onCollision: OnCollision;
  /** How large results are kept as artifacts; undefined for a tool whose results are all told. */
  readonly spool: ResolvedSpool<BaseTool> | undefined;
  /** How Holdfast runs the tool: its durable options with their defaults, milliseconds. */
  readonly durable: ResolvedDurableOptions;
  /** The gate of calls before they run; undefined for a tool that runs at once. */
  readonly gate: ToolGate | undefined;
  /** How the job of a long-running call is looked after, milliseconds. */
  readonly job: ResolvedJobOptions;

  constructor(params: BaseToolParams) {
    const kind = new.target.name || 'BaseTool';
    if (!isRecord(params)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(params)}` });
    }
    assertToolName(kind, params.name, params);
    const owner = toolOwner(kind, params.name);
    assertKnownFields(owner, params, TOOL_FIELDS);
    const read = new OptionReader(owner, params);
    if (RESERVED_NAME in params) this[RESERVED_NAME] = params.name;
    const own = readFrom(TOOL, read);
    this.name = params.name;
    this.description = own.description;
    this.job = resolveJobOptions(owner, params, this);
    this.isLongRunning = own.isLongRunning ?? this.job.inProcess;
    this.isReadOnly = own.isReadOnly;
    this.trusted = own.trusted;
    this.ephemeral = own.ephemeral;
    this.onCollision = own.onCollision;
    this.gate = resolveGate(owner, params);
    this.durable = resolveDurableOptions(params, owner, {
      gate: this.gate,
      inProcess: this.job.inProcess ? this.job.deadline : undefined,
    });
    this.spool = own.spool;
    if (this.spool !== undefined && isResultSensitive(this.durable.sensitive)) {
      read.fail('spool', 'the result is sensitive, and artifacts are listed to people: leave spool out');
    }
  }

  /** How the tool is offered to the model; undefined for a tool that the model doesn't call. */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /** Digest of the definition of a tool that somebody else defines, such as a server. An approval is for this definition alone. */
  get definitionDigest(): string | undefined {
    return undefined;
  }

  /** JSON Schema of the response that the model gets; undefined where the tool has none. */
  get responseSchema(): JsonSchemaObject | undefined {
    const declaration = this._getDeclaration();
    return declaration && jsonSchemaIn(declaration.responseJsonSchema ?? declaration.response);
  }

  /** The tool as a plain object. `inputSchema` is the JSON Schema by which arguments are checked, for every form of declaration. */
  describe(): ToolDescription {
    const { name, description } = this;
    const declaration = this._getDeclaration();
    const inputSchema =
      declaration && jsonSchemaIn(declaration.parametersJsonSchema ?? declaration.parameters);
    return {
      name,
      // The model reads more than the description of a long-running tool.
      description: declaration?.description ?? description,
      ...defined({ inputSchema }),
    };
  }

  /**
   * Changes a request before it is sent: by default offers the tool to the model.
   *
   * @throws DefinitionError for a declaration without a name, and for a name that is taken.
   */
  async processLlmRequest({ llmRequest }: ToolProcessLlmRequest): Promise<void> {
    appendTools(llmRequest, [this]);
  }

  /**
   * Asks a running call to end, beside the abort signal of its context; and the job of a long-running one whose tool has no hook for
   * that. True where it was told.
   *
   * @param callId as `Context.functionCallId` of the call has it.
   */
  cancel(_callId: string): boolean | Promise<boolean> {
    return false;
  }

  /** Whether {@link BaseTool.cancel} can do anything now. */
  supportsCancellation(): boolean {
    return false;
  }

  /**
   * The arguments as the tool's own functions get them. By default any will do, and stay as they are.
   *
   * @throws InvalidArgumentsError naming what is wrong with each.
   */
  async readArguments(args: Record<string, unknown>): Promise<unknown> {
    return args;
  }

  /**
   * Checks a result that comes without a run: a job's outcome. By default every result is valid, and stays as it is.
   *
   * @throws InvalidResultError
   */
  async readResult(result: unknown): Promise<unknown> {
    return result;
  }

  /**
   * Refuses arguments that the tool would refuse, before a person is asked about them.
   *
   * @throws InvalidArgumentsError naming what is wrong with each.
   */
  async checkArguments(args: Record<string, unknown>): Promise<void> {
    await this.readArguments(structuredClone(args));
  }

  /** Whether a run after one of unknown outcome repeats no effect, by the call's results of `context.once`: then it is made in any case. */
  goesOn(_once: Readonly<Record<string, unknown>>): boolean {
    return false;
  }

  /** The worker stops. */
  async close(): Promise<void> {}

  /**
   * Runs the tool.
   *
   * @param request `args` are the model's, not validated.
   */
  abstract runAsync(request: RunAsyncToolRequest): Promise<unknown>;
}

/** Whether `value` is a tool, of this or of another copy of the package. */
export function isBaseTool(value: unknown): value is BaseTool {
  return typeof value === 'object' && value !== null && BASE_TOOL in value && value[BASE_TOOL] === true;
}

/** A tool as providers other than Gemini want it told. Fields: `tool.Definition` of kadirpekel/hector. */
export interface ToolDefinition {
  name: string;
  description: string;
  /** JSON Schema; absent for a tool without parameters or without a declaration. */
  parameters?: JsonSchemaObject;
}

/** @example const tools = agentTools.map(toDefinition); */
export function toDefinition(tool: BaseTool): ToolDefinition {
  if (!isBaseTool(tool)) {
    throw new DefinitionError({ owner: 'toDefinition', problem: `expected a tool, got ${kindOf(tool)}` });
  }
  const { name, description, inputSchema } = tool.describe();
  return { name, description, ...defined({ parameters: inputSchema }) };
}

/** A copy, with types in lower case where they are the provider's. */
function jsonSchemaIn(schema: unknown): JsonSchemaObject | undefined {
  return isRecord(schema) ? asJsonSchema(structuredClone(schema)) : undefined;
}

/** How messages call a tool. */
export function toolOwner(kind: string, name: string): string {
  return `${kind} "${name}"`;
}
