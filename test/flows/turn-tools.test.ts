import { describe, expect, test } from 'vitest';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { BaseLlmRequestProcessor } from '../../src/agents/processors/base-llm-processor.ts';
import { DEFAULT_REQUEST_PROCESSORS } from '../../src/agents/processors/request-processors.ts';
import { BaseCodeExecutor } from '../../src/code-executors/base-code-executor.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { findTool } from '../../src/flows/resolve-tools.ts';
import type { ToolEdit } from '../../src/protocol/run-terms.ts';
import type { BaseTool, LlmRequest, TurnTools } from '../../src/tools/base-tool.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { GOOGLE_SEARCH, URL_CONTEXT } from '../../src/tools/built-in/gemini-tools.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { type Scene, siteOf } from './request-scene.ts';

const named = (name: string, description = '') => tool({ name, description, execute: () => 1 });
const agentOf = (config: Partial<LlmAgentConfig>) =>
  new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', ...config });
const namesIn = ({ toolsDict }: LlmRequest) => Object.keys(toolsDict);

class Shelves extends BaseToolset {
  readonly #tools: (context?: ReadonlyContext) => unknown;
  asked = 0;

  constructor(tools: (context?: ReadonlyContext) => unknown) {
    super();
    this.#tools = tools;
  }
  override async getTools(context?: ReadonlyContext) {
    this.asked += 1;
    return this.#tools(context) as BaseTool[];
  }
  override async close() {}
}

const factories = {
  query: ({ id }: Record<string, unknown>) => named(`query_${id}`),
  loud: () => named('b', 'loud'),
};

describe('toolsets', () => {
  test('are asked for their tools at every request, which may depend on the state [toolset.resolve]', async () => {
    const shelves = new Shelves((context) => [named(`shelf_${context?.state.get('row')}`)]);
    const agent = agentOf({ tools: [named('a'), shelves, named('b')] });
    for (const row of [1, 2]) {
      const { request } = await buildRequest(siteOf(agent, { state: { row } }));
      expect(namesIn(request)).toEqual(['a', `shelf_${row}`, 'b']);
    }
    expect(shelves.asked).toBe(2);
  });

  test('process the request before their tools do [toolset.resolve]', async () => {
    class Marking extends Shelves {
      override async processLlmRequest(context: Context, request: LlmRequest) {
        request.metadata = { before: namesIn(request), user: context.userId };
      }
    }
    const agent = agentOf({ tools: [named('a'), new Marking(() => [named('b')])] });
    const { request } = await buildRequest(siteOf(agent));
    expect(request.metadata).toEqual({ before: ['a'], user: 'ada' });
    expect(namesIn(request)).toEqual(['a', 'b']);
  });

  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no shop');
      },
      'toolset Shelves (tools[0] of agent "support") failed: no shop',
    ],
    ['returns no list', () => ({}), 'must return a list of tools, returned object'],
    ['returns no tools', () => [named('a'), 1], 'must return tools, [1] of its list is number'],
  ])('one that %s is named by the error [toolset.fails]', async (_, tools, message) => {
    await expect(buildRequest(siteOf(agentOf({ tools: [new Shelves(tools)] })))).rejects.toMatchObject({
      code: 'HOLDFAST_TOOLSET_FAILED',
      retryable: true,
      message: expect.stringContaining(message),
    });
  });

  test('tools of one name are refused, both origins named [request.duplicates]', async () => {
    class Racks extends Shelves {}
    const agent = agentOf({ tools: [new Shelves(() => [named('a')]), new Racks(() => [named('a')])] });
    await expect(buildRequest(siteOf(agent))).rejects.toMatchObject({
      code: 'HOLDFAST_DEFINITION',
      message:
        'LlmAgent "support": tools[1]: duplicate tool: "a" is in tools[0] (toolset Shelves) and in tools[1] ' +
        '(toolset Racks); rename one of them',
    });
    const own = agentOf({ tools: [named('a'), new Shelves(() => [named('a')])] });
    await expect(buildRequest(siteOf(own))).rejects.toThrow(
      '"a" is in tools[0] and in tools[1] (toolset Shelves)',
    );
  });

  test('a tool without a name is refused [request.duplicates]', async () => {
    const nameless = Object.create(named('a'), { name: { value: '' } }) as BaseTool;
    const agent = agentOf({ tools: [new Shelves(() => [nameless])] });
    await expect(buildRequest(siteOf(agent))).rejects.toThrow(
      'LlmAgent "support": tools[0]: a tool of Shelves: name: Tool name cannot be empty, got ""',
    );
  });
});

