import type { Content, FunctionDeclaration } from '../../events/content.ts';
import type { MemoryEntry } from '../../memory/base-memory-service.ts';
import { MemoryError } from '../../memory/memory-errors.ts';
import { appendInstructions } from '../../models/llm-request.ts';
import { BaseTool, type RunAsyncToolRequest, type ToolProcessLlmRequest } from '../base-tool.ts';
import type { Context } from '../context.ts';
import { InvocationContext } from '../invocation-context.ts';
import { ToolError } from '../tool-error.ts';
import { plannedOnly } from '../tool-gate.ts';

/**
 * `load_memory`: the model searches the memories of the user. Semantics: `LoadMemoryTool` of `@google/adk` 2.0.0.
 *
 * @example new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [LOAD_MEMORY] })
 */
export class LoadMemoryTool extends BaseTool {
  constructor() {
    super({
      name: 'load_memory',
      description:
        'Loads the memory for the current user.\n\nNOTE: Currently this tool only uses text part from the memory.',
    });
    plannedOnly(this);
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: {
        type: 'object',
        properties: { query: { type: 'string', description: 'The query to load the memory for.' } },
        required: ['query'],
      },
    };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const { memories } = await toolContext.searchMemory(args.query as string);
    return {
      memories: memories.map(({ content, author, timestamp }) => ({
        content: joinedText(content),
        author,
        timestamp,
      })),
    };
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest({ toolContext, llmRequest });
    if (!hasMemory(toolContext)) return;
    appendInstructions(llmRequest, [
      `You have memory. You can use it to answer questions. If any questions need
you to look up the memory, you should call load_memory function with a query.`,
    ]);
  }
}

/** The {@link LoadMemoryTool}. */
export const LOAD_MEMORY = new LoadMemoryTool();

/** A memory can't close the block that it stands in. */
const BLOCK = /<(?=\/?PAST_CONVERSATIONS)/gi;

/**
 * Searches the memories of the user for the message, and adds them to the instructions of each request. The model doesn't see the tool.
 * Semantics: `PreloadMemoryTool` of `@google/adk` 2.0.0.
 *
 * @example new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [PRELOAD_MEMORY] })
 */
export class PreloadMemoryTool extends BaseTool {
  constructor() {
    super({ name: 'preload_memory', description: 'preload_memory' });
  }

  override async runAsync(): Promise<unknown> {
    throw new ToolError('PreloadMemoryTool should not be called by model', { retryable: false });
  }

  override async processLlmRequest({ toolContext, llmRequest }: ToolProcessLlmRequest): Promise<void> {
    const query = toolContext.userContent?.parts?.[0]?.text;
    if (!query || !hasMemory(toolContext)) return;
    const lines = (await found(toolContext, query)).flatMap(linesOf);
    if (lines.length === 0) return;
    appendInstructions(llmRequest, [
      `The following content is from your previous conversations with the user.
They may be useful for answering the user's current query.
<PAST_CONVERSATIONS>
${lines.join('\n').replace(BLOCK, '‹')}
</PAST_CONVERSATIONS>
`,
    ]);
  }
}

/** The {@link PreloadMemoryTool}. */
export const PRELOAD_MEMORY = new PreloadMemoryTool();

function hasMemory({ invocationContext }: Context): boolean {
  return InvocationContext.initOf(invocationContext).memory !== undefined;
}

/** A memory service that fails leaves the turn without memories; a store that fails is asked again. */
async function found(context: Context, query: string): Promise<MemoryEntry[]> {
  try {
    return (await context.searchMemory(query)).memories;
  } catch (error) {
    if (error instanceof MemoryError) return [];
    throw error;
  }
}

function linesOf({ content, author, timestamp }: MemoryEntry): string[] {
  const text = joinedText(content);
  const said = author ? `${author}: ${text}` : text;
  return [...(timestamp ? [`Time: ${timestamp}`] : []), ...(text === '' ? [] : [said])];
}

function joinedText({ parts = [] }: Content): string {
  return parts.map(({ text = '' }) => text).join(' ');
}
