import { isRecord } from '../../src/protocol/json.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { MCPTool } from '../../src/tools/mcp/mcp-tool.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { callOf, contextWith } from '../definitions/tool-context.ts';

/**
 * The client of `@modelcontextprotocol/conformance`: calls what its scenario names, else each tool once with arguments that fit. A question is
 * answered as by a person: the call begins anew, and has its recorded rounds.
 */
const { toolCalls } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
};
const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: process.argv.at(-1) ?? '' });
try {
  const tools = (await toolset.getTools()).filter((tool) => tool instanceof MCPTool);
  const named = new Set(toolCalls?.map(({ name }) => name));
  const others = tools.filter(({ originalName }) => !named.has(originalName));
  const calls = [
    ...(toolCalls ?? []),
    ...others.map((tool) => ({ name: tool.originalName, arguments: argumentsOf(tool, tools) })),
  ];
  for (const { name, arguments: args } of calls) {
    const tool = tools.find(({ originalName }) => originalName === name);
    // A refusal of the scenario's server is an outcome, too.
    await (tool && answered(tool, args).catch((error: unknown) => console.error(String(error))));
  }
} finally {
  await toolset.close();
}

async function answered(tool: MCPTool, args: Record<string, unknown>): Promise<unknown> {
  const rounds = new Map<string, unknown>();
  const inputs: unknown[] = [];
  const once = {
    get: async (key: string) => rounds.get(key),
    put: async (key: string, value: unknown) => {
      rounds.set(key, value);
      return value;
    },
  };
  for (;;) {
    const questions = new CallQuestions({
      inputs,
      hold: async ({ question }) => ({ status: 'answered', response: valueFor(question.responseSchema) }),
    });
    const toolContext = contextWith({ call: callOf({ once, questions }) });
    try {
      return await tool.runAsync({ args, toolContext });
    } catch (error) {
      const { asked } = questions;
      if (asked?.kind !== 'input') throw error;
      inputs.push(valueFor(asked.responseSchema));
    }
  }
}

/** The scenario of schemas wants to see what has become of another tool's. */
function argumentsOf({ rawMcpTool: { name, inputSchema } }: MCPTool, tools: readonly MCPTool[]) {
  const { properties } = inputSchema as { properties?: object };
  const other = tools.find(({ originalName }) => originalName !== name);
  if (properties !== undefined && 'schema' in properties) return { schema: other?.rawMcpTool.inputSchema };
  const args = valueFor(inputSchema);
  return isRecord(args) ? args : {};
}

function valueFor(schema: unknown): unknown {
  if (!isRecord(schema)) return 'x';
  const { type, properties, required = [], enum: values } = schema;
  if (Array.isArray(values)) return values[0];
  if (type === 'number' || type === 'integer') return 2;
  if (type === 'boolean') return true;
  if (type === 'array') return [];
  if (type !== 'object') return 'x';
  const fields = isRecord(properties) ? properties : {};
  const wanted = Object.entries(fields).filter(
    ([name]) => Array.isArray(required) && required.includes(name),
  );
  return Object.fromEntries(wanted.map(([name, field]) => [name, valueFor(field)]));
}
