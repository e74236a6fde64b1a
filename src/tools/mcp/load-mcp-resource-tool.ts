import type { Content, FunctionDeclaration, Part } from '../../events/content.ts';
import { getLogger } from '../../logger.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { defined, isRecord } from '../../protocol/json.ts';
import { thrownMessage } from '../../schema/thrown-message.ts';
import { BaseTool, type RunAsyncToolRequest, type ToolProcessLlmRequest } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { mediaOf } from '../media.ts';
import type { McpResourceContents } from './mcp-connection.ts';
import type { MCPToolset } from './mcp-toolset.ts';

const NAME = 'load_mcp_resource';
/** Text of `@google/adk` 2.0.0. */
const LOADED =
  'resource contents temporarily inserted and removed. to access these resources, call load_mcp_resource tool again.';
/** Resources that a request names, and that one call loads. */
const MOST_NAMED = 200;
const MOST_LOADED = 32;
/** Characters of a text that a request gets. */
const LONGEST_TEXT = 256 * 1024;

/**
 * `load_mcp_resource`: the model names resources of an MCP server, and the next request has their contents. They are no part of the
 * transcript. Semantics: `LoadMcpResourceTool` of `@google/adk` 2.0.0; resources are named by their URIs as well, and all calls of a step are
 * answered.
 *
 * @example const agent = new LlmAgent({ name: 'analyst', model: 'gemini-2.5-flash', tools: [docs, new LoadMcpResourceTool(docs)] });
 */
export class LoadMcpResourceTool extends BaseTool {
  readonly #toolset: MCPToolset;

  constructor(mcpToolset: MCPToolset) {
    super({
      name: NAME,
      description: 'Loads resources from the MCP server.\n\nNOTE: Call when you need access to resources.',
    });
    this.#toolset = mcpToolset;
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: {
        type: 'object',
        properties: {
          resource_names: {
            type: 'array',
            items: { type: 'string' },
            description: 'The names or URIs of the MCP resources to load.',
          },
        },
      },
    };
  }

  override async runAsync({ args }: RunAsyncToolRequest): Promise<unknown> {
    return { resource_names: namesIn(args.resource_names), status: LOADED };
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest({ toolContext, llmRequest });
    const listed = await this.#listed(toolContext);
    if (listed.length > 0) {
      appendInstructions(llmRequest, [
        `You have a list of MCP resources:
${JSON.stringify(listed)}

When the user asks questions about any of the resources, you should call the
\`load_mcp_resource\` function to load the resource. Always call load_mcp_resource
before answering questions related to the resources.`,
      ]);
    }
    for (const name of askedIn(llmRequest.contents.at(-1))) {
      const parts = await this.#read(name, toolContext);
      llmRequest.contents.push({ role: 'user', parts: [{ text: `Resource ${name} is:` }, ...parts] });
    }
  }

  /** A server that is away leaves the request without its resources. */
  async #listed(context: Context): Promise<object[]> {
    try {
      const resources = await this.#toolset.listResources(context);
      return resources
        .slice(0, MOST_NAMED)
        .map(({ name, uri, mimeType }) => ({ name, uri, ...defined({ mimeType }) }));
    } catch (error) {
      getLogger().warn(`resources of ${this.#toolset.name} can't be listed: ${thrownMessage(error)}`);
      return [];
    }
  }

  async #read(name: string, context: Context): Promise<Part[]> {
    try {
      const contents = await this.#toolset.readResource(name, context);
      return contents.flatMap(partsOf);
    } catch (error) {
      return [{ text: `It can't be read: ${thrownMessage(error)}` }];
    }
  }
}

function partsOf(content: McpResourceContents): Part[] {
  if ('text' in content) return [{ text: content.text.slice(0, LONGEST_TEXT).toWellFormed() }];
  const { parts = [] } = mediaOf(new Uint8Array(Buffer.from(content.blob, 'base64'))) ?? {};
  if (parts.length > 0) return parts;
  return [
    { text: `[Bytes of type ${content.mimeType ?? 'application/octet-stream'}, which can't be read here]` },
  ];
}

/** Names that the model has asked for in the step before: contents are loaded for one request. */
function askedIn(last: Content | undefined): string[] {
  if (last?.role !== 'user') return [];
  const names = (last.parts ?? []).flatMap(({ functionResponse }) =>
    functionResponse?.name === NAME && isRecord(functionResponse.response)
      ? namesIn(functionResponse.response.resource_names)
      : [],
  );
  return [...new Set(names)].slice(0, MOST_LOADED);
}

function namesIn(given: unknown): string[] {
  const names = Array.isArray(given) ? given : [];
  return names.filter((name): name is string => typeof name === 'string').slice(0, MOST_LOADED);
}
