import { processOutput } from '../command-output.ts';
import { loadAgents } from '../load-agents.ts';
import { type AgentGraph, type AgentNode, agentGraph, type ToolNode } from './agent-graph.ts';

const LONGEST_DESCRIPTION = 60;

const ARROWS = { tool: '-->', 'sub-agent': '==>', agent: '-.->' } as const;

/** Characters of a label without escape: letters and digits of all scripts, blanks, and signs without a meaning in Mermaid. */
const PLAIN = /[\p{L}\p{M}\p{N} _.,·…/+-]/u;

export interface GraphOptions {
  json?: boolean;
  direction?: 'LR' | 'TB';
}

/** `holdfast graph`: what an agents file holds, as a drawing or as JSON. Runs nothing but the file itself. */
export async function graphCommand(
  file: string,
  options: GraphOptions,
  output = processOutput(),
): Promise<void> {
  const graph = agentGraph(await loadAgents(file));
  if (options.json) output.json(graph);
  else output.line(mermaid(graph, options.direction).trimEnd());
}

/**
 * A Mermaid flowchart: agents are rounded, other kinds of agents hexagons; tools are boxes, those that aren't functions have
 * double sides, toolsets slanted ones. Tools that are not idempotent have a colour of their own.
 */
export function mermaid(graph: AgentGraph, direction: 'LR' | 'TB' = 'LR'): string {
  const careful = graph.tools.filter(({ options }) => options.includes('not idempotent'));
  return [
    `flowchart ${direction}`,
    ...graph.agents.map((agent) => `  ${agent.id}${agentShape(agent)}`),
    ...graph.tools.map((tool) => `  ${tool.id}${toolShape(tool)}`),
    ...graph.edges.map(({ from, to, kind }) => `  ${from} ${ARROWS[kind]} ${to}`),
    ...(graph.rootAgent === undefined
      ? []
      : ['  classDef root stroke-width:3px', `  class ${graph.rootAgent} root`]),
    ...(careful.length === 0
      ? []
      : ['  classDef careful stroke:#d33', `  class ${careful.map(({ id }) => id).join(',')} careful`]),
    '',
  ].join('\n');
}

function agentShape(agent: AgentNode): string {
  const label = labelOf([
    agent.name,
    agent.model ?? agent.kind,
    cut(agent.description),
    agent.options.join(' · '),
  ]);
  return agent.model === undefined ? `{{"${label}"}}` : `(["${label}"])`;
}

function toolShape(tool: ToolNode): string {
  const label = labelOf([tool.name, cut(tool.description), tool.options.join(' · ')]);
  if (tool.kind === 'toolset') return `[/"${label}"/]`;
  return tool.kind === 'function' ? `["${label}"]` : `[["${label}"]]`;
}

function labelOf(lines: readonly string[]): string {
  return lines
    .map((line) => escaped(line.toWellFormed().replace(/\s+/g, ' ').trim()))
    .filter((line) => line !== '')
    .join('<br/>');
}

/** Mermaid's own form of an entity: no `&`, which HTML would read first. */
function escaped(line: string): string {
  return Array.from(line, (sign) => (PLAIN.test(sign) ? sign : `#${sign.codePointAt(0)};`)).join('');
}

function cut(text: string): string {
  const signs = Array.from(text.trim());
  return signs.length <= LONGEST_DESCRIPTION
    ? signs.join('')
    : `${signs
        .slice(0, LONGEST_DESCRIPTION - 1)
        .join('')
        .trimEnd()}…`;
}
