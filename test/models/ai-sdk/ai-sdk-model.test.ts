import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { simulateReadableStream } from 'ai';
import { MockLanguageModelV3, MockLanguageModelV4 } from 'ai/test';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import type { Content, Part } from '../../../src/events/content.ts';
import { getLogger, type Logger, setLogger } from '../../../src/logger.ts';
import { AiSdkModel } from '../../../src/models/ai-sdk/ai-sdk-model.ts';
import type { AiSdkModelParams } from '../../../src/models/ai-sdk/language-model.ts';
import { ToolNames } from '../../../src/models/ai-sdk/tool-names.ts';
import { DefinitionError } from '../../../src/schema/definition-error.ts';
import { longestPause } from '../../setup/longest-pause.ts';
import { ask, failure, request, userText } from '../ask.ts';

const tokens = {
  inputTokens: { total: 50, noCache: 13, cacheRead: 30, cacheWrite: 7 },
  outputTokens: { total: 9, text: 5, reasoning: 4 },
};
const FINISH = { unified: 'stop', raw: 'stop' } as const;

type Options = ConstructorParameters<typeof MockLanguageModelV4>[0];

function mocked(
  content: object[],
  more: Options & { finish?: object; result?: object } = {},
): MockLanguageModelV4 {
  const { finish = FINISH, result = {}, ...options } = more;
  return new MockLanguageModelV4({
    provider: 'mock.chat',
    modelId: 'm-1',
    doGenerate: { content, finishReason: finish, usage: tokens, warnings: [], ...result } as never,
    ...options,
  });
}

function streaming(parts: object[], options: Options = {}): MockLanguageModelV4 {
  const stream = simulateReadableStream({
    chunks: parts as LanguageModelV4StreamPart[],
    initialDelayInMs: null,
    chunkDelayInMs: null,
  });
  return new MockLanguageModelV4({ provider: 'mock.chat', modelId: 'm-1', doStream: { stream }, ...options });
}

const on = (model: AiSdkModelParams['model'], more: Partial<AiSdkModelParams> = {}) =>
  new AiSdkModel({ model, ...more });

const sent = (model: MockLanguageModelV4 | MockLanguageModelV3) =>
  model.doGenerateCalls[0] as unknown as LanguageModelV4CallOptions;

const known = getLogger();
afterEach(() => setLogger(known));

function warnings(): string[] {
  const told: string[] = [];
  setLogger({ warn: (text: string) => void told.push(text) } as Partial<Logger> as Logger);
  return told;
}

