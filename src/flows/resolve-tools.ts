import { transferTargets, transferToAgentTool } from '../agents/agent-transfer.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import { namesTaken } from '../agents/llm-agent-parts.ts';
import { subAgentTools, toolOfMode } from '../agents/mode-tools.ts';
import { isBuiltInCodeExecutor } from '../code-executors/built-in-code-executor.ts';
import { codeTool } from '../code-executors/code-tool.ts';
import { codedError } from '../contract/error.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { thrownField, thrownMessage } from '../schema/thrown-message.ts';
import type { ToolFactory } from '../tools/base-tool.ts';
import { type BaseTool, isBaseTool } from '../tools/base-tool.ts';
import { type BaseToolset, isBaseToolset } from '../tools/base-toolset.ts';
import { MCPToolset } from '../tools/mcp/mcp-toolset.ts';
import type { ReadonlyContext } from '../tools/readonly-context.ts';
import { assertNameOf } from '../tools/tool-name.ts';
import { WrappedToolset } from '../tools/toolsets.ts';
import { addedTools, editedTool } from './request-tools.ts';
import { queryNamed } from './spooled-queries.ts';

/** The agent and the place that its tools depend on. */
export interface ToolSite {
  agent: LlmAgent;
  context: ReadonlyContext;
  /** Tool factories of the app. */
  toolFactories: ReadonlyMap<string, ToolFactory>;
  /** Tools that the invocation has added or removed. */
  toolEdits: readonly ToolEdit[];
}

/** A toolset that fails. It may fail for a while, and is tried again, unless its error says `retryable: false`. */
export class ToolsetFailed extends codedError('HOLDFAST_TOOLSET_FAILED') {}

/** The tools of one entry of an agent's `tools`. */
export interface ToolGroup {
  /** `tools[2]`, for messages. */
  field: string;
  /** Absent for a tool that stands in the list itself. */
  toolset?: BaseToolset;
  tools: readonly BaseTool[];
}

/**
 * The tool that a call of this name runs, on whichever worker: the agent's own, the code executor's, those of its toolsets, those that
 * the invocation has added, and those that query spooled results. Toolsets are asked only where nothing else has the name, all at
 * once. The first one that has it wins, so a call waits for those before it.
 *
 * @throws ToolsetFailed
 * @throws ToolFactoryFailed
 */
export async function findTool(site: ToolSite, name: string): Promise<BaseTool | undefined> {
  const { agent, context, toolFactories, toolEdits } = site;
  const edited = editedTool(toolEdits, toolFactories, name);
  if (edited !== undefined) return edited ?? undefined;
  const own = agent.tools.find((tool): tool is BaseTool => isBaseTool(tool) && tool.name === name);
  if (own !== undefined) return own;
  const transfer = transferToolOf(agent, name);
  if (transfer !== undefined) return transfer;
  const { codeExecutor } = agent;
  if (codeExecutor?.name === name && !isBuiltInCodeExecutor(codeExecutor)) return codeTool(codeExecutor);
  const spooling = agent.tools.filter(isBaseTool);
  let failure: ToolsetFailed | undefined;
  const taken = namesTaken(agent);
  const asked = toolsetsOf(agent).map(({ toolset, index }) => ({
    toolset,
    tools: toolsUnless(agent, { toolset, index, context }, (failed) => {
      failure ??= failed;
    }),
  }));
  // One that fails after an earlier one has named the tool has no say.
  for (const { tools } of asked) tools.catch(() => undefined);
  for (const { toolset, tools: asking } of asked) {
    const tools = await asking;
    const found = tools.find((tool) => tool.name === name);
    if (found !== undefined && !(givesWay({ toolset }) && taken.has(name))) return found;
    spooling.push(...tools);
  }
  const query = queryNamed([...spooling, ...addedTools(toolEdits, toolFactories)], name);
  // The one that failed may have it.
  if (query === undefined && failure !== undefined) throw failure;
  return query;
}

/** `transfer_to_agent` where the name is that, and the agent has somebody to hand a turn on to; or the tool of a `mode`. */
export function transferToolOf(agent: LlmAgent, name: string): BaseTool | undefined {
  const isOffered = name === transferToAgentTool.name && transferTargets(agent).length > 0;
  return isOffered ? transferToAgentTool : toolOfMode(agent, name);
}

