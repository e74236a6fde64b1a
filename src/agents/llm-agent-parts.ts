import { type BaseCodeExecutor, isBaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import { isBuiltInCodeExecutor } from '../code-executors/built-in-code-executor.ts';
import { codedError } from '../contract/error.ts';
import { type BasePlanner, isBuiltInPlanner } from '../planners/planners.ts';
import { isRecord } from '../protocol/json.ts';
import type { CompiledSchema } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { OptionReader } from '../schema/options.ts';
import type { Problem } from '../schema/problems.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import { isBaseTool } from '../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../tools/base-toolset.ts';
import { FINISH_TASK_TOOL_NAME } from '../tools/built-in/finish-task-tool.ts';
import { SET_MODEL_RESPONSE } from '../tools/built-in/set-model-response-tool.ts';
import { assertNameOf, assertToolName } from '../tools/tool-name.ts';

/** @throws DefinitionError */
export function checkedPlanner(planner: unknown, read: OptionReader): BasePlanner {
  const isPlanner =
    isRecord(planner) &&
    typeof planner.buildPlanningInstruction === 'function' &&
    typeof planner.processPlanningResponse === 'function';
  if (isPlanner) return planner as unknown as BasePlanner;
  return read.fail(
    'planner',
    `expected a BasePlanner (buildPlanningInstruction and processPlanningResponse), got ${kindOf(planner)}`,
  );
}

/** @throws DefinitionError */
export function checkedCodeExecutor(executor: unknown, read: OptionReader): BaseCodeExecutor {
  if (!isBaseCodeExecutor(executor)) {
    return read.fail('codeExecutor', `expected a BaseCodeExecutor, got ${kindOf(executor)}`);
  }
  if (executor.optimizeDataFile) {
    read.fail('codeExecutor.optimizeDataFile', 'data files are not unpacked for code yet; leave it false');
  }
  // Its name is the type of its activities, as a tool's is.
  assertToolName(`${executor.constructor.name} (codeExecutor)`, executor.name);
  return executor;
}

/** @throws DefinitionError naming the place in the list. */
export function checkedProcessors<Processor>(
  read: OptionReader,
  field: 'requestProcessors' | 'responseProcessors',
  byDefault: readonly Processor[],
): Processor[] {
  const given = read.given(field) ? read.value(field) : byDefault;
  if (!Array.isArray(given)) {
    return read.fail(field, `expected a list of processors, got ${kindOf(given)}`);
  }
  // By index, because an array may have holes.
  return Array.from({ length: given.length }, (_, index) => {
    const processor: unknown = given[index];
    if (isRecord(processor) && typeof processor.runAsync === 'function') return processor as Processor;
    return read.fail(
      `${field}[${index}]`,
      `expected a processor (an object with runAsync), got ${kindOf(processor)}`,
    );
  });
}

/** Names that tools of an agent may not have, and the holders of these names. */
export function namesTaken({
  codeExecutor,
  outputSchema,
  mode,
}: {
  codeExecutor?: BaseCodeExecutor;
  outputSchema?: SchemaLike;
  mode?: 'single_turn' | 'task';
}): Map<string, string> {
  const taken = new Map<string, string>();
  if (codeExecutor !== undefined && !isBuiltInCodeExecutor(codeExecutor))
    taken.set(codeExecutor.name, 'the codeExecutor');
  if (mode === 'task') taken.set(FINISH_TASK_TOOL_NAME, 'the tool that ends the task');
  else if (outputSchema !== undefined)
    taken.set(SET_MODEL_RESPONSE, 'the tool that answers by the outputSchema');
  return taken;
}

/** A name that something else of the agent has taken, and what that is. */
type TakenNames = ReadonlyMap<string, string>;

/**
 * @param taken names that no tool may have.
 * @throws DefinitionError for a value that is neither tool nor toolset, and for the second tool of a name.
 */
export function checkedTools(owner: string, tools: unknown = [], taken: TakenNames = new Map()): ToolUnion[] {
  if (!Array.isArray(tools)) {
    const problem = `expected a list of tools, got ${kindOf(tools)}`;
    throw new DefinitionError({ owner, field: 'tools', problem });
  }
  const names = new Map(taken);
  const toolsets = new Map<unknown, number>();
  // By index, because an array may have holes.
  return Array.from({ length: tools.length }, (_, index) => {
    const tool: unknown = tools[index];
    const field = `tools[${index}]`;
    if (isBaseToolset(tool)) {
      const first = toolsets.get(tool);
      if (first !== undefined) {
        const problem = `the same toolset as tools[${first}], so each of its tools would be there twice`;
        throw new DefinitionError({ owner, field, problem });
      }
      toolsets.set(tool, index);
      return tool;
    }
    if (!isBaseTool(tool)) throw new DefinitionError({ owner, field, problem: whatItIs(tool) });
    assertNameOf(`${owner}: ${field}`, tool);
    const other = names.get(tool.name);
    if (other !== undefined) {
      const problem = `duplicate tool: "${tool.name}", which is ${other} too`;
      throw new DefinitionError({ owner, field, problem });
    }
    names.set(tool.name, field);
    return tool;
  });
}

const ADK_TOOL = Symbol.for('google.adk.baseTool');
const ADK_TOOLSET = Symbol.for('google.adk.baseToolset');

function whatItIs(value: unknown): string {
  if (typeof value === 'object' && value !== null && (ADK_TOOL in value || ADK_TOOLSET in value)) {
    const what = ADK_TOOL in value ? 'a tool' : 'a toolset';
    return `${what} of @google/adk; import its class from 'holdfast' instead`;
  }
  if (isRecord(value) && 'execute' in value)
    return 'options of a tool; write tool({…}) or new FunctionTool({…})';
  return `expected a tool, got ${kindOf(value)}`;
}

/** Fields that the agent or Holdfast itself sets, and what to do instead; ADK's texts where it has one. */
const REFUSED: Readonly<Record<string, string>> = {
  tools: 'All tools must be set via LlmAgent.tools.',
  systemInstruction: 'System instruction must be set via LlmAgent.instruction.',
  responseSchema: 'Response schema must be set via LlmAgent.outputSchema.',
  responseJsonSchema: 'Response schema must be set via LlmAgent.outputSchema.',
  abortSignal: 'Holdfast cancels model calls by itself.',
  automaticFunctionCalling: 'Holdfast runs function calls by itself.',
};

/** @throws DefinitionError */
export function assertGenerateContentConfig(
  owner: string,
  config: unknown,
  planner: BasePlanner | undefined,
): void {
  if (config === undefined) return;
  const field = 'generateContentConfig';
  if (!isRecord(config)) {
    throw new DefinitionError({ owner, field, problem: `expected an object, got ${kindOf(config)}` });
  }
  for (const [name, problem] of Object.entries(REFUSED)) {
    if (config[name] !== undefined) throw new DefinitionError({ owner, field: `${field}.${name}`, problem });
  }
  if (config.thinkingConfig !== undefined && isBuiltInPlanner(planner)) {
    // As adk-python: a warning, because programs have both.
    process.emitWarning(`${owner}: ${field}.thinkingConfig has no effect: that of the planner wins`);
  }
}

/** A value does not match the `inputSchema` or the `outputSchema` of an agent. */
export class SchemaMismatch extends codedError('HOLDFAST_SCHEMA_MISMATCH') {
  /** The wrong parts of the value, without the value itself. */
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[]) {
    super(message);
    this.problems = problems;
  }
}

/**
 * The value as the schema returns it, with its defaults and transforms; the value itself without a schema.
 *
 * @throws SchemaMismatch
 */
export async function matched(schema: CompiledSchema | undefined, value: unknown): Promise<unknown> {
  if (schema === undefined) return value;
  const validation = await schema.validate(value);
  if (validation.ok) return validation.value;
  throw new SchemaMismatch(validation.message, validation.problems);
}
