import { calledAgent } from '../../agents/agent-tool.ts';
import type { BaseAgent } from '../../agents/base-agent.ts';
import { isLlmAgent } from '../../agents/llm-agent.ts';
import { nearestWithModel } from '../../agents/llm-agent-view.ts';
import { isLoopAgent, isParallelAgent } from '../../agents/workflow-agents.ts';
import { isGemini } from '../../models/gemini.ts';
import { formatDuration } from '../../schema/duration.ts';
import { agentOfTool, type BaseTool } from '../../tools/base-tool.ts';
import { isBaseToolset, type ToolUnion } from '../../tools/base-toolset.ts';
import { isFunctionTool } from '../../tools/function-tool.ts';
import type { AgentsFile } from '../load-agents.ts';
import { attemptsText, gateOptions, toolOptions } from './tool-options.ts';

/** Agents and tools of a file, and their edges: plain JSON, `holdfast graph --json`. */
export interface AgentGraph {
  v: 1;
  app: string;
  /** Id of the agent that answers where nobody names one. */
  rootAgent?: string;
  agents: AgentNode[];
  tools: ToolNode[];
  edges: GraphEdge[];
}

export interface AgentNode {
  /** Unique in the graph. */
  id: string;
  name: string;
  /** Its class. */
  kind: string;
  description: string;
  model?: string;
  /** Options that differ from the defaults, in words. */
  options: string[];
}

export interface ToolNode {
  id: string;
  name: string;
  /** The tools of a toolset are known only at a request. */
  kind: 'function' | 'toolset' | 'agent' | 'other';
  description: string;
  options: string[];
}

export interface GraphEdge {
  from: string;
  to: string;
  /** `agent`: from a tool to the agent that its calls run. */
  kind: 'tool' | 'sub-agent' | 'agent';
}

/** The graph of what an agents file exports, and what hangs on it. A tool that agents share is one node. */
export function agentGraph({
  app,
  agents,
  rootAgent,
}: Pick<AgentsFile, 'app' | 'agents' | 'rootAgent'>): AgentGraph {
  const graph: AgentGraph = { v: 1, app, agents: [], tools: [], edges: [] };
  const ids = new Map<BaseAgent | ToolUnion, string>();

  function toolId(tool: ToolUnion): string {
    const known = ids.get(tool);
    if (known !== undefined) return known;
    const id = `tool${graph.tools.length + 1}`;
    ids.set(tool, id);
    graph.tools.push({ id, name: tool.name, ...aboutTool(tool) });
    const called = isBaseToolset(tool) ? undefined : calledAgent(tool);
    if (called !== undefined) graph.edges.push({ from: id, to: agentId(called), kind: 'agent' });
    return id;
  }

  function agentId(agent: BaseAgent): string {
    const known = ids.get(agent);
    if (known !== undefined) return known;
    const id = `agent${graph.agents.length + 1}`;
    ids.set(agent, id);
    graph.agents.push(agentNode(id, agent));
    if (isLlmAgent(agent)) {
      for (const tool of agent.tools) graph.edges.push({ from: id, to: toolId(tool), kind: 'tool' });
    }
    for (const subAgent of agent.subAgents) {
      graph.edges.push({ from: id, to: agentId(subAgent), kind: 'sub-agent' });
    }
    return id;
  }

  for (const agent of rootAgent === undefined ? agents : [rootAgent, ...agents]) agentId(agent);
  return rootAgent === undefined ? graph : { ...graph, rootAgent: agentId(rootAgent) };
}

function agentNode(id: string, agent: BaseAgent): AgentNode {
  const { name, description } = agent;
  const node = { id, name, kind: kindOfAgent(agent), description, options: [] };
  if (!isLlmAgent(agent)) return { ...node, options: workflowOptions(agent) };
  const { modelTimeout, modelRetry, maxParallelCalls, maxIterations, steps } = agent.durable;
  // The agent of a tool whose workers are elsewhere needs none here.
  const given = nearestWithModel(agent)?.model;
  const model = typeof given === 'object' ? modelName(given) : given;
  return {
    ...node,
    ...(model === undefined ? {} : { model }),
    options: [
      ...(modelTimeout === 600_000 ? [] : [`model ${formatDuration(modelTimeout)}`]),
      ...(modelRetry.maximumAttempts === 3 ? [] : [attemptsText(modelRetry.maximumAttempts)]),
      ...(maxParallelCalls === 32 ? [] : [`${maxParallelCalls} at a time`]),
      ...(maxIterations === undefined ? [] : [`at most ${maxIterations} model calls`]),
      ...(steps === 'chain' ? ['steps in a chain'] : []),
      ...(agent.durable.sensitive ? ['sensitive'] : []),
      ...(agent.codeExecutor === undefined ? [] : [`code: ${agent.codeExecutor.name}`]),
    ],
  };
}

function workflowOptions(agent: BaseAgent): string[] {
  if (isLoopAgent(agent)) {
    const { maxIterations } = agent;
    return [maxIterations === undefined ? 'until one escalates' : `at most ${maxIterations} times`];
  }
  if (!isParallelAgent(agent)) return [];
  return [
    ...(agent.maxParallel === 32 ? [] : [`${agent.maxParallel} at a time`]),
    ...(agent.continueOnError ? ['goes on after errors'] : []),
  ];
}

/** A subclass of a user's own says what it is by its name. */
function kindOfAgent(agent: BaseAgent): string {
  return agent.constructor?.name || (isLlmAgent(agent) ? 'LlmAgent' : 'BaseAgent');
}

function modelName(model: { model: string; constructor: { name: string } }): string {
  return isGemini(model) ? model.model : `${model.model} (${model.constructor.name})`;
}

function aboutTool(tool: ToolUnion): Pick<ToolNode, 'kind' | 'description' | 'options'> {
  if (isBaseToolset(tool)) {
    const { toolFilter } = tool;
    const isNamed = typeof toolFilter !== 'function' && toolFilter.length > 0;
    return { kind: 'toolset', description: '', options: isNamed ? [`only ${toolFilter.join(', ')}`] : [] };
  }
  if (agentOfTool(tool) !== undefined) {
    return { kind: 'agent', description: tool.description, options: agentToolOptions(tool) };
  }
  const kind = isFunctionTool(tool) ? 'function' : 'other';
  return { kind, description: tool.description, options: toolOptions(tool) };
}

function agentToolOptions(tool: BaseTool): string[] {
  const { timeout, attempts: runs = 1, taskQueue, skipSummarization } = agentOfTool(tool) ?? {};
  return [
    ...gateOptions(tool.gate),
    ...(timeout === undefined ? [] : [`timeout ${formatDuration(timeout)}`]),
    ...(runs === 1 ? [] : [attemptsText(runs)]),
    ...(taskQueue === undefined ? [] : [`on ${taskQueue}`]),
    ...(skipSummarization ? ['answers for its caller'] : []),
    ...(tool.isReadOnly ? ['reads only'] : []),
    ...(tool.durable.isConcurrencySafe ? [] : ['runs alone']),
  ];
}