/**
 * The agent's tools for one request, its toolsets asked; no promise where it has none of these.
 *
 * @param warn is told once of each optional toolset that fails, until it works again.
 * @throws ToolsetFailed
 * @throws DefinitionError for two tools of one name that the agent needs, and for one of a toolset without a proper name.
 */
export function resolveTools(
  agent: LlmAgent,
  context: () => ReadonlyContext,
  warn: (message: string) => void = () => undefined,
): readonly ToolGroup[] | Promise<readonly ToolGroup[]> {
  if (agent.tools.some(isBaseToolset)) return resolveToolsets(agent, context(), warn);
  // These don't depend on the request.
  const known = plainGroups.get(agent);
  if (known !== undefined) return known;
  const own = agent.tools.map((tool, index) => ({ field: `tools[${index}]`, tools: [tool as BaseTool] }));
  const groups = [...own, ...subAgentTools(agent)];
  plainGroups.set(agent, groups);
  return groups;
}

const plainGroups = new WeakMap<LlmAgent, readonly ToolGroup[]>();

async function resolveToolsets(
  agent: LlmAgent,
  context: ReadonlyContext,
  warn: (message: string) => void,
): Promise<readonly ToolGroup[]> {
  const groups = await Promise.all(
    agent.tools.map(async (tool, index): Promise<ToolGroup> => {
      const field = `tools[${index}]`;
      if (!isBaseToolset(tool)) return { field, tools: [tool] };
      const tools = await toolsUnless(agent, { toolset: tool, index, context }, ({ message }) => {
        if (!failing.has(tool)) warn(`${message}; it is optional: the agent goes on without its tools`);
        failing.add(tool);
      });
      return { field, toolset: tool, tools };
    }),
  );
  const all = [...groups, ...subAgentTools(agent)];
  return withoutDuplicates(agent, all, warn).map((group) => withoutRefused(agent, group, warn));
}

/** Toolsets in the order in which they may take names: optional ones after those that are needed, and servers from outside last. */
function toolsetsOf(agent: LlmAgent): { toolset: BaseToolset; index: number }[] {
  const all = agent.tools.flatMap((toolset, index) => (isBaseToolset(toolset) ? [{ toolset, index }] : []));
  return all.toSorted((one, other) => rankOf(one) - rankOf(other));
}

function rankOf(group: { toolset?: BaseToolset }): number {
  if (!givesWay(group)) return 0;
  return isForeign(group) ? 2 : 1;
}

/** A toolset whose tools never break the agent: it is optional, or they are a server's. */
export function givesWay(group: { toolset?: BaseToolset }): boolean {
  return isForeign(group) || innermost(group)?.optional === true;
}

/** Names of its tools are a server's, which may be hostile. */
function isForeign(group: { toolset?: BaseToolset }): boolean {
  return innermost(group) instanceof MCPToolset;
}

function innermost({ toolset }: { toolset?: BaseToolset }): BaseToolset | undefined {
  return toolset instanceof WrappedToolset ? innermost({ toolset: toolset.inner }) : toolset;
}

/**
 * A toolset that gives way can't take a name of the other tools, nor break the agent by it.
 *
 * @throws DefinitionError
 */
function withoutDuplicates(
  agent: LlmAgent,
  groups: readonly ToolGroup[],
  warn: (message: string) => void,
): readonly ToolGroup[] {
  const taken = assertNames(
    agent,
    groups.filter((group) => !givesWay(group)),
  );
  const own = new Map<ToolGroup, readonly BaseTool[]>();
  for (const group of groups.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const { field, toolset } = group;
    if (toolset === undefined || !givesWay(group)) continue;
    const tools = group.tools.filter(({ name }) => {
      const other = taken.get(name) ?? transferToolOf(agent, name)?.name;
      if (other === undefined) taken.set(name, originOf(field, toolset));
      else tellOnce(toolset, name, () => warn(leftOut(group, name, `the name is in ${other}`)));
      return other === undefined;
    });
    own.set(group, tools);
  }
  return groups.map((group) => ({ ...group, tools: own.get(group) ?? group.tools }));
}

/**
 * A provider refuses a whole request for the schema of one tool. A tool that it refuses, and one without a proper name, is left out of a
 * toolset that gives way. Others are told by the model.
 */
