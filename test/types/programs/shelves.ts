import {
  type BaseAgent,
  BasePlugin,
  BaseTool,
  BaseToolset,
  type BeforeModelCallback,
  type Context,
  type Event,
  EXIT_LOOP,
  FunctionTool,
  GlobalInstructionPlugin,
  GOOGLE_SEARCH,
  type InvocationContext,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  LoggingPlugin,
  PluginManager,
  type ReadonlyContext,
  type RunAsyncToolRequest,
  type SingleAfterToolCallback,
  type SingleAgentCallback,
  type SingleBeforeToolCallback,
  type ToolPredicate,
  type ToolProcessLlmRequest,
} from '@google/adk';
import { type Content, type FunctionDeclaration, Type } from '@google/genai';
import { z } from 'zod/v3';

const bound = 3;

export class CountingPlugin extends BasePlugin {
  agents = 0;
  requests = 0;

  constructor() {
    super('counting');
  }
  override async onUserMessageCallback(params: {
    invocationContext: InvocationContext;
    userMessage: Content;
  }): Promise<Content | undefined> {
    const { session, userId } = params.invocationContext;
    const text = params.userMessage.parts?.map((part) => part.text ?? '').join('') ?? '';
    if (session.events.length > 0 || session.state.quiet) return undefined;
    return { role: 'user', parts: [{ text: `${userId}: ${text.trim()}` }] };
  }
  override async beforeAgentCallback(params: {
    agent: BaseAgent;
    callbackContext: Context;
  }): Promise<Content | undefined> {
    this.agents += params.agent.subAgents.length + 1;
    params.callbackContext.state.set('agents', this.agents);
    return undefined;
  }
  override async beforeModelCallback(params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<LlmResponse | undefined> {
    const { llmRequest } = params;
    this.requests++;
    llmRequest.config ??= {};
    llmRequest.config.temperature = 0;
    llmRequest.contents.push({ role: 'user', parts: [{ text: Object.keys(llmRequest.toolsDict).join() }] });
    if (this.requests <= bound) return undefined;
    return { content: { role: 'model', parts: [{ text: 'Enough.' }] }, turnComplete: true };
  }
  override async beforeToolSelection(params: {
    callbackContext: Context;
    tools: Readonly<Record<string, BaseTool>>;
  }): Promise<Readonly<Record<string, BaseTool>> | undefined> {
    return Object.fromEntries(Object.entries(params.tools).filter(([name]) => !name.startsWith('remove')));
  }
  override async onToolErrorCallback(params: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
    error: Error;
  }): Promise<Record<string, unknown> | undefined> {
    params.toolContext.actions.skipSummarization = true;
    return { tool: params.tool.name, call: params.toolContext.functionCallId, error: params.error.message };
  }
  override async onEventCallback(params: {
    invocationContext: InvocationContext;
    event: Event;
  }): Promise<Event | undefined> {
    const { event } = params;
    event.customMetadata = { ...event.customMetadata, agents: this.agents };
    return { ...event, actions: { ...event.actions, escalate: false } };
  }
}

export class ShelfTool extends BaseTool {
  readonly shelf: string;

  constructor(shelf: string) {
    super({ name: `shelf_${shelf}`, description: `Looks at shelf ${shelf}.` });
    this.shelf = shelf;
  }
  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: { row: { type: Type.NUMBER } } },
    };
  }
  override async runAsync(request: RunAsyncToolRequest): Promise<unknown> {
    const { memories } = await request.toolContext.searchMemory(this.shelf);
    return { row: request.args.row, remembered: memories.length };
  }
  override async processLlmRequest(request: ToolProcessLlmRequest): Promise<void> {
    await super.processLlmRequest(request);
    request.llmRequest.config ??= {};
    request.llmRequest.config.systemInstruction = `There is a shelf ${this.shelf}.`;
  }
}

export class Shelves extends BaseToolset {
  private readonly tools: BaseTool[];

  constructor(filter: ToolPredicate | string[] = []) {
    super(filter, 'shelf');
    this.tools = ['a', 'b'].map((shelf) => new ShelfTool(shelf));
  }
  override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
    if (context === undefined) return this.tools;
    if (context.state.get<boolean>('closed')) return [];
    return this.tools.filter((tool) => this.isToolSelected(tool, context));
  }
  isOffered(tool: BaseTool, context: ReadonlyContext): boolean {
    if (Array.isArray(this.toolFilter)) return this.toolFilter.includes(tool.name);
    return this.toolFilter(tool, context);
  }
  override async close(): Promise<void> {}
}

const guard: SingleBeforeToolCallback = ({ tool, args, context }) => {
  if (tool.name !== 'pay' || Number(args.cents) < 100) return undefined;
  context.state.set('refused', true);
  return { error: 'too much' };
};
const marked: SingleAfterToolCallback = async ({ response }) => ({ ...response, marked: true });
const cooled: BeforeModelCallback = [
  ({ request }) => {
    request.config = { ...request.config, temperature: 0 };
    return undefined;
  },
  async () => undefined,
];
const greet: SingleAgentCallback = (context) => {
  context.state.set('greeted', context.agentName);
  return undefined;
};

export const rootAgent = new LlmAgent({
  name: 'librarian',
  model: 'gemini-2.5-flash',
  instruction: async (context: ReadonlyContext) => `You help ${context.userId}.`,
  tools: [
    new Shelves((tool, context) => tool.name !== context.agentName),
    new FunctionTool({
      name: 'pay',
      description: 'Pays a fee.',
      parameters: z.object({ cents: z.number() }),
      execute: ({ cents }, toolContext) => ({ paid: cents, call: toolContext?.functionCallId }),
    }),
    EXIT_LOOP,
    GOOGLE_SEARCH,
  ],
  beforeAgentCallback: [greet],
  beforeModelCallback: cooled,
  beforeToolCallback: guard,
  afterToolCallback: [marked],
});

export const plugins = new PluginManager([
  new CountingPlugin(),
  new LoggingPlugin(),
  new GlobalInstructionPlugin(),
  new GlobalInstructionPlugin(async (context: ReadonlyContext) => `You are ${context.agentName}.`, 'names'),
]);