describe('what a model of the AI SDK is asked', () => {
  test("a request in Gemini's words becomes its options [model.aiSdk.request]", async () => {
    const model = mocked([{ type: 'text', text: 'ok' }]);
    await ask(
      on(model, { providerOptions: { mock: { x: 1 } }, headers: { 'x-team': 'a' } }),
      request({
        contents: [
          userText('Hi'),
          {
            role: 'user',
            parts: [{ inlineData: { data: 'AAAA', mimeType: 'image/png', displayName: 'a.png' } }],
          },
        ],
        config: {
          systemInstruction: { parts: [{ text: 'One.' }, { text: 'Two.' }] },
          temperature: 0.5,
          topP: 0.9,
          topK: 3,
          maxOutputTokens: 99,
          stopSequences: ['END'],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          thinkingConfig: { thinkingBudget: 2_000 },
          tools: [{ functionDeclarations: [{ name: 'look', description: 'looks' }, { name: 'go' }] }],
          toolConfig: { functionCallingConfig: { mode: 'ANY' as never, allowedFunctionNames: ['look'] } },
        },
      }),
    );
    expect(sent(model)).toMatchObject({
      prompt: [
        { role: 'system', content: 'One.\n\nTwo.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'file', mediaType: 'image/png', filename: 'a.png', data: { type: 'data', data: 'AAAA' } },
          ],
        },
      ],
      ...{ temperature: 0.5, topP: 0.9, topK: 3, maxOutputTokens: 99, stopSequences: ['END'], seed: 7 },
      ...{ presencePenalty: 0.1, frequencyPenalty: 0.2, reasoning: 'low' },
      tools: [{ type: 'function', name: 'look', description: 'looks', inputSchema: { type: 'object' } }],
      toolChoice: { type: 'tool', toolName: 'look' },
      providerOptions: { mock: { x: 1 } },
      headers: { 'x-team': 'a' },
    });
  });

  test.each<[string, object, RegExp]>([
    ['a built-in tool', { tools: [{ googleSearch: {} }] }, /googleSearch is Gemini's own/],
    ['a cache of Gemini', { cachedContent: 'c' }, /generateContentConfig\.cachedContent/],
    ['two candidates', { candidateCount: 2 }, /candidateCount/],
    ['speech', { responseModalities: ['AUDIO'] }, /responseModalities/],
    ['an enum as the answer', { responseMimeType: 'text/x.enum' }, /responseMimeType/],
  ])('%s is refused before anything is sent [model.aiSdk.unfit]', async (_name, config, message) => {
    const model = mocked([]);
    const { error } = await failure(on(model), request({ config }));
    expect(error).toMatchObject({
      kind: 'bad_request',
      retryable: false,
      message: expect.stringMatching(message),
    });
    expect(model.doGenerateCalls).toEqual([]);
  });

  test('a setting that only Gemini has, and one that the provider refuses, are logged once [model.aiSdk.unfit]', async () => {
    const told = warnings();
    const warned = [
      { type: 'unsupported', feature: 'seed', details: 'SECRET' },
      { type: 'other', message: 'SECRET' },
    ];
    const model = on(mocked([{ type: 'text', text: 'ok' }], { result: { warnings: warned } }));
    const config = { safetySettings: [], mediaResolution: 'LOW' as never };
    const [response] = await ask(model, request({ config }));
    await ask(model, request({ config }));
    expect(told).toHaveLength(3);
    expect(told.join()).toMatch(/safetySettings.*|mediaResolution.*|seed/);
    expect(told.join()).not.toContain('SECRET');
    expect(response?.customMetadata).toMatchObject({ aiSdk: { warnings: warned } });
  });

  test('files at URLs that the provider fetches are sent, others are told of [model.aiSdk.request]', async () => {
    const told = warnings();
    const model = mocked([{ type: 'text', text: 'ok' }], { supportedUrls: { 'image/*': [/^https:/] } });
    const file = (fileUri: string, mimeType: string): Part => ({ fileData: { fileUri, mimeType } });
    const parts = [
      file('https://a.test/x.png', 'image/png'),
      file('gs://b/x.png', 'image/png'),
      { inlineData: { data: 'aGk=', mimeType: 'text/plain' } },
    ];
    await ask(on(model), request({ contents: [{ role: 'user', parts }] }));
    expect(sent(model).prompt).toMatchObject([
      {
        content: [
          { type: 'file', data: { type: 'url', url: new URL('https://a.test/x.png') } },
          { type: 'text', text: expect.stringContaining('gs://b/x.png') },
          { type: 'text', text: 'hi' },
        ],
      },
    ]);
    expect(told).toEqual([expect.stringContaining('gs: URLs')]);
  });

  test('Mistral gets words between results and what the user says next [model.aiSdk.request]', async () => {
    const contents: Content[] = [
      userText('Hi'),
      { role: 'model', parts: [{ functionCall: { id: 'abcdefghi', name: 'look' } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'abcdefghi', name: 'look', response: { a: 1 } } }] },
      userText('And?'),
    ];
    for (const [provider, modelId, isOfMistral] of [
      ['mistral.chat', 'large', true],
      ['openrouter.chat', 'mistralai/devstral-small', true],
      ['openai.chat', 'gpt-5', false],
    ] as const) {
      const model = mocked([{ type: 'text', text: 'ok' }], { provider, modelId });
      await ask(on(model), request({ contents }));
      const roles = ['user', 'assistant', 'tool', ...(isOfMistral ? ['assistant'] : []), 'user'];
      expect(sent(model).prompt.map(({ role }) => role)).toEqual(roles);
    }
  });

  test('tools that the provider runs are offered beside ours [model.aiSdk.request]', async () => {
    const model = mocked([{ type: 'text', text: 'ok' }]);
    const providerTools = { web_search: createOpenAI({ apiKey: 'key' }).tools.webSearch({}) };
    const config = { tools: [{ functionDeclarations: [{ name: 'look' }] }] };
    await ask(on(model, { providerTools }), request({ config }));
    expect(sent(model).tools).toMatchObject([
      { type: 'function', name: 'look' },
      { type: 'provider', id: 'openai.web_search', name: 'web_search', args: {} },
    ]);
  });

  test('the third version gets files as it has them, and no effort [model.aiSdk.v3]', async () => {
    const told = warnings();
    const model = new MockLanguageModelV3({
      provider: 'mock.chat',
      modelId: 'm-1',
      supportedUrls: { 'image/*': [/^https:/] },
      doGenerate: {
        content: [
          { type: 'text', text: 'ok' },
          { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2]) },
        ],
        finishReason: FINISH,
        usage: tokens,
        warnings: [],
      } as never,
    });
    const parts = [
      { inlineData: { data: 'AAAA', mimeType: 'image/png' } },
      { fileData: { fileUri: 'https://a.test/x.png', mimeType: 'image/png' } },
    ];
    const [response] = await ask(
      on(model),
      request({
        contents: [{ role: 'user', parts }],
        config: { thinkingConfig: { thinkingLevel: 'HIGH' as never } },
      }),
    );
    expect(sent(model).prompt).toMatchObject([
      { content: [{ data: 'AAAA' }, { data: new URL('https://a.test/x.png') }] },
    ]);
    expect(sent(model)).not.toHaveProperty('reasoning');
    expect(told).toEqual([expect.stringContaining('thinkingConfig')]);
    expect(response?.content?.parts).toMatchObject([
      { text: 'ok' },
      { inlineData: { data: 'AQI=', mimeType: 'image/png' } },
    ]);
  });
});

