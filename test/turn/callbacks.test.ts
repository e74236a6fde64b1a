import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
} from '../../src/agents/processors/base-llm-processor.ts';
import { DEFAULT_REQUEST_PROCESSORS } from '../../src/agents/processors/request-processors.ts';
import { createEvent, stringifyContent } from '../../src/events/event.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { InvocationContext } from '../../src/tools/invocation-context.ts';
import { type Callbacks, callingBack } from '../setup/called-back.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

class Streaming extends BaseLlm {
  responses: LlmResponse[] = [];
  end = async () => {};
  constructor() {
    super({ model: 'streaming' });
  }
  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield* this.responses;
    await this.end();
  }
}

const model = new OwnModel();
const streaming = new Streaming();
let callbacks: Callbacks = {};

const quick = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
const own = { ...callingBack(() => callbacks), model, modelRetry: quick };
const last = tool({
  name: 'last',
  description: 'ends the turn',
  execute: (_args, { actions }) => {
    actions.skipSummarization = true;
    return { done: true };
  },
});
const count = tool({ name: 'count', description: 'counts', execute: () => ({ counted: true }) });

class Announcing extends BaseLlmRequestProcessor {
  override async *runAsync({ invocationId }: InvocationContext, request: LlmRequest) {
    request.metadata = { ...request.metadata, announced: true };
    yield createEvent({
      invocationId,
      content: { role: 'model', parts: [{ text: 'thinking' }] },
      actions: { stateDelta: { announced: 1 } },
    });
  }
}
class Stamping extends BaseLlmResponseProcessor {
  override async *runAsync({ invocationId }: InvocationContext, response: LlmResponse) {
    response.customMetadata = { stamped: true };
    yield createEvent({ invocationId, actions: { stateDelta: { stamped: 1 } } });
  }
}

const agents = [
  new LlmAgent({ ...own, name: 'agent', tools: [last, count] }),
  new LlmAgent({ ...own, name: 'patient', modelRetry: { ...quick, maximumAttempts: 3 } }),
  new LlmAgent({ ...own, name: 'twice', tools: [count], maxIterations: 2 }),
  new LlmAgent({ ...own, name: 'streaming', model: streaming }),
  new LlmAgent({
    name: 'listed',
    model,
    beforeAgentCallback: [() => undefined, () => content('second'), () => content('third')],
  }),
  new LlmAgent({
    name: 'processing',
    model,
    requestProcessors: [...DEFAULT_REQUEST_PROCESSORS, new Announcing()],
    responseProcessors: [new Stamping()],
  }),
];

const content = (text: string) => ({ role: 'model', parts: [{ text }] });
const calling = (name: string): LlmResponse => ({
  content: { role: 'model', parts: [{ functionCall: { name, args: {} } }] },
  usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
});
const shown = ({ events }: RanTurn) =>
  events.map(({ kind, event }) => [kind, event.author, stringifyContent(event)]);

