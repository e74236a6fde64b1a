import { type Content, type FunctionDeclaration, textOf } from '../events/content.ts';
import type { EndedAgent } from '../protocol/agent-run.ts';
import { isRecord } from '../protocol/json.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import type { Duration } from '../schema/duration.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { namesOf, OptionReader, type OptionsFor, readFrom } from '../schema/options.ts';
import { rootOf, withObjectRoot } from '../schema/subschemas.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import {
  AGENT_OF_TOOL,
  type AgentOfTool,
  agentOfTool,
  BaseTool,
  type BaseToolParams,
  toolOwner,
} from '../tools/base-tool.ts';
import { responseSchema, toFunctionResponse } from '../tools/function-response.ts';
import { GATE, type GateOptions } from '../tools/gate-options.ts';
import type { AgentView } from '../tools/invocation-context.ts';
import { InvalidArgumentsError, ToolError } from '../tools/tool-error.ts';
import { type BaseAgent, isBaseAgent, whatItIs } from './base-agent.ts';
import { type BudgetLimits, resolveBudgetLimits } from './budget-limits.ts';
import { isLlmAgent } from './llm-agent.ts';

/** The outcome of the latest run of a tool's agent. */
export interface AgentRunEnd {
  status: EndedAgent['status'];
  /** {@link answerText} of its last event with content. */
  text?: string | undefined;
  error?: { code: string; message: string } | undefined;
}

/** An agent that was run by a tool, or by the code of another agent, has no answer. */
export class SubAgentFailed extends ToolError {
  override readonly name = 'SubAgentFailed';

  constructor(code: string, message: string) {
    super(message, { code, retryable: false });
  }
}

/** Text: adk-go. */
function subAgentFailed(agent: string, { code, message }: { code: string; message: string }): SubAgentFailed {
  return new SubAgentFailed(
    code,
    `error from sub-agent ${JSON.stringify(agent)} (code: ${JSON.stringify(code)}, message: ${JSON.stringify(message)})`,
  );
}

/** The text of an event as the answer of an agent tool: its text parts by lines, thoughts left out; undefined without any. */
export function answerText(content: Content | undefined): string | undefined {
  return textOf(content, '\n') || undefined;
}

/**
 * The answer of an agent tool's call: the agent's text as `result`, the output schema's value of the text, or nothing if it has
 * said nothing. Semantics: adk-go, and the output schema of `@google/adk` 2.0.0.
 *
 * @throws SubAgentFailed
 */
export async function agentResult(agent: AgentView, end: AgentRunEnd): Promise<Record<string, unknown>> {
  const { status, text } = end;
  if (status !== 'completed') throw subAgentFailed(agent.name, end.error ?? DEFAULT_ERRORS[status]);
  if (text === undefined || text === '') return {};
  if (!isLlmAgent(agent) || agent.outputSchema === undefined) return { result: text };
  try {
    return toFunctionResponse(await agent.validateOutput(JSON.parse(text)));
  } catch (error) {
    const problem = error instanceof SyntaxError ? 'it is no JSON' : thrownMessage(error);
    const message = `its answer doesn't match its outputSchema: ${problem}`;
    throw subAgentFailed(agent.name, { code: 'HOLDFAST_INVALID_RESULT', message });
  }
}

const DEFAULT_ERRORS: Record<
  Exclude<EndedAgent['status'], 'completed'>,
  { code: string; message: string }
> = {
  failed: { code: 'HOLDFAST_AGENT_FAILED', message: 'it has failed' },
  interrupted: { code: 'HOLDFAST_AGENT_INTERRUPTED', message: 'it was interrupted' },
  terminated: { code: 'HOLDFAST_AGENT_TERMINATED', message: 'it was terminated' },
  'timed out': { code: 'HOLDFAST_AGENT_TIMED_OUT', message: 'it has taken longer than it may' },
};

const AGENT_TOOL = Symbol.for('holdfast.agentTool');

const OF_TOOL = [
  'summary',
  'isConcurrencySafe',
  'isReadOnly',
  'trusted',
  'ephemeral',
  'onCollision',
] as const;

/** Options of an {@link AgentTool}. `agent` and `skipSummarization` are those of `@google/adk` 2.0.0. */
export interface AgentToolConfig extends GateOptions, Pick<BaseToolParams, (typeof OF_TOOL)[number]> {
  /** The agent that a call runs. The tool has its name and description. */
  agent: BaseAgent;
  /**
   * Whether the agent's answer is the caller's too: no model call follows that would sum it up.
   *
   * @default false
   */
  skipSummarization?: boolean;
  /**
   * Longest time from the call to the agent's answer, over all attempts.
   *
   * @default not limited
   * @format milliseconds, or text like `'10 minutes'`
   */
  timeout?: Duration;
  /**
   * How often the agent is run, each time from its start in a session of its own, before its failure is the call's.
   *
   * @default 1
   */
  attempts?: number;
  /** Limits of each run, with everything that it runs. The budgets of the turn and the session count, too. */
  budget?: BudgetLimits;
  /**
   * Task queue of the agent, which is a root agent of the workers there. Only its name and description are used here.
   *
   * @default where its caller lives
   */
  taskQueue?: string;
}

export const AGENT_RUN = {
  skipSummarization: option.flag(false),
  timeout: option.duration(),
  attempts: option.count(1),
  budget: option.custom((budget, { owner }, field) => resolveBudgetLimits(owner, field, budget)),
  taskQueue: option.checked(option.text(), (queue) => (queue === '' ? 'must not be empty' : undefined)),
} satisfies OptionsFor<Omit<AgentToolConfig, 'agent' | (typeof OF_TOOL)[number] | keyof GateOptions>>;

