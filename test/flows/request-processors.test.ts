import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { BaseLlmRequestProcessor } from '../../src/agents/processors/base-llm-processor.ts';
import {
  ContentRequestProcessor,
  DEFAULT_REQUEST_PROCESSORS,
} from '../../src/agents/processors/request-processors.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { BaseTool } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { siteOf } from './request-scene.ts';

const base = { name: 'support', model: 'gemini-2.5-flash' };
const named = (name: string) => tool({ name, description: '', execute: () => 1 });

function processor(
  process: (request: LlmRequest, invocation: InvocationContext) => Iterable<unknown> | undefined,
): BaseLlmRequestProcessor {
  return new (class Redactor extends BaseLlmRequestProcessor {
    override async *runAsync(invocation: InvocationContext, request: LlmRequest) {
      yield* (process(request, invocation) ?? []) as Iterable<Event>;
    }
  })();
}

const agentWith = (...requestProcessors: BaseLlmRequestProcessor[]) =>
  new LlmAgent({ ...base, requestProcessors, tools: [named('a'), named('b')] });

describe('request processors [request.processors]', () => {
  test('take the place of the defaults, which are those of ADK in their order', async () => {
    const { request } = await buildRequest(
      siteOf(agentWith(processor((each) => void Object.assign(each, { model: 'm' })))),
    );
    expect(request).toMatchObject({ model: 'm', contents: [] });
    expect(request.config?.systemInstruction).toBeUndefined();
    expect(Object.keys(request.toolsDict)).toEqual(['a', 'b']);
    expect(DEFAULT_REQUEST_PROCESSORS.map((each) => each.constructor.name)).toEqual([
      'BasicLlmRequestProcessor',
      'IdentityLlmRequestProcessor',
      'InstructionsLlmRequestProcessor',
      'ContentRequestProcessor',
      'PlanningRequestProcessor',
      'CodeExecutionRequestProcessor',
      'ToolFilterRequestProcessor',
    ]);
  });

  test('see what those before them have made, and pass metadata on [request.metadata]', async () => {
    const { request } = await buildRequest(
      siteOf(
        agentWith(
          ...DEFAULT_REQUEST_PROCESSORS,
          processor((each) => void Object.assign(each, { metadata: { turns: each.contents.length } })),
          processor((each) => void each.contents.splice(0, Number(each.metadata?.turns) - 2)),
        ),
      ),
    );
    expect(request.metadata).toEqual({ turns: 3 });
    expect(request.contents).toHaveLength(2);
  });

  test('one that extends a default is asked by its own runAsync', async () => {
    class Last extends ContentRequestProcessor {
      override async *runAsync(invocation: InvocationContext, request: LlmRequest) {
        yield* super.runAsync(invocation, request);
        request.contents = request.contents.slice(-1);
        Object.assign(request.contents[0]?.parts?.[0] ?? {}, { text: 'edited' });
      }
    }
    const { request } = await buildRequest(siteOf(agentWith(new Last())));
    expect(request.contents).toEqual([{ role: 'user', parts: [{ text: 'edited' }] }]);
  });

  test('events that they yield are collected, and their state counts from then on', async () => {
    const agent = new LlmAgent({
      ...base,
      instruction: '{city}',
      requestProcessors: [
        processor(() => [createEvent({ actions: { stateDelta: { city: 'Rome' } } })]),
        ...DEFAULT_REQUEST_PROCESSORS,
      ],
    });
    const { request, events } = await buildRequest(siteOf(agent));
    expect(request.config?.systemInstruction).toContain('Rome');
    expect(events).toMatchObject([
      { author: 'support', invocationId: 'e-2', actions: { stateDelta: { city: 'Rome' } } },
    ]);
    expect(events[0]).not.toHaveProperty('id');
  });

  test.each<[string, () => Iterable<unknown> | undefined, string]>([
    [
      'throws',
      () => {
        throw new Error('no rules');
      },
      'request processor Redactor of agent "support" failed: no rules',
    ],
    ['yields rubbish', () => [5], 'failed: it must yield events, yielded number'],
    [
      'yields what is no JSON',
      () => [createEvent({ customMetadata: { big: 1n } })],
      "failed: the event that it yielded can't be kept: customMetadata.big: JSON has no bigint",
    ],
    [
      'never ends',
      function* () {
        for (;;) yield createEvent();
      },
      'failed: it yielded more than 1000 events',
    ],
  ])('one that %s is named by the error [callback.throws]', async (_, process, message) => {
    await expect(buildRequest(siteOf(agentWith(processor(process))))).rejects.toMatchObject({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message: expect.stringContaining(message),
    });
  });

  test('one that makes the request unreadable is named, and so is one that is no generator [callback.throws]', async () => {
    const breaking = processor((request) => void Object.assign(request, { contents: undefined }));
    await expect(buildRequest(siteOf(agentWith(breaking)))).rejects.toThrow(
      'request processor Redactor of agent "support" failed: request.contents: expected a list of Contents, got undefined',
    );
    const plain = { runAsync: async () => undefined } as unknown as BaseLlmRequestProcessor;
    await expect(buildRequest(siteOf(agentWith(plain)))).rejects.toThrow(
      'runAsync of Object must be an async generator',
    );
  });

  test.each<[unknown, string]>([
    [{ content: 'hi' }, 'content: expected a Content'],
    [{ content: { parts: 'hi' } }, 'content: expected a Content'],
    [{ content: { parts: [{}] } }, 'content: expected a Content'],
    [{ content: { role: 'assistant', parts: [] } }, "content.role: expected 'user' or 'model'"],
    [{ branch: 5 }, 'branch: expected a string, got number'],
    [{ longRunningToolIds: 'all' }, 'longRunningToolIds: expected a list of call ids'],
    [{ actions: { stateDelta: 5 } }, 'context.actions.stateDelta: expected an object, got number'],
  ])('an event that no later request could read is refused: %j [callback.throws]', async (event, problem) => {
    await expect(buildRequest(siteOf(agentWith(processor(() => [event]))))).rejects.toMatchObject({
      code: 'HOLDFAST_CALLBACK_FAILED',
      message: expect.stringContaining(problem),
    });
  });

  test('may edit the contents in place, and the transcript keeps what was said [request.processors] [store.cache]', async () => {
    const redacting = processor(({ contents }) => {
      for (const { parts = [] } of contents) for (const part of parts) part.text = 'x';
      return undefined;
    });
    const agent = agentWith(...DEFAULT_REQUEST_PROCESSORS, redacting);
    const { request } = await buildRequest(siteOf(agent));
    expect(request.contents.map(({ parts }) => parts)).toEqual([
      [{ text: 'x' }],
      [{ text: 'x' }],
      [{ text: 'x' }],
    ]);
    const later = await buildRequest(siteOf(new LlmAgent(base)));
    expect(later.request.contents[0]?.parts).toEqual([{ text: 'first' }]);
  });

  test('a tool that they add by themselves could not be found again, and is refused [registry.factory]', async () => {
    const adding = processor((request) => void Object.assign(request.toolsDict, { c: named('c') }));
    await expect(buildRequest(siteOf(agentWith(adding)))).rejects.toThrow(
      'LlmAgent "support": the request offers the tool "c", which a processor, a callback or a tool has added to it: another ' +
        'worker could not make it again; put it into tools, or register a factory on the app',
    );
    const clashing = processor((request) => void Object.assign(request.toolsDict, { b: named('b') }));
    await expect(buildRequest(siteOf(agentWith(clashing)))).rejects.toThrow(
      'LlmAgent "support": tools[1]: duplicate tool: "b" was added to the request already',
    );
  });
});