function withoutRefused(agent: LlmAgent, group: ToolGroup, warn: (message: string) => void): ToolGroup {
  const { toolset } = group;
  if (toolset === undefined || !givesWay(group)) return group;
  const { canonicalModel: model } = agent;
  const owner = `agent "${agent.name}"`;
  const tools = group.tools.filter((tool) => {
    try {
      assertNameOf(owner, tool);
      const declaration = model.assertTakes && tool._getDeclaration();
      if (declaration !== undefined) model.assertTakes?.({ owner, declarations: [declaration] });
      return true;
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      tellOnce(toolset, tool.name, () => warn(leftOut(group, tool.name, error.message)));
      return false;
    }
  });
  return { ...group, tools };
}

function leftOut({ field, toolset }: ToolGroup, name: string, why: string): string {
  return `the tool "${name}" of ${originOf(field, toolset)} is left out: ${why}`;
}

/** Names of tools whose leaving out was told. */
const toldNames = new WeakMap<BaseToolset, Set<string>>();
/** A server may have new names without end. */
const MOST_TOLD = 100;

function tellOnce(toolset: BaseToolset, name: string, tell: () => void): void {
  const told = toldNames.get(toolset) ?? new Set();
  toldNames.set(toolset, told);
  if (told.has(name) || told.size >= MOST_TOLD) return;
  told.add(name);
  tell();
}

/** Optional toolsets whose failure was told. */
const failing = new WeakSet<BaseToolset>();

/**
 * The tools of a toolset; none of an optional one that fails.
 *
 * @throws ToolsetFailed
 */
async function toolsUnless(
  agent: LlmAgent,
  { toolset, index, context }: { toolset: BaseToolset; index: number; context: ReadonlyContext },
  onFailure: (failure: ToolsetFailed) => void,
): Promise<readonly BaseTool[]> {
  try {
    const tools = await toolsOf(agent, toolset, index, context);
    failing.delete(toolset);
    return tools;
  } catch (error) {
    if (!(error instanceof ToolsetFailed) || toolset.optional !== true) throw error;
    onFailure(error);
    return [];
  }
}

/**
 * @param context absent: all tools of the toolset.
 * @throws ToolsetFailed
 */
export async function toolsOf(
  agent: LlmAgent,
  toolset: BaseToolset,
  index: number,
  context?: ReadonlyContext,
): Promise<readonly BaseTool[]> {
  const owner = `toolset ${toolset.name} (tools[${index}] of agent "${agent.name}")`;
  let tools: unknown;
  try {
    tools = await toolset.getTools(context);
  } catch (cause) {
    const retryable = thrownField(cause, 'retryable') !== false;
    throw new ToolsetFailed(`${owner} failed: ${thrownMessage(cause)}`, { cause, retryable });
  }
  if (!Array.isArray(tools)) {
    throw new ToolsetFailed(`${owner} must return a list of tools, returned ${kindOf(tools)}`);
  }
  const wrong = tools.findIndex((tool) => !isBaseTool(tool));
  if (wrong === -1) return tools;
  throw new ToolsetFailed(`${owner} must return tools, [${wrong}] of its list is ${kindOf(tools[wrong])}`);
}

/**
 * The names of tools that are not to give way, and where each stands.
 *
 * @throws DefinitionError for two tools of one name, and for a tool of a toolset without a proper one.
 */
export function assertNames(agent: LlmAgent, groups: readonly ToolGroup[]): Map<string, string> {
  const origins = new Map(namesTaken(agent));
  for (const { field, toolset, tools } of groups) {
    const origin = originOf(field, toolset);
    const owner = `LlmAgent "${agent.name}"`;
    for (const tool of tools) {
      if (toolset !== undefined) assertNameOf(`${owner}: ${field}: a tool of ${toolset.name}`, tool);
      const other = origins.get(tool.name);
      if (other !== undefined) {
        const problem = `duplicate tool: "${tool.name}" is in ${other} and in ${origin}; rename one of them`;
        throw new DefinitionError({ owner, field, problem });
      }
      origins.set(tool.name, origin);
    }
  }
  return origins;
}

function originOf(field: string, toolset: BaseToolset | undefined): string {
  return toolset === undefined ? field : `${field} (toolset ${toolset.name})`;
}
