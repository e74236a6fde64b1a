import type {
  BaseTool,
  InvocationContext,
  LlmRequest,
  LlmResponse,
  ReadonlyContext,
  ToolPredicate,
} from '../../../src/index.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { endedBy, KEPT, MERGED, replaced } from '../differences.ts';
import type { Library, Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

/** A toolset of three tools. */
const numbersOf = (library: Library, filter: string[] | ToolPredicate = [], prefix?: string) => {
  class Numbers extends library.BaseToolset {
    override async getTools(context?: ReadonlyContext): Promise<BaseTool[]> {
      const tools = ['one', 'two', 'three'].map((tool) =>
        toolOf(library, this.prefix ? `${this.prefix}_${tool}` : tool, () => tool),
      );
      return context === undefined ? tools : tools.filter((tool) => this.isToolSelected(tool, context));
    }
    override async close() {}
  }
  return new Numbers(filter, prefix);
};

/** A processor of requests. */
const processorOf = (
  library: Library,
  run: (context: InvocationContext, request: LlmRequest) => void,
  event?: (library: Library, context: InvocationContext) => ReturnType<Library['createEvent']>,
) => {
  class Processor extends library.BaseLlmRequestProcessor {
    override async *runAsync(context: InvocationContext, request: LlmRequest) {
      run(context, request);
      if (event !== undefined) yield event(library, context);
    }
  }
  return new Processor();
};

/** Those of an agent that has none of its own. */
const defaultsOf = (library: Library) =>
  library.DEFAULT_REQUEST_PROCESSORS ?? new library.LlmAgent({ name: 'any', ...alone }).requestProcessors;

function instruct(request: LlmRequest, words: string): void {
  request.config = { ...request.config, systemInstruction: `${request.config?.systemInstruction} ${words}` };
}

const alone = { disallowTransferToParent: true, disallowTransferToPeers: true };

/** Processors, toolsets, and tools that only process the request. */
export const REQUESTS: readonly Scenario[] = [
  {
    name: 'tools of a toolset and of the provider',
    script: [[calls(['one'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          numbersOf(library, ['one', 'three']),
          library.GOOGLE_SEARCH,
          toolOf(library, 'four', () => 4),
        ],
      }),
    }),
    turns: ['count'],
  },
  {
    name: 'a toolset with a predicate',
    script: [[calls(['two'])], [text('done')]],
    state: { allowed: ['two'] },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          numbersOf(library, (tool, context) => {
            const allowed = context.state.get('allowed') as string[];
            note(tool.name, context.agentName === name, allowed);
            return allowed.includes(tool.name);
          }),
        ],
      }),
    }),
    turns: ['count'],
    differs: {
      because:
        'A toolset is asked once for each request, and for each call of its tools; ADK asks it twice for each request.',
      adk: (came) => ({ ...came, notes: came.notes.slice(0, 9) }),
    },
  },
  {
    name: 'a toolset with a prefix',
    script: [[calls(['math_one'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [numbersOf(library, [], 'math'), numbersOf(library, ['two'])],
      }),
    }),
    turns: ['count'],
  },
  {
    name: 'a toolset that processes the request',
    script: [[text('done')]],
    build: (library, model, name) => {
      class Silent extends library.BaseToolset {
        override async getTools(): Promise<BaseTool[]> {
          return [];
        }
        override async close() {}
      }
      return { agent: agentOf(library, name, model, { tools: [new Silent([])] }) };
    },
    turns: ['count'],
  },
  {
    name: 'a toolset that throws',
    script: [],
    build: (library, model, name) => {
      class Broken extends library.BaseToolset {
        override async getTools(): Promise<BaseTool[]> {
          throw new Error('no connection');
        }
        override async close() {}
      }
      return { agent: agentOf(library, name, model, { tools: [new Broken([])] }) };
    },
    turns: ['count'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^no connection$/, {
          author: 'a_toolset_that_throws',
          errorCode: 'HOLDFAST_TOOLSET_FAILED',
          errorMessage: 'toolset Broken (tools[0] of agent "a_toolset_that_throws") failed: no connection',
          actions: {},
        }),
    },
  },
  {
    name: 'a tool that only processes the request',
    script: [[text('ok')], [text('ok')]],
    build: (library, model, name) => {
      class Clock extends library.BaseTool {
        override async processLlmRequest({
          llmRequest,
          toolContext,
        }: Parameters<BaseTool['processLlmRequest']>[0]) {
          const n = Number(toolContext.state.get('asked') ?? 0) + 1;
          toolContext.state.set('asked', n);
          instruct(llmRequest, `Asked ${n} times.`);
          llmRequest.contents.push({ role: 'user', parts: [{ text: 'It is noon.' }] });
        }
        override async runAsync() {
          return 'never';
        }
      }
      return {
        agent: agentOf(library, name, model, {
          tools: [new Clock({ name: 'clock', description: 'Knows the time.' }), weatherOf(library)],
        }),
      };
    },
    turns: ['Hi', 'again'],
  },
  {
    name: 'a tool without a declaration',
    script: [[text('ok')]],
    build: (library, model, name) => {
      class Silent extends library.BaseTool {
        override async runAsync() {
          return 'never';
        }
      }
      return {
        agent: agentOf(library, name, model, { tools: [new Silent({ name: 'silent', description: '' })] }),
      };
    },
    turns: ['Hi'],
  },
  {
    name: 'tools of the provider alone',
    script: [[text('ok', { groundingMetadata: { webSearchQueries: ['x'] } })]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [library.GOOGLE_SEARCH, library.URL_CONTEXT, library.ENTERPRISE_WEB_SEARCH],
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a code executor of the provider',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { codeExecutor: new library.BuiltInCodeExecutor() }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'processors of its own',
    script: [[text('ok')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        ...alone,
        requestProcessors: [
          processorOf(library, (context, request) => {
            note(
              context.agent?.name === name,
              context.userContent,
              request.contents,
              Object.keys(request.toolsDict),
            );
            request.model = 'gemini-2.5-pro';
            request.config = { ...request.config, systemInstruction: 'Be polite.' };
          }),
          library.CONTENT_REQUEST_PROCESSOR,
          processorOf(library, (_context, request) => {
            instruct(request, 'And kind.');
            request.contents.unshift({ role: 'user', parts: [{ text: 'first' }] });
          }),
        ],
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a processor that says something',
    script: [[text('ok')], [text('again')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        ...alone,
        requestProcessors: [
          ...defaultsOf(library),
          processorOf(
            library,
            () => undefined,
            ({ createEvent }, { invocationId }) =>
              createEvent({
                invocationId,
                author: name,
                content: { role: 'model', parts: [{ text: 'thinking' }] },
                actions: { stateDelta: { processed: true } },
              }),
          ),
        ],
      }),
    }),
    turns: ['Hi', 'again'],
    differs: MERGED,
  },
  {
    name: 'a processor that ends the invocation',
    script: [[text('ok')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        ...alone,
        beforeModelCallback: () => void note('never'),
        afterAgentCallback: () => ({ role: 'model', parts: [{ text: 'never' }] }),
        requestProcessors: [
          ...defaultsOf(library),
          processorOf(
            library,
            (context) => {
              context.endInvocation = true;
            },
            ({ createEvent }, { invocationId }) =>
              createEvent({
                invocationId,
                author: name,
                content: { role: 'model', parts: [{ text: 'over' }] },
              }),
          ),
        ],
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a processor that throws',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        ...alone,
        requestProcessors: [
          processorOf(library, () => {
            throw new Error('no index');
          }),
        ],
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^no index$/, {
          author: 'a_processor_that_throws',
          errorCode: 'HOLDFAST_CALLBACK_FAILED',
          errorMessage: 'request processor Processor of agent "a_processor_that_throws" failed: no index',
          actions: {},
        }),
    },
  },
  {
    name: 'a processor of responses',
    script: [[askWeather()], [text('secret 1234')]],
    build: (library, model, name, note) => {
      class Masking extends library.BaseLlmResponseProcessor {
        override async *runAsync(context: InvocationContext, response: LlmResponse) {
          note(context.agent?.name === name, response);
          const [first] = response.content?.parts ?? [];
          if (!first?.text) return;
          first.text = first.text.replace(/\d/g, '*');
          yield library.createEvent({
            invocationId: context.invocationId,
            author: name,
            content: { role: 'model', parts: [{ text: 'masked' }] },
            actions: library.createEventActions({ stateDelta: { masked: true } }),
          });
        }
      }
      return {
        agent: agentOf(library, name, model, {
          tools: [weatherOf(library)],
          outputKey: 'said',
          afterModelCallback: ({ response }) => {
            response.customMetadata = { seen: true };
            return undefined;
          },
          responseProcessors: [new Masking()],
        }),
      };
    },
    turns: ['weather?'],
    differs: {
      because: 'The output is the model’s text; ADK takes text of processors, too.',
      adk: (came) => replaced(came, '{"masked":true,"said":"masked"}', '{"masked":true}'),
    },
  },
  {
    name: 'tools of one name',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [numbersOf(library, ['one']), numbersOf(library, ['one'])],
      }),
    }),
    turns: ['count'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^Duplicate tool name: one$/, {
          author: 'tools_of_one_name',
          errorCode: 'HOLDFAST_DEFINITION',
          errorMessage:
            'LlmAgent "tools_of_one_name": tools[1]: duplicate tool: "one" is in tools[0] (toolset Numbers) and in ' +
            'tools[1] (toolset Numbers); rename one of them',
          actions: {},
        }),
    },
  },
];
