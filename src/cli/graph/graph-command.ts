import { type CommandOutput, processOutput } from '../command-output.ts';
import { loadAgents } from '../load-agents.ts';
import { agentGraph } from './agent-graph.ts';
import { mermaid } from './mermaid.ts';

export interface GraphOptions {
  json?: boolean;
  direction?: 'LR' | 'TB';
}

/** `holdfast graph`: what an agents file holds, as a drawing or as JSON. Runs nothing but the file itself. */
export async function graphCommand(
  file: string,
  options: GraphOptions,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const graph = agentGraph(await loadAgents(file));
  if (options.json) output.json(graph);
  else output.line(mermaid(graph, options.direction).trimEnd());
}