const FIELDS: readonly string[] = ['agent', ...namesOf(AGENT_RUN), ...OF_TOOL, ...namesOf(GATE)];

/** Arguments of an agent without an input schema. */
const REQUEST: JsonSchemaObject = Object.freeze({
  type: 'object',
  properties: { request: { type: 'string' } },
  required: ['request'],
});

/**
 * An agent as a tool: a call runs it as a child workflow, in a session of its own that begins with a copy of the caller's state;
 * its last words are the result, and the state that it has written comes back. Semantics: `AgentTool` of `@google/adk` 2.0.0, but
 * each call begins afresh, and failures are told. The other options are ours.
 *
 * @throws DefinitionError from the constructor, naming the field.
 * @example
 * const research = new AgentTool({ agent: researcher, timeout: '10 minutes', budget: { modelCalls: 20 } });
 * export const rootAgent = new LlmAgent({ name: 'editor', model: 'gemini-2.5-flash', tools: [research] });
 */
export class AgentTool extends BaseTool {
  readonly [AGENT_TOOL] = true;
  override readonly [AGENT_OF_TOOL]: AgentOfTool<BaseAgent>;

  constructor(config: AgentToolConfig) {
    const kind = new.target.name || 'AgentTool';
    if (!isRecord(config)) {
      throw new DefinitionError({ owner: kind, problem: `expected an object, got ${kindOf(config)}` });
    }
    const { agent } = config;
    if (!isBaseAgent(agent)) {
      throw new DefinitionError({ owner: kind, field: 'agent', problem: whatItIs(agent) });
    }
    const { name, description } = agent;
    const owner = toolOwner(kind, name);
    assertKnownFields(owner, config, FIELDS);
    assertTakesObjects(owner, agent);
    const { agent: _, skipSummarization, timeout, attempts, budget, taskQueue, ...params } = config;
    // Only the agent may have run, and its own calls are handled one by one.
    super({ ...params, name, description, onUnknownOutcome: 'retry' });
    if (this.runAsync !== AgentTool.prototype.runAsync) {
      const problem = 'would never be called: the workflow runs the agent';
      throw new DefinitionError({ owner, field: 'runAsync', problem });
    }
    this[AGENT_OF_TOOL] = Object.freeze({ agent, ...readFrom(AGENT_RUN, new OptionReader(owner, config)) });
  }

  get agent(): BaseAgent {
    return this[AGENT_OF_TOOL].agent;
  }

  override _getDeclaration(): FunctionDeclaration {
    const { inputJsonSchema: input, outputJsonSchema: output } = schemasOf(this.agent);
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: (input && withObjectRoot(input)) ?? REQUEST,
      ...(output === undefined ? {} : { responseJsonSchema: responseSchema(output) }),
    };
  }

  /** The arguments as the agent's input schema returns them. */
  override async readArguments(args: Record<string, unknown>): Promise<unknown> {
    const { agent } = this;
    if (!isLlmAgent(agent) || agent.inputSchema === undefined) {
      requestText(agent, args);
      return args;
    }
    try {
      return await agent.validateInput(args);
    } catch (error) {
      throw new InvalidArgumentsError(
        `Error in tool '${this.name}': invalid arguments: ${thrownMessage(error)}`,
      );
    }
  }

  /** @throws ToolError always: agents are run by the workflow. */
  override async runAsync(): Promise<unknown> {
    throw new ToolError(
      `the agent "${this.name}" is run by the workflow of a turn, and not by hand: put its AgentTool into an agent's tools`,
      { code: 'HOLDFAST_AGENT_TOOL', retryable: false },
    );
  }
}

/** Whether `value` is an {@link AgentTool}, of this or of another copy of the package. */
export function isAgentTool(value: unknown): value is AgentTool {
  return typeof value === 'object' && value !== null && AGENT_TOOL in value && value[AGENT_TOOL] === true;
}

/** The agent that runs in the place of this tool; undefined for a tool that runs itself. */
export function calledAgent(tool: BaseTool): BaseAgent | undefined {
  const agent = agentOfTool(tool)?.agent;
  return isBaseAgent(agent) ? agent : undefined;
}

/**
 * The message to an agent from a call's arguments. Semantics: `AgentTool` of `@google/adk` 2.0.0, and those of adk-go for a request
 * that is missing or no text.
 *
 * @throws InvalidArgumentsError where there is no `request`.
 */
export function requestText(agent: BaseAgent, args: Readonly<Record<string, unknown>>): string {
  if (schemasOf(agent).inputJsonSchema !== undefined) return JSON.stringify(args);
  const { request } = args;
  if (request === undefined || request === null) {
    throw new InvalidArgumentsError(`missing required argument 'request' for agent ${agent.name}`);
  }
  return typeof request === 'object' ? JSON.stringify(request) : String(request);
}

function schemasOf(agent: BaseAgent): {
  inputJsonSchema?: JsonSchemaObject | undefined;
  outputJsonSchema?: JsonSchemaObject | undefined;
} {
  return isLlmAgent(agent) ? agent : {};
}

/** Models call functions by objects. */
function assertTakesObjects(owner: string, agent: BaseAgent): void {
  const { inputJsonSchema: schema } = schemasOf(agent);
  if (schema === undefined || withObjectRoot(schema) !== undefined) return;
  throw new DefinitionError({
    owner,
    field: 'agent',
    problem: `its inputSchema must be that of an object (z.object({…}), or type: 'object'), got ${rootOf(schema)}`,
  });
}