describe('what it answers', () => {
  const metadata = (value: string) => ({ providerMetadata: { mock: { signature: value } } });

  test('parts, metadata, usage and sources are kept, and go back to the same model only [model.aiSdk.verbatim]', async () => {
    const search = {
      type: 'tool-call',
      toolCallId: 's',
      toolName: 'web',
      input: '{"q":1}',
      providerExecuted: true,
    };
    const found = { type: 'tool-result', toolCallId: 's', toolName: 'web', result: { hits: 1 } };
    const said = [
      { type: 'reasoning', text: 'hm', ...metadata('r') },
      search,
      found,
      { type: 'custom', kind: 'mock.thing', ...metadata('c') },
      { type: 'source', sourceType: 'url', id: '1', url: 'https://a.test', title: 'A' },
      { type: 'text', text: 'Hello', ...metadata('t') },
      { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: '{"a":1}', ...metadata('x') },
    ];
    const [response] = await ask(
      on(
        mocked(said, {
          finish: { unified: 'tool-calls', raw: 'tool_use' },
          result: { providerMetadata: { mock: { id: 'z' } }, response: { id: 'r-1', modelId: 'm-1-0101' } },
        }),
      ),
    );
    expect(response).toMatchObject({
      finishReason: 'STOP',
      modelVersion: 'm-1-0101',
      usageMetadata: {
        promptTokenCount: 50,
        cachedContentTokenCount: 30,
        cacheWriteTokenCount: 7,
        candidatesTokenCount: 5,
        thoughtsTokenCount: 4,
        totalTokenCount: 59,
      },
      citationMetadata: { citations: [{ uri: 'https://a.test', title: 'A' }] },
      customMetadata: {
        aiSdk: {
          provider: 'mock.chat',
          model: 'm-1',
          responseId: 'r-1',
          providerMetadata: { mock: { id: 'z' } },
        },
      },
    });
    expect(response?.content?.parts?.flatMap(({ functionCall }) => functionCall ?? [])).toEqual([
      { id: 'x', name: 'look', args: { a: 1 } },
    ]);
    const contents: Content[] = [
      userText('Hi'),
      JSON.parse(JSON.stringify(response?.content)),
      { role: 'user', parts: [{ functionResponse: { id: 'x', name: 'look', response: { error: 'no' } } }] },
    ];
    const same = mocked([{ type: 'text', text: 'ok' }]);
    await ask(on(same), request({ contents }));
    const options = (value: string) => ({ providerOptions: { mock: { signature: value } } });
    expect(sent(same).prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', ...options('r') },
          { ...search, input: { q: 1 } },
          {
            type: 'tool-result',
            toolCallId: 's',
            toolName: 'web',
            output: { type: 'json', value: { hits: 1 } },
          },
          { type: 'custom', kind: 'mock.thing', ...options('c') },
          { type: 'text', text: 'Hello', ...options('t') },
          { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: { a: 1 }, ...options('x') },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: 'x',
            toolName: 'look',
            output: { type: 'error-text', value: 'no' },
            ...options('x'),
          },
        ],
      },
    ]);
    const other = mocked([{ type: 'text', text: 'ok' }], { modelId: 'm-2' });
    await ask(on(other), request({ contents }));
    expect(sent(other).prompt[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: { a: 1 } },
      ],
    });
  });

  test.each<[string, string, string | undefined]>([
    ['length', 'MAX_TOKENS', undefined],
    ['content-filter', 'SAFETY', 'SAFETY'],
    ['other', 'OTHER', 'OTHER'],
  ])('the finish reason %s is %s [model.aiSdk.finish]', async (unified, finishReason, errorCode) => {
    const finish = { unified, raw: 'why' };
    const [full] = await ask(on(mocked([{ type: 'text', text: 'a' }], { finish })));
    expect(full).toMatchObject({ finishReason, content: { parts: [{ text: 'a' }] } });
    const [empty] = await ask(on(mocked([], { finish })));
    expect(empty).toMatchObject({
      finishReason,
      errorCode: errorCode ?? finishReason,
      errorMessage: expect.stringContaining('why'),
    });
  });

  test.each(['error', 'interrupted'])(
    'the finish reason %s is a failure that is tried again [model.aiSdk.finish]',
    async (unified) => {
      const { error } = await failure(
        on(mocked([{ type: 'text', text: 'a' }], { finish: { unified, raw: undefined } })),
      );
      expect(error.retryable).toBe(true);
    },
  );

  test('a stream of blocks that lie across each other is put together in order [model.aiSdk.stream]', async () => {
    const responses = await ask(
      on(
        streaming([
          { type: 'stream-start', warnings: [] },
          { type: 'ping' },
          { type: 'reasoning-start', id: '0' },
          { type: 'text-start', id: '0' },
          { type: 'reasoning-delta', id: '0', delta: 'a' },
          { type: 'text-delta', id: '0', delta: 'A' },
          { type: 'reasoning-delta', id: '0', delta: '', ...metadata('sig') },
          { type: 'text-delta', id: '0', delta: 'B' },
          { type: 'text-end', id: '0' },
          { type: 'reasoning-end', id: '0' },
          { type: 'tool-input-start', id: 'x', toolName: 'look' },
          { type: 'tool-input-delta', id: 'x', delta: '{"a"' },
          { type: 'tool-input-delta', id: 'x', delta: ':1}' },
          { type: 'tool-input-end', id: 'x' },
          { type: 'finish', finishReason: FINISH, usage: tokens },
        ]),
      ),
      request(),
      { stream: true },
    );
    expect(responses.at(-1)?.content?.parts).toMatchObject([
      { text: 'a', thought: true, partMetadata: { aiSdk: { metadata: { mock: { signature: 'sig' } } } } },
      { text: 'AB' },
      { functionCall: { id: 'x', name: 'look', args: { a: 1 } } },
    ]);
    expect(responses.slice(0, -1).map(({ content }) => content?.parts?.[0])).toMatchObject([
      { text: 'a', thought: true },
      { text: 'A' },
      { text: 'B' },
      { functionCall: { name: 'look', willContinue: true }, partMetadata: { argumentsDelta: '{"a"' } },
      { functionCall: { name: 'look', willContinue: true }, partMetadata: { argumentsDelta: ':1}' } },
    ]);
  });

  test.each<[string, string]>([
    ['no JSON', '{"a": '],
    ['a list', '[1]'],
    ['text', '"x"'],
  ])(
    'arguments that are %s come as a call that can be answered [model.aiSdk.arguments]',
    async (_name, input) => {
      const [response] = await ask(
        on(mocked([{ type: 'tool-call', toolCallId: 'x', toolName: 'look', input }])),
      );
      expect(response?.content?.parts?.[0]?.functionCall?.args).toEqual({
        '(arguments left out)': 'they are no JSON object',
      });
    },
  );

  const large = 'x'.repeat(1024 * 1024);
  test.each<[string, (n: number) => object[]]>([
    ['text', () => [{ type: 'text-delta', id: '0', delta: large }]],
    ['sources', (n) => [{ type: 'source', sourceType: 'url', id: `${n}`, url: `https://x.test/${large}` }]],
    ['results', (n) => [{ type: 'tool-result', toolCallId: `${n}`, toolName: 'w', result: large }]],
    ['metadata', (n) => [{ type: 'text-start', id: `${n}`, ...metadata(large) }]],
    [
      'calls',
      (n) => [{ type: 'tool-call', toolCallId: `${n}`, toolName: 'w', input: '{}', ...metadata(large) }],
    ],
    ['parts', (n) => Array.from({ length: 10_000 }, (_, m) => ({ type: 'text-start', id: `${n} ${m}` }))],
  ])('an answer of %s without end is cut off [model.aiSdk.bounds]', async (_name, chunk) => {
    const chunks = Array.from({ length: 40 }, (_, n) => chunk(n)).flat();
    const { error } = await failure(on(streaming(chunks)), request(), { stream: true });
    expect(error.message).toMatch(/more than \d+ characters/);
  });

  test('a timeout that is none is refused, a long one is kept [model.aiSdk.failures]', async () => {
    for (const timeout of [-5, 0, 1.5, Number.NaN]) {
      const { error } = await failure(on(mocked([])), request({ config: { httpOptions: { timeout } } }));
      expect(error).toMatchObject({
        kind: 'bad_request',
        message: expect.stringContaining('httpOptions.timeout'),
      });
    }
    const long = request({ config: { httpOptions: { timeout: 10 ** 12 } } });
    expect(await ask(on(mocked([{ type: 'text', text: 'ok' }])), long)).toHaveLength(1);
  });

  test('a stream that tells of a used-up account is not tried again [model.aiSdk.failures]', async () => {
    const inner = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'no money' };
    for (const error of [inner, { type: 'error', error: inner }]) {
      const told = await failure(on(streaming([{ type: 'error', error }])), request(), { stream: true });
      expect(told.error).toMatchObject({ kind: 'rate_limited', retryable: false });
    }
  });

  test('metadata that come again with each piece count once [model.aiSdk.bounds]', async () => {
    const deltas = Array.from({ length: 40 }, () => ({
      type: 'text-delta',
      id: '0',
      delta: 'a',
      ...metadata(large),
    }));
    const chunks = [...deltas, { type: 'finish', finishReason: FINISH, usage: tokens }];
    const responses = await ask(on(streaming(chunks)), request(), { stream: true });
    expect(responses.at(-1)?.content?.parts).toMatchObject([{ text: 'a'.repeat(40) }]);
  });

  test('JSON that the provider points out is the answer [model.aiSdk.schema]', async () => {
    const content = [
      { type: 'text', text: 'draft {' },
      { type: 'text', text: '{"a":1}' },
    ];
    const config = { responseMimeType: 'application/json' };
    const [response] = await ask(
      on(mocked(content, { result: { structuredOutputText: '{"a":1}' } })),
      request({ config }),
    );
    expect(response?.content?.parts).toEqual([{ text: '{"a":1}' }]);
  });
});

