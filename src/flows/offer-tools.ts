import { transferToAgentTool } from '../agents/agent-transfer.ts';
import { callbackThrew } from '../agents/callbacks.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import { appendTools, thawRequest } from '../models/llm-request.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { LlmRequest } from '../tools/base-tool.ts';
import { BaseTool } from '../tools/base-tool.ts';
import { BaseToolset } from '../tools/base-toolset.ts';
import { Context } from '../tools/context.ts';
import type { ContextInit } from '../tools/invocation-context.ts';
import { processedBy } from '../tools/passive-tools.ts';
import { type ToolGroup, ToolsetFailed } from './resolve-tools.ts';
import { assertWhole } from './run-processors.ts';

export interface Offer {
  agent: LlmAgent;
  init: ContextInit;
  request: LlmRequest;
  groups: readonly ToolGroup[];
  /** Tool edits of the invocation. Removed tools are not offered. */
  edits: readonly ToolEdit[];
}

/**
 * Has toolsets and tools process the request, in order. Tools that do no more than offer themselves are added together, so that
 * they cost no more than a list.
 *
 * @throws ToolsetFailed, CallbackFailed, and DefinitionError where a name is taken or another worker could not find the tool.
 */
export async function offerTools({ agent, init, request, groups, edits }: Offer): Promise<void> {
  const { allowedTools } = request;
  const removed = new Set(edits.flatMap((edit) => ('remove' in edit ? [edit.remove] : [])));
  const isOffered = ({ name }: BaseTool): boolean =>
    !removed.has(name) && (allowedTools === undefined || allowedTools.includes(name));
  let isPlain = Object.keys(request.toolsDict).length === 0;
  let plain: BaseTool[] = [];
  const flush = (): void => {
    if (!isPlain) for (const tool of plain) assertFree(agent, request, tool, groups);
    if (plain.length > 0) appendTools(request, plain);
    plain = [];
  };
  for (const group of groups) {
    const { toolset } = group;
    if (toolset !== undefined && toolset.processLlmRequest !== BaseToolset.prototype.processLlmRequest) {
      flush();
      isPlain = false;
      await processedByToolset(agent, group, new Context(init), request);
    }
    for (const tool of group.tools) {
      if (!isOffered(tool)) continue;
      if (tool.processLlmRequest === BaseTool.prototype.processLlmRequest) {
        plain.push(tool);
        continue;
      }
      flush();
      isPlain = false;
      await processedBy(tool, request, () => processedByTool(agent, tool, new Context(init), request));
    }
  }
  flush();
  if (!isPlain) assertLasting(agent, request, namesOf(groups));
}

async function processedByToolset(
  agent: LlmAgent,
  { field, toolset }: ToolGroup,
  toolContext: Context,
  request: LlmRequest,
): Promise<void> {
  thawRequest(request);
  try {
    await toolset?.processLlmRequest(toolContext, request);
    assertWhole(request);
  } catch (cause) {
    throw new ToolsetFailed(
      `toolset ${toolset?.name} (${field} of agent "${agent.name}") failed: ${thrownMessage(cause)}`,
      { cause },
    );
  }
}

async function processedByTool(
  agent: LlmAgent,
  tool: BaseTool,
  toolContext: Context,
  llmRequest: LlmRequest,
): Promise<void> {
  thawRequest(llmRequest);
  try {
    await tool.processLlmRequest({ toolContext, llmRequest });
    assertWhole(llmRequest);
  } catch (error) {
    if (error instanceof DefinitionError) throw error;
    throw callbackThrew(agent.name, `processLlmRequest of the tool "${tool.name}"`, error);
  }
}

function assertFree(
  agent: LlmAgent,
  request: LlmRequest,
  tool: BaseTool,
  groups: readonly ToolGroup[],
): void {
  if (!Object.hasOwn(request.toolsDict, tool.name)) return;
  throw new DefinitionError({
    owner: `LlmAgent "${agent.name}"`,
    field: fieldOf(tool, groups),
    problem:
      `duplicate tool: "${tool.name}" was added to the request already, by a processor or by another tool's ` +
      'processLlmRequest; rename one of them',
  });
}

function fieldOf(tool: BaseTool, groups: readonly ToolGroup[]): string {
  return groups.find(({ tools }) => tools.includes(tool))?.field ?? 'tools';
}

/** Names of all tools that the agent has, offered or not. */
export function namesOf(groups: readonly ToolGroup[]): Set<string> {
  return new Set(groups.flatMap(({ tools }) => tools.map(({ name }) => name)));
}

/**
 * @param known names of the tools that any worker finds again.
 * @throws DefinitionError for another one.
 */
export function assertLasting(agent: LlmAgent, request: LlmRequest, known: ReadonlySet<string>): void {
  for (const name of Object.keys(request.toolsDict)) {
    if (known.has(name) || request.toolsDict[name] === transferToAgentTool) continue;
    throw new DefinitionError({
      owner: `LlmAgent "${agent.name}"`,
      problem:
        `the request offers the tool "${name}", which a processor, a callback or a tool has added to it: another worker ` +
        'could not make it again; put it into tools, or register a factory on the app (durable.toolFactories) and call ' +
        'request.tools.add',
    });
  }
}
