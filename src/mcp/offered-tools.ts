import { type BaseAgent, isBaseAgent, notARoot, whatItIs } from '../agents/base-agent.ts';
import { isToolAgent, type LlmAgentView } from '../agents/llm-agent-view.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { isBaseTool } from '../tools/base-tool.ts';

/** The tool that waits for a turn which had not ended when its call was answered. */
export const AWAIT_TURN = 'await_turn';

/** A tool of the MCP server: an agent, or a tool of a `ToolAgent`. */
export interface OfferedTool {
  /** Fields: `Tool` of MCP 2026-07-28. */
  definition: {
    name: string;
    description: string;
    inputSchema: { [key: string]: unknown; type: 'object' };
    annotations?: { readOnlyHint: boolean };
  };
  /** The agent that answers. */
  agent: string;
  /** Its tool, of a `ToolAgent`. */
  tool?: string;
}

/**
 * The tools that an MCP server offers for these agents: each tool of a `ToolAgent`, and each other agent as one tool.
 *
 * @throws DefinitionError for a value that is no agent, a toolset of a `ToolAgent`, and two tools of one name.
 */
export function offeredTools(owner: string, field: string, agents: readonly unknown[]): OfferedTool[] {
  const fail = (index: number, problem: string): never => {
    throw new DefinitionError({ owner, field: `${field}[${index}]`, problem });
  };
  const offered = agents.flatMap((agent, index) => {
    if (!isBaseAgent(agent)) return fail(index, whatItIs(agent));
    const problem = notARoot(agent);
    if (problem !== undefined) return fail(index, problem);
    return isToolAgent(agent) ? toolsOf(agent, (text) => fail(index, text)) : [agentTool(agent)];
  });
  const names = new Set([AWAIT_TURN]);
  for (const { definition, agent } of offered) {
    const { name } = definition;
    if (names.has(name)) {
      fail(
        agents.findLastIndex((each) => isBaseAgent(each) && each.name === agent),
        `two tools would be named ${JSON.stringify(name)}: give the agent or the tool another name`,
      );
    }
    names.add(name);
  }
  return offered;
}

function agentTool({ name, description }: BaseAgent): OfferedTool {
  return {
    definition: {
      name,
      description: description === '' ? `Asks the agent ${name}.` : description,
      inputSchema: {
        type: 'object',
        properties: {
          message: { type: 'string', minLength: 1, description: 'The message to the agent.' },
          session: {
            type: 'string',
            description:
              'The session to go on with, as an earlier answer has named it. A new one by default.',
          },
        },
        required: ['message'],
        additionalProperties: false,
      },
    },
    agent: name,
  };
}

function toolsOf({ name: agent, tools }: LlmAgentView, fail: (problem: string) => never): OfferedTool[] {
  return tools.map((tool) => {
    if (!isBaseTool(tool)) {
      return fail(`${agent} has a toolset, whose tools nobody knows before a turn: give it single tools`);
    }
    const { name, description, inputSchema } = tool.describe();
    return {
      definition: {
        name,
        description,
        inputSchema: { properties: {}, ...inputSchema, type: 'object' },
        annotations: { readOnlyHint: tool.isReadOnly },
      },
      agent,
      tool: name,
    };
  });
}

/** The definition of {@link AWAIT_TURN}. */
export const AWAIT_TURN_TOOL: OfferedTool['definition'] = {
  name: AWAIT_TURN,
  description:
    'Waits for the answer of a turn that was still under way, or waited for a person, when its tool answered.',
  inputSchema: {
    type: 'object',
    properties: { turn: { type: 'string', description: 'The turn, as the earlier answer has named it.' } },
    required: ['turn'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};