describe("a turn's tools", () => {
  test('are edited in the request, and made again by their factories [registry.factory] [registry.turn]', async () => {
    const agent = agentOf({ tools: [named('a'), named('b')] });
    const first = await buildRequest(siteOf(agent, { factories }));
    first.request.tools?.add('query', { id: 7 });
    first.request.tools?.remove('a');
    expect(namesIn(first.request)).toEqual(['b', 'query_7']);
    const edits = first.toolEdits();
    expect(edits).toEqual([{ add: 'query', args: { id: 7 } }, { remove: 'a' }]);
    const second = await buildRequest(siteOf(agent, { factories, edits }));
    expect(namesIn(second.request)).toEqual(['b', 'query_7']);
    expect(second.request.config?.tools).toMatchObject([
      { functionDeclarations: [{ name: 'b' }, { name: 'query_7' }] },
    ]);
    expect(second.toolEdits()).toEqual(edits);
    expect(namesIn((await buildRequest(siteOf(agent))).request)).toEqual(['a', 'b']);
  });

  test('are there for processors before they are in the request [registry.turn]', async () => {
    class Choosing extends BaseLlmRequestProcessor {
      override async *runAsync(_invocation: InvocationContext, { tools, toolsDict }: LlmRequest) {
        expect(tools?.list().map(({ name }) => name)).toEqual(['a', 'b', 'query_1']);
        expect(toolsDict).toEqual({});
        tools?.remove('a');
        tools?.add('query', { id: 2 });
        yield* [];
      }
    }
    const agent = agentOf({
      tools: [named('a'), named('b')],
      requestProcessors: [...DEFAULT_REQUEST_PROCESSORS, new Choosing()],
    });
    const edits: ToolEdit[] = [{ add: 'query', args: { id: 1 } }];
    const built = await buildRequest(siteOf(agent, { factories, edits }));
    expect(namesIn(built.request)).toEqual(['b', 'query_1', 'query_2']);
    expect(built.toolEdits()).toEqual([...edits, { remove: 'a' }, { add: 'query', args: { id: 2 } }]);
  });

  test('a first tool that the invocation adds makes the answer a tool, too [agent.setModelResponse]', async () => {
    const agent = agentOf({ outputSchema: { type: 'object', properties: {} } });
    const edits: ToolEdit[] = [{ add: 'query', args: { id: 1 } }];
    const { request } = await buildRequest(siteOf(agent, { factories, edits }));
    expect(namesIn(request)).toEqual(['set_model_response', 'query_1']);
    expect(request.config).not.toHaveProperty('responseJsonSchema');
  });

  test('a first tool of this very request does so, whoever adds it [agent.setModelResponse]', async () => {
    class Adding extends BaseLlmRequestProcessor {
      override async *runAsync(_invocation: InvocationContext, { tools }: LlmRequest) {
        tools?.add('query', { id: 1 });
        yield* [];
      }
    }
    const outputSchema = { type: 'object', properties: {} };
    const byProcessor = agentOf({
      outputSchema,
      requestProcessors: [...DEFAULT_REQUEST_PROCESSORS, new Adding()],
    });
    const byCallback = agentOf({ outputSchema, generateContentConfig: { responseMimeType: 'text/plain' } });
    const { request } = await buildRequest(siteOf(byProcessor, { factories }));
    const { request: edited, settle } = await buildRequest(siteOf(byCallback, { factories }));
    expect(edited.config?.responseMimeType).toBe('application/json');
    edited.tools?.add('query', { id: 1 });
    settle();
    expect(edited.config?.responseMimeType).toBe('text/plain');
    for (const each of [request, edited]) {
      expect(namesIn(each)).toEqual(['query_1', 'set_model_response']);
      expect(each.config).not.toHaveProperty('responseJsonSchema');
      expect(each.config?.systemInstruction).toContain('you must call the "set_model_response" function');
    }
  });

  test('how the agent answers is no tool to take out [agent.setModelResponse]', async () => {
    const agent = agentOf({ outputSchema: { type: 'object', properties: {} }, tools: [named('a')] });
    const { request, toolEdits } = await buildRequest(siteOf(agent));
    for (const { name } of request.tools?.list() ?? []) request.tools?.remove(name);
    expect(namesIn(request)).toEqual(['set_model_response']);
    expect(toolEdits()).toEqual([{ remove: 'a' }]);
  });

  test('a tool that a callback adds by itself is refused, with what to do [registry.factory]', async () => {
    const { request, settle } = await buildRequest(siteOf(agentOf({ tools: [named('a')] }), { factories }));
    request.tools?.add('query', { id: 1 });
    settle();
    request.toolsDict.b = named('b');
    expect(settle).toThrow(
      'register a factory on the app (durable.toolFactories) and call request.tools.add',
    );
  });

  test.each<[string, Scene['factories'], string]>([
    ['is gone', {}, 'tool factory "query": the app has no tool factory of this name'],
    [
      'throws',
      {
        query: () => {
          throw new Error('no catalogue');
        },
      },
      'tool factory "query": it threw: no catalogue',
    ],
  ])('a factory that %s is a clear error [registry.factory]', async (_, given, message) => {
    const edits: ToolEdit[] = [{ add: 'query', args: { id: 7 } }];
    const scene = { factories: given ?? {}, edits };
    const failing = { code: 'HOLDFAST_TOOL_FACTORY', message: expect.stringContaining(message) };
    await expect(buildRequest(siteOf(agentOf({}), scene))).rejects.toMatchObject(failing);
    await expect(found('query_7', agentOf({}), scene)).rejects.toMatchObject(failing);
  });
});