describe('callbacks of a model step', () => {
  let environment: TurnEnvironment;
  let asked: string[] = [];
  const told = (name: string) => {
    asked.push(name);
    return undefined;
  };

  beforeAll(async () => {
    environment = await openTurnEnvironment({ agents });
  });
  beforeEach(() => {
    model.respond = async () => saying('fine');
    model.asked = 0;
    asked = [];
    callbacks = {};
  });
  afterAll(() => environment.close());

  const run = (agent = 'agent', more: Partial<Parameters<TurnEnvironment['run']>[0]> = {}) =>
    environment.run({ message: 'go', agent, ...more });

  test('content of a before-agent callback is the answer: no model, no after-agent [callback.agent]', async () => {
    callbacks = { beforeAgent: () => content('closed today'), afterAgent: () => told('afterAgent') };
    const turn = await run();
    expect(turn.result).toMatchObject({
      status: 'completed',
      text: 'closed today',
      usage: { modelCalls: 0, totalTokens: 0 },
    });
    expect(shown(turn)).toEqual([
      ['message', 'user', 'go'],
      ['callback', 'agent', 'closed today'],
    ]);
    expect([model.asked, asked]).toEqual([0, []]);
  });

  test('state of a before-agent callback is an event of its own, and what comes later sees it [callback.agent]', async () => {
    let seen: unknown;
    callbacks = {
      beforeAgent: ({ state }) => state.set('plan', 'pro') as undefined,
      beforeModel: ({ context }) => {
        seen = context.state.get('plan');
        context.state.set('asked', 1);
        return undefined;
      },
    };
    const turn = await run();
    expect(seen).toBe('pro');
    expect(turn.events.map(({ kind, event }) => [kind, event.actions.stateDelta])).toEqual([
      ['message', {}],
      ['callback', { plan: 'pro' }],
      ['model', { asked: 1 }],
    ]);
    expect(turn.events[1]?.event).not.toHaveProperty('content');
  });

  test('of a list the first that answers wins [callback.agent]', async () => {
    expect((await run('listed')).result.text).toBe('second');
  });

  test('a model that fails twice doesn’t run before-agent callbacks again [callback.agent]', async () => {
    callbacks = {
      beforeAgent: ({ state }) => told('beforeAgent') ?? (state.set('ran', asked.length) as undefined),
    };
    model.respond = async () => {
      if (model.asked < 3) throw new ModelError({ kind: 'unavailable', message: 'busy' });
      return saying('at last');
    };
    const turn = await run('patient');
    expect(turn.result).toMatchObject({ text: 'at last' });
    expect([model.asked, asked]).toEqual([3, ['beforeAgent']]);
    expect(turn.events.map(({ kind, event }) => [kind, event.actions.stateDelta])).toEqual([
      ['message', {}],
      ['callback', { ran: 1 }],
      ['model', {}],
    ]);
  });

  test('a before-model callback changes the request, or answers in the model’s place [callback.model]', async () => {
    let request: LlmRequest | undefined;
    model.respond = async (given) => {
      request = given;
      return saying('asked');
    };
    callbacks = {
      beforeModel: ({ request: { config, contents } }) => {
        contents.push({ role: 'user', parts: [{ text: 'be brief' }] });
        if (config) config.temperature = 0;
        return undefined;
      },
    };
    expect((await run()).result).toMatchObject({ text: 'asked', usage: { modelCalls: 1 } });
    expect(request?.contents.at(-1)?.parts).toEqual([{ text: 'be brief' }]);
    expect(request?.config?.temperature).toBe(0);

    model.asked = 0;
    callbacks = {
      beforeModel: () => ({ ...saying('cached'), usageMetadata: { totalTokenCount: 99 } }),
      afterModel: () => told('afterModel'),
    };
    const turn = await run();
    expect(turn.result).toMatchObject({
      status: 'completed',
      text: 'cached',
      usage: { modelCalls: 0, totalTokens: 0 },
    });
    expect(shown(turn).at(-1)).toEqual(['model', 'agent', 'cached']);
    expect([model.asked, asked]).toEqual([0, []]);
  });

  test('a before-model callback that ends the invocation ends it without a model [callback.model] [request.endInvocation]', async () => {
    callbacks = {
      beforeModel: ({ context }) => {
        context.invocationContext.endInvocation = true;
        return undefined;
      },
      afterAgent: () => told('afterAgent'),
    };
    const turn = await run();
    expect(turn.result).toMatchObject({ status: 'completed', usage: { modelCalls: 0 } });
    expect([model.asked, asked, shown(turn).length]).toEqual([0, [], 1]);
  });

  test('an after-model callback replaces the answer, its usage counts [callback.model]', async () => {
    model.respond = async () => ({ ...saying('my key is 123'), usageMetadata: { totalTokenCount: 7 } });
    callbacks = { afterModel: ({ response }) => ({ ...response, ...saying('my key is ***') }) };
    const turn = await run();
    expect(turn.result).toMatchObject({ text: 'my key is ***', usage: { modelCalls: 1, totalTokens: 7 } });
    expect(JSON.stringify(turn.events)).not.toContain('tulip');
  });

  test('an after-model callback sees what is streamed before followers do [callback.model]', async () => {
    const piece = (text: string): LlmResponse => ({ ...saying(text), partial: true });
    streaming.responses = [piece('key 1'), piece('23 ok'), saying('key 123 ok')];
    callbacks = {
      afterModel: ({ response }) => {
        told(response.partial ? 'partial' : 'whole');
        return saying(stringifyContent(response).replaceAll(/\d/g, '*'));
      },
    };
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const turn = await environment.client.sendMessage({
      ...names,
      message: 'go',
      agent: 'streaming',
      runConfig: { streamingMode: 'sse' },
    });
    let text = '';
    for await (const item of turn.stream()) if (item.type === 'text') text += item.text;
    expect(text).toBe('key *** ok');
    expect((await turn.result()).text).toBe('key *** ok');
    expect(asked).toEqual(['partial', 'partial', 'whole']);
  });

  test('what a model has begun to say is dropped where an error callback answers [callback.model]', async () => {
    streaming.responses = [{ ...saying('half an ans'), partial: true }];
    const told = Promise.withResolvers<void>();
    streaming.end = async () => {
      await told.promise;
      throw new ModelError({ kind: 'bad_request', message: 'gone' });
    };
    callbacks = { onModelError: () => saying('out of order') };
    const turn = await environment.client.sendMessage({
      ...{ app: 'test', userId: 'ada', sessionId: randomUUID() },
      message: 'go',
      agent: 'streaming',
      runConfig: { streamingMode: 'sse' },
    });
    const types: string[] = [];
    for await (const item of turn.stream()) {
      types.push(item.type);
      if (item.type === 'text') told.resolve();
    }
    streaming.end = async () => {};
    expect(types.filter((type) => type.startsWith('text'))).toEqual(['text', 'text dropped']);
    expect((await turn.result()).text).toBe('out of order');
  });

  test('processors add to request and response, their events go before the model’s [request.processors]', async () => {
    let metadata: unknown;
    model.respond = async (request) => {
      metadata = request.metadata;
      return saying('fine');
    };
    const turn = await run('processing');
    expect(metadata).toEqual({ announced: true });
    expect(turn.events.map(({ kind, event }) => [kind, event.actions.stateDelta])).toEqual([
      ['message', {}],
      ['callback', { announced: 1 }],
      ['callback', { stamped: 1 }],
      ['model', {}],
    ]);
    expect(turn.events.at(-1)?.event.customMetadata).toEqual({ stamped: true });
    expect(turn.result.text).toBe('fine');
  });

  test('an error callback is asked once no attempt follows, its answer counts as the model’s [callback.model]', async () => {
    model.respond = async () => {
      throw new ModelError({ kind: 'unavailable', message: 'down' });
    };
    callbacks = {
      onModelError: ({ error, request }) => {
        told(`${error.message} ${request.contents.length}`);
        return saying('out of order');
      },
      afterModel: ({ response }) => ({ ...response, modelVersion: 'none' }),
    };
    const turn = await run();
    expect(turn.result).toMatchObject({
      status: 'completed',
      text: 'out of order',
      usage: { modelCalls: 1 },
    });
    expect(asked).toEqual(['down 1']);
    expect(model.asked).toBe(2);
    expect(turn.events.at(-1)?.event.modelVersion).toBe('none');
  });

  test('an error callback without an answer leaves the error, and its state counts [callback.model]', async () => {
    model.respond = async () => {
      throw new ModelError({ kind: 'bad_request', message: 'no such schema' });
    };
    callbacks = { onModelError: ({ context }) => context.state.set('failed', true) as undefined };
    const turn = await run();
    expect(turn.result).toMatchObject({ status: 'failed', error: { code: 'HOLDFAST_MODEL_BAD_REQUEST' } });
    expect(turn.events.at(-1)).toMatchObject({
      kind: 'error',
      event: { actions: { stateDelta: { failed: true } } },
    });
  });

  test('text of an after-agent callback is the turn’s, its event comes last [callback.agent]', async () => {
    let seen: unknown;
    callbacks = {
      afterAgent: ({ invocationContext }) => {
        seen = invocationContext.session.events.map((event) => stringifyContent(event));
        return content('and goodbye');
      },
    };
    const turn = await run();
    expect(turn.result).toMatchObject({ status: 'completed', text: 'and goodbye' });
    expect(shown(turn).slice(1)).toEqual([
      ['model', 'agent', 'fine'],
      ['callback', 'agent', 'and goodbye'],
    ]);
    expect(seen).toEqual(['go', 'fine']);
  });

  test('a tool that ends the turn has after-agent callbacks run behind its response [callback.agent]', async () => {
    model.respond = async () => calling('last');
    callbacks = {
      afterAgent: ({ turnToolCalls, state }) => {
        state.set('calls', turnToolCalls.length);
        return content('it is done');
      },
    };
    const turn = await run();
    expect(turn.result).toMatchObject({ status: 'completed', text: 'it is done', usage: { modelCalls: 1 } });
    expect(turn.events.map(({ kind, event }) => [kind, event.actions.stateDelta])).toEqual([
      ['message', {}],
      ['model', {}],
      ['responses', {}],
      ['callback', { calls: 1 }],
    ]);
  });

  test('a failing after-agent callback fails the turn, the model’s answer is kept [callback.agent]', async () => {
    callbacks = {
      afterAgent: () => {
        throw new Error('no farewell');
      },
    };
    const turn = await run();
    expect(turn.result).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_CALLBACK_FAILED',
        message: 'afterAgentCallback of agent "agent" failed: no farewell',
      },
      usage: { modelCalls: 1 },
    });
    expect(shown(turn).map(([kind]) => kind)).toEqual(['message', 'model', 'error']);
  });

  test('an agent asks its model no more often than maxIterations [agent.maxIterations]', async () => {
    model.respond = async () => calling('count');
    const turn = await run('twice');
    expect(turn.result).toMatchObject({ status: 'failed', error: { code: 'MAX_ITERATIONS_EXCEEDED' } });
    expect(model.asked).toBe(2);
    expect(turn.events.at(-1)?.kind).toBe('error');
  });
});