describe('names of tools', () => {
  test('any names are told apart, fit, and come back [model.aiSdk.names]', () => {
    const name = fc.oneof(fc.string({ minLength: 1, maxLength: 130 }), fc.stringMatching(/^[a-z._:-]{1,6}$/));
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (offered) => {
        const names = new ToolNames(offered);
        const wire = offered.map((each) => names.wireOf(each));
        expect(new Set(wire).size).toBe(offered.length);
        expect(wire.every((each) => /^[A-Za-z0-9_-]{1,64}$/.test(each))).toBe(true);
        expect(wire.map((each) => names.ownOf(each))).toEqual(offered);
        // The same in another request, whatever else it offers.
        expect(offered.map((each) => new ToolNames([each]).wireOf(each))).toEqual(wire);
      }),
    );
    const [taken = ''] = [new ToolNames(['a.b']).wireOf('a.b')];
    const both = new ToolNames(['a.b', taken]);
    expect([both.ownOf(both.wireOf('a.b')), both.ownOf(both.wireOf(taken)), both.wireOf(taken)]).toEqual([
      'a.b',
      taken,
      taken,
    ]);
  });
});

describe('a definition', () => {
  test.each<[string, unknown, RegExp]>([
    ['no model', {}, /model: expected a model of the AI SDK/],
    ['an older version', { model: { specificationVersion: 'v2' } }, /v4 or v3.*"v2"/],
    ['a name without a provider', { model: 'gpt-5' }, /a provider, a slash and a model/],
    ['an unknown option', { model: 'openai/gpt-5', temprature: 1 }, /temprature/],
    [
      'options of a provider that are none',
      { model: 'openai/gpt-5', providerOptions: { openai: 7 } },
      /providerOptions\.openai: expected an object of options, got number/,
    ],
    [
      'a provider tool that is none',
      { model: 'openai/gpt-5', providerTools: { w: 7 } },
      /providerTools\.w: expected a tool .*, got number/,
    ],
    [
      'a provider tool without an id',
      { model: 'openai/gpt-5', providerTools: { w: {} } },
      /providerTools\.w: expected a tool/,
    ],
    [
      'a header that is no text',
      { model: 'openai/gpt-5', headers: { a: 7 } },
      /headers\.a: expected a text, got number/,
    ],
    ['a package that is not there', { model: 'cohere/command-a' }, /npm install @ai-sdk\/cohere/],
  ])('with %s is refused [model.aiSdk.definition]', (_name, params, message) => {
    const make = () => new AiSdkModel(params as AiSdkModelParams);
    expect(make).toThrow(DefinitionError);
    expect(make).toThrow(message);
  });

  test.each<[string, object, RegExp]>([
    ['openai.responses', { type: 'object', anyOf: [{ type: 'object' }] }, /tool "look".*at anyOf: OpenAI/],
    [
      'openai.chat',
      { type: 'object', properties: { a: { properties: { b: { type: 'array' } } } } },
      /at properties\.a\.properties\.b: OpenAI takes no list/,
    ],
    [
      'anthropic.messages',
      { type: 'object', properties: { 'a b': { type: 'string' } } },
      /at properties\["a b"\]: Anthropic/,
    ],
  ])(
    'of %s with a schema that it refuses is named with the path [model.aiSdk.schemas]',
    async (provider, parametersJsonSchema, message) => {
      const model = on(mocked([], { provider }));
      const declarations = [{ name: 'look', parametersJsonSchema }];
      expect(() => model.assertTakes({ owner: 'agent "a"', declarations })).toThrow(message);
      const { error } = await failure(
        model,
        request({ config: { tools: [{ functionDeclarations: declarations }] } }),
      );
      expect(error).toMatchObject({ kind: 'bad_request', message: expect.stringMatching(message) });
      expect(() => on(mocked([])).assertTakes({ owner: 'agent "a"', declarations })).not.toThrow();
    },
  );

  test('a sign-in that fails is a failure of the call, and a token is in no message [model.aiSdk.secrets]', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const withHeaders = (headers: () => Promise<Record<string, string>>) =>
      Object.assign(
        mocked([], {
          doGenerate: async () => {
            throw new Error(`refused ${(await headers()).authorization}`);
          },
        }),
        { config: { headers } },
      );
    const refused = withHeaders(async () => {
      throw new Error('Could not load the default credentials');
    });
    expect((await failure(on(refused))).error.message).toContain('Could not load the default credentials');
    const signed = withHeaders(async () => ({ authorization: 'Bearer ya29.token-1' }));
    expect((await failure(on(signed))).error.message).not.toContain('token-1');
    // Node tells of rejections after the callbacks of the moment.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  test('a key that a long answer repeats where its text is cut is in no message [model.aiSdk.secrets]', async () => {
    const key = 'corp_0123456789abcdefghijklmnop';
    const refused = mocked([], {
      doGenerate: async () => {
        const responseBody = `${'x'.repeat(985)}${key}`;
        throw Object.assign(new Error('refused'), { name: 'AI_APICallError', statusCode: 401, responseBody });
      },
    });
    const headers = { authorization: `Bearer ${key}` };
    const { message } = (await failure(on(refused, { headers }))).error;
    expect(message).toContain('refused: xxx');
    expect(message).not.toContain('corp_');
  });

  test('a large error of a provider holds nobody up, and is cut [model.aiSdk.failures]', async () => {
    const piece = 'a'.repeat(120_000);
    const message = `${piece}\\${piece}`;
    const responseBody = JSON.stringify({ error: { message, type: piece.repeat(4) } });
    const refused = mocked([], {
      doGenerate: async () => {
        throw Object.assign(new Error(message), { name: 'AI_APICallError', statusCode: 400, responseBody });
      },
    });
    const pause = await longestPause(async () => {
      const { error } = await failure(on(refused));
      expect(error).toMatchObject({ kind: 'bad_request' });
      expect(error.message.length).toBeLessThan(5_000);
    });
    expect(pause).toBeLessThan(2_000);
  });

  test('an answer of very many parts is read [model.aiSdk.bounds]', async () => {
    const content = Array.from({ length: 140_000 }, () => ({ type: 'reasoning', text: 'a' }));
    const config = { responseMimeType: 'application/json' };
    const model = on(mocked(content, { result: { structuredOutputText: '{}' } }));
    const [response] = await ask(model, request({ config }));
    expect(response?.content?.parts?.at(-1)).toEqual({ text: '{}' });
  });

  test('a logged model shows no options, and has a name of its own [model.aiSdk.secrets]', () => {
    const model = on(mocked([]), {
      headers: { authorization: 'Bearer 1234567890' },
      name: 'team/m',
      limitKey: 'team',
    });
    expect(JSON.stringify(model)).not.toContain('1234567890');
    expect([model.model, model.limitKey, on(mocked([])).model]).toEqual(['team/m', 'team', 'mock/m-1']);
  });
});