describe('a tool that the provider runs by itself [registry.turn]', () => {
  const agent = agentOf({ tools: [named('a'), GOOGLE_SEARCH, URL_CONTEXT] });
  const natives = ({ config }: LlmRequest) =>
    (config?.tools ?? []).flatMap((entry) =>
      Object.keys(entry).filter((key) => key !== 'functionDeclarations'),
    );

  test('is found in the request, and taken out of it and of later ones', async () => {
    const { request, toolEdits } = await buildRequest(siteOf(agent));
    const tools = request.tools as TurnTools;
    expect([tools.has('google_search'), tools.get('google_search')]).toEqual([true, GOOGLE_SEARCH]);
    expect(tools.list().map(({ name }) => name)).toEqual(['a', 'google_search', 'url_context']);
    expect(natives(request)).toEqual(['googleSearch', 'urlContext']);
    expect([tools.remove('google_search'), tools.remove('google_search')]).toEqual([true, false]);
    expect(tools.has('google_search')).toBe(false);
    expect(natives(request)).toEqual(['urlContext']);
    const edits = toolEdits();
    expect(edits).toEqual([{ remove: 'google_search' }]);
    const later = await buildRequest(siteOf(agent, { edits }));
    expect(natives(later.request)).toEqual(['urlContext']);
    expect(later.request.tools?.list().map(({ name }) => name)).toEqual(['a', 'url_context']);
    expect(later.toolEdits()).toEqual(edits);
  });

  test('leaves no empty list behind, and nothing of another one’s', async () => {
    const { request } = await buildRequest(siteOf(agentOf({ tools: [GOOGLE_SEARCH] })));
    expect(request.tools?.remove('google_search')).toBe(true);
    expect(request.config?.tools).toBeUndefined();
  });
});

describe('the tool of a call', () => {
  class Sandbox extends BaseCodeExecutor {
    override async executeCode() {
      return { stdout: '', stderr: '', outputFiles: [] };
    }
  }

  test("is the agent's own, its code executor's, one that was added, or its toolsets'", async () => {
    const shelves = new Shelves(() => [named('shelf')]);
    const own = named('a');
    const agent = agentOf({ tools: [own, shelves], codeExecutor: new Sandbox() });
    const scene = { factories, edits: [{ add: 'query', args: { id: 7 } }] };
    expect(await found('a', agent, scene)).toBe(own);
    expect((await found('Sandbox', agent, scene))?.durable.idempotent).toBe(false);
    expect((await found('query_7', agent, scene))?.name).toBe('query_7');
    expect(shelves.asked).toBe(0);
    expect((await found('shelf', agent, scene))?.name).toBe('shelf');
    expect(shelves.asked).toBe(1);
  });

  test('is not there where it was removed, or its toolset has lost it [toolset.changes]', async () => {
    const agent = agentOf({ tools: [named('a'), new Shelves(() => [])] });
    expect(await found('a', agent, { edits: [{ remove: 'a' }] })).toBeUndefined();
    expect(await found('shelf', agent)).toBeUndefined();
    expect(await found('constructor', agent)).toBeUndefined();
  });

  test('is asked of all toolsets at the same time, and the first one that has it wins [toolset.resolve]', async () => {
    const [second, third] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = named('shelf', 'first');
    const toolsets = [
      new Shelves(async () => {
        await Promise.all([second.promise, third.promise]);
        return [first];
      }),
      new Shelves(() => {
        second.resolve();
        return [named('shelf', 'second')];
      }),
      new Shelves(() => {
        third.resolve();
        throw new Error('away');
      }),
    ];
    expect(await found('shelf', agentOf({ tools: toolsets }))).toBe(first);
    await expect(found('box', agentOf({ tools: toolsets.slice(1) }))).rejects.toMatchObject({
      code: 'HOLDFAST_TOOLSET_FAILED',
    });
  });

  test('that was added takes the place of another one', async () => {
    const agent = agentOf({ tools: [named('b')] });
    const edits: ToolEdit[] = [{ remove: 'b' }, { add: 'loud', args: {} }];
    expect((await found('b', agent, { factories, edits }))?.description).toBe('loud');
  });
});

function found(name: string, agent: LlmAgent, scene: Scene = {}) {
  const { init, toolFactories, toolEdits } = siteOf(agent, scene);
  return findTool({ agent, context: new ReadonlyContext(init), toolFactories, toolEdits }, name);
}