describe('tools process the request', () => {
  class Native extends BaseTool {
    constructor() {
      super({ name: 'native', description: '' });
    }
    override async processLlmRequest({
      llmRequest,
      toolContext,
    }: Parameters<BaseTool['processLlmRequest']>[0]) {
      toolContext.state.set('seen', llmRequest.contents.length);
      llmRequest.config = {
        ...llmRequest.config,
        tools: [...(llmRequest.config?.tools ?? []), { googleSearch: {} }],
      };
    }
    override async runAsync() {
      return undefined;
    }
  }

  test('one without a declaration does nothing else, in its place among the others [request.toolOnly]', async () => {
    const site = siteOf(new LlmAgent({ ...base, tools: [named('a'), new Native(), named('b')] }));
    const { request } = await buildRequest(site);
    expect(request.config?.tools).toMatchObject([
      { functionDeclarations: [{ name: 'a' }, { name: 'b' }] },
      { googleSearch: {} },
    ]);
    expect(Object.keys(request.toolsDict)).toEqual(['a', 'b']);
    expect(site.init.eventActions?.stateDelta).toEqual({ seen: 3 });
  });

  test('one whose declaration throws is named [callback.throws]', async () => {
    class Broken extends Native {
      override _getDeclaration(): never {
        throw new Error('no schema');
      }
      override processLlmRequest = BaseTool.prototype.processLlmRequest;
    }
    await expect(buildRequest(siteOf(new LlmAgent({ ...base, tools: [new Broken()] })))).rejects.toThrow(
      'tool "native": _getDeclaration: it threw: no schema',
    );
  });

  test('one that throws is named [callback.throws]', async () => {
    class Broken extends Native {
      override async processLlmRequest() {
        throw new Error('no key');
      }
    }
    const agent = new LlmAgent({ ...base, tools: [new Broken()] });
    await expect(buildRequest(siteOf(agent))).rejects.toMatchObject({
      code: 'HOLDFAST_CALLBACK_FAILED',
      retryable: true,
      message: 'processLlmRequest of the tool "native" of agent "support" failed: no key',
    });
  });

  test('plugins choose among them; what they leave out is not offered [plugin.hooks]', async () => {
    class OnlyB extends BasePlugin {
      override async beforeToolSelection({ tools }: Parameters<BasePlugin['beforeToolSelection']>[0]) {
        expect(Object.keys(tools)).toEqual(['a', 'native', 'b', 'added']);
        const { b } = tools;
        const chosen: Record<string, BaseTool> = b === undefined ? {} : { b };
        return chosen;
      }
    }
    const agent = new LlmAgent({ ...base, tools: [named('a'), new Native(), named('b')] });
    const scene = {
      plugins: [new OnlyB('only')],
      factories: { make: () => named('added') },
      edits: [{ add: 'make', args: {} }],
    };
    const { request, toolEdits } = await buildRequest(siteOf(agent, scene));
    expect(request.allowedTools).toEqual(['b']);
    expect(request.config?.tools).toMatchObject([{ functionDeclarations: [{ name: 'b' }] }]);
    expect(toolEdits()).toEqual(scene.edits);
  });
});
