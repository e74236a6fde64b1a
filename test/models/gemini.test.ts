import { execFile } from 'node:child_process';
import { inspect, promisify } from 'node:util';
import { GoogleGenAI, type Part } from '@google/genai';
import { afterEach, expect, test, vi } from 'vitest';
import { Gemini, type GeminiParams } from '../../src/models/gemini.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import { blocked, call, calls, reply, stopped, text } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { ask, failure, geminiAt, request, userText } from './ask.ts';
import { sendJson, startRawServer } from './raw-server.ts';

const ENVIRONMENT = [
  'GOOGLE_GENAI_API_KEY',
  'GOOGLE_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_VERTEX_BASE_URL',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_GENAI_USE_ENTERPRISE',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_CLOUD_LOCATION',
  'GOOGLE_GENAI_API_VERSION',
  'GOOGLE_APPLICATION_CREDENTIALS',
];

function onlyEnvironment(values: Record<string, string>): void {
  for (const name of ENVIRONMENT) vi.stubEnv(name, values[name]);
}

afterEach(() => {
  vi.unstubAllEnvs();
});

const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
};

test('asks once and gives the answer with usage, finish reason and model version [model.answer]', async () => {
  await using gemini = await startMockGemini({
    script: [reply(text('Hello.'), { usage: { promptTokenCount: 5, candidatesTokenCount: 2 } })],
  });

  const responses = await ask(geminiAt(gemini.url));

  expect(responses).toEqual([
    {
      content: { role: 'model', parts: [{ text: 'Hello.' }] },
      finishReason: 'STOP',
      usageMetadata: expect.objectContaining({ promptTokenCount: 5, candidatesTokenCount: 2 }),
      modelVersion: expect.any(String),
    },
  ]);
  expect(gemini.requests).toHaveLength(1);
  expect(gemini.requests[0]?.path).toContain('/models/gemini-2.5-flash:generateContent');
  expect(gemini.refusals).toEqual([]);
});

test('gives parallel calls in order and sends signed parts back unchanged [model.verbatim]', async () => {
  await using gemini = await startMockGemini({
    script: [
      calls([
        { name: 'weather', args: { city: 'Tartu' } },
        { name: 'time', args: {} },
      ]),
      text('Sunny, noon.'),
    ],
  });
  const model = geminiAt(gemini.url, { model: 'gemini-3-pro' });
  const config = {
    tools: [{ functionDeclarations: ['weather', 'time'].map((name) => ({ name, description: name })) }],
  };

  const [first] = await ask(model, request({ config }));
  const parts = first?.content?.parts ?? [];
  const responses = parts.map(({ functionCall }) => ({
    functionResponse: { id: functionCall?.id, name: functionCall?.name, response: { result: 'ok' } },
  }));
  const contents = [userText('Hi'), first?.content ?? {}, { role: 'user', parts: responses }];
  const [second] = await ask(model, request({ config, contents }));

  expect(parts.map((part) => part.functionCall?.name)).toEqual(['weather', 'time']);
  expect(parts[0]?.thoughtSignature).toEqual(expect.any(String));
  expect(second?.content?.parts).toEqual([{ text: 'Sunny, noon.' }]);
  expect(gemini.refusals).toEqual([]);
});

test('sends generateContentConfig, and leaves the request as it was [model.config]', async () => {
  await using server = await startRawServer((response) => sendJson(response, 200, ANSWER));
  const declaration = { name: 'pay', parameters: { type: 'object', properties: {} } as never };
  const config = {
    temperature: 0.2,
    systemInstruction: 'Be terse.',
    tools: [{ functionDeclarations: [declaration] }],
    toolConfig: { functionCallingConfig: { streamFunctionCallArguments: true } },
    httpOptions: { headers: { 'x-trace': '7' } },
  };
  const llmRequest = request({ config, contents: [] });
  const before = structuredClone(llmRequest);

  await ask(geminiAt(server.url, { headers: { 'x-app': 'shop' } }), llmRequest);

  expect(llmRequest).toEqual(before);
  expect(server.requests[0]?.body).toMatchObject({
    contents: [{ role: 'user', parts: [{ text: expect.stringContaining('System Instruction') }] }],
    systemInstruction: { parts: [{ text: 'Be terse.' }] },
    generationConfig: { temperature: 0.2 },
    tools: [{ functionDeclarations: [{ name: 'pay' }] }],
    toolConfig: { functionCallingConfig: {} },
  });
  expect(JSON.stringify(server.requests[0]?.body)).not.toContain('streamFunctionCallArguments');
  expect(server.requests[0]?.headers).toMatchObject({ 'x-app': 'shop', 'x-trace': '7' });
});

test('sends fields of parts back that the SDK does not know [model.verbatim]', async () => {
  await using server = await startRawServer((response) => sendJson(response, 200, ANSWER));
  const modelParts = [
    { functionCall: { id: 'c1', name: 'pay', args: {}, approvalToken: 'abc' }, futureSignature: 'xyz' },
  ];
  const contents = [userText('Hi'), { role: 'model', parts: modelParts }, userText('Go on')];

  await ask(geminiAt(server.url), request({ contents, config: { temperature: 1 } }));

  expect(server.requests[0]?.body).toMatchObject({ contents, generationConfig: { temperature: 1 } });
});

test('the SDK sends all fields of parts that are left to it', async () => {
  await using server = await startRawServer((response) => sendJson(response, 200, ANSWER));
  const part: Required<Part> = {
    audioTranscription: { text: 'a' },
    codeExecutionResult: { output: 'a' },
    executableCode: { code: 'a' },
    fileData: { fileUri: 'a' },
    functionCall: { id: 'a', name: 'a', args: { a: 1 } },
    functionResponse: { id: 'a', name: 'a', response: { a: 1 } },
    inlineData: { mimeType: 'a', data: 'YQ==' },
    mediaProcessing: {} as never,
    mediaResolution: {},
    partMetadata: { a: 1 },
    speechMetadata: {},
    text: 'a',
    thought: true,
    thoughtSignature: 'YQ==',
    toolCall: { id: 'a' },
    toolResponse: { id: 'a' },
    videoMetadata: { fps: 1 },
  };
  const contents = [{ role: 'user', parts: [part] }];

  await ask(geminiAt(server.url), request({ contents }));

  expect(server.requests[0]?.body.contents).toEqual(contents);
});

test('keeps parts that it does not know', async () => {
  const parts = [{ text: 'a' }, { somethingNew: { deep: [1] } }, { functionCall: { name: 'f', args: {} } }];
  await using server = await startRawServer((response) =>
    sendJson(response, 200, { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] }),
  );

  const [response] = await ask(geminiAt(server.url));

  expect(response?.content?.parts).toEqual(parts);
});

test('says why there is no answer [model.safety]', async () => {
  await using gemini = await startMockGemini({
    script: [blocked('PROHIBITED_CONTENT'), stopped('SAFETY'), stopped('MAX_TOKENS', 'The first')],
  });
  const model = geminiAt(gemini.url);

  const [prompt] = await ask(model);
  const [answer] = await ask(model);
  const [cut] = await ask(model);

  expect(prompt).toMatchObject({ errorCode: 'PROHIBITED_CONTENT', errorMessage: expect.any(String) });
  expect(answer).toMatchObject({ errorCode: 'SAFETY', finishReason: 'SAFETY' });
  expect(answer?.content).toBeUndefined();
  expect(cut).toMatchObject({ content: { parts: [{ text: 'The first' }] }, finishReason: 'MAX_TOKENS' });
  expect(cut?.errorCode).toBeUndefined();
});

test('makes no second request after a failure, whatever retry options say [model.errors]', async () => {
  await using server = await startRawServer((response) => sendJson(response, 503, {}));
  const retryOptions = { attempts: 4, initialDelay: 0.001 };
  const model = geminiAt(server.url, { httpOptions: { retryOptions } });

  await failure(model, request({ config: { httpOptions: { retryOptions } } }));

  expect(server.requests).toHaveLength(1);
});

test('reads key and base URL from the environment of the SDK and of ADK, at the first call [model.environment]', async () => {
  await using gemini = await startMockGemini({ script: () => text('ok'), apiKey: 'key-from-env' });
  for (const name of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY']) {
    onlyEnvironment({});
    const model = new Gemini();
    onlyEnvironment({ [name]: ' key-from-env\n', GOOGLE_GEMINI_BASE_URL: gemini.url });

    const [response] = await ask(model);

    expect(response?.content?.parts).toEqual([{ text: 'ok' }]);
  }
});

test('reaches Vertex AI by parameters and by environment [model.environment]', async () => {
  await using server = await startRawServer((response) => sendJson(response, 200, ANSWER));
  const path = '/v1beta1/projects/shop/locations/europe-west4/publishers/google/models/gemini-2.5-flash';
  const httpOptions = { baseUrl: server.url };
  onlyEnvironment({});
  await ask(
    new Gemini({
      vertexai: true,
      project: 'shop',
      location: 'europe-west4',
      apiKey: 'vertex-key',
      httpOptions,
    }),
  );
  onlyEnvironment({ GOOGLE_GENAI_USE_VERTEXAI: '1', GOOGLE_API_KEY: 'express-key' });
  vi.stubEnv('GOOGLE_VERTEX_BASE_URL', server.url);
  await ask(new Gemini(), request({ model: 'gemini-2.5-pro' }));

  expect(server.requests.map((sent) => [sent.path, sent.headers['x-goog-api-key']])).toEqual([
    [`${path}:generateContent`, 'vertex-key'],
    ['/v1beta1/publishers/google/models/gemini-2.5-pro:generateContent', 'express-key'],
  ]);
});

test('says what to do where there are no credentials [model.environment]', async () => {
  onlyEnvironment({});
  const { error } = await failure(new Gemini());
  const vertex = await failure(new Gemini({ vertexai: true }));

  expect(error).toMatchObject({ code: 'HOLDFAST_MODEL_AUTHENTICATION', retryable: false });
  expect(error.message).toContain('GEMINI_API_KEY');
  expect(vertex.error).toMatchObject({ code: 'HOLDFAST_MODEL_AUTHENTICATION', retryable: false });
  expect(vertex.error.message).toContain('GOOGLE_CLOUD_PROJECT');
});

test('says that Google Cloud credentials cannot be used', async () => {
  onlyEnvironment({ GOOGLE_APPLICATION_CREDENTIALS: '/nonexistent/credentials.json' });

  const { error } = await failure(new Gemini({ vertexai: true, project: 'shop', location: 'global' }));

  expect(error).toMatchObject({ kind: 'authentication', retryable: false });
  expect(error.message).toContain('GOOGLE_APPLICATION_CREDENTIALS');
});

test.each<[unknown, string]>([
  [{ apikey: 'x' }, 'Gemini: apikey: unknown option; did you mean "apiKey"?'],
  [{ model: 3 }, 'Gemini: model: expected string, got number'],
  [{ headers: ['a'] }, 'Gemini: headers: expected object, got array'],
  [{ useInteractionsApi: true }, 'Gemini: useInteractionsApi: an option of ADK'],
])('refuses wrong parameters %j', (params, message) => {
  const make = () => new Gemini(params as GeminiParams);

  expect(make).toThrow(DefinitionError);
  expect(make).toThrow(message);
});

test('shows no key when it is logged [model.secrets]', async () => {
  await using gemini = await startMockGemini({ script: () => text('ok') });
  const model = geminiAt(gemini.url, {
    apiKey: 'planted-key-1',
    headers: { authorization: 'planted-key-2' },
  });
  await ask(model);

  expect(inspect(model, { depth: 9, showHidden: true })).not.toContain('planted-key');
  expect(JSON.stringify(model)).not.toContain('planted-key');
});

test('works with a fetch of the user', async () => {
  await using gemini = await startMockGemini({ script: () => text('ok') });
  const seen: string[] = [];
  const model = geminiAt(gemini.url, {
    httpOptions: {
      fetch: (input, init) => {
        seen.push(String(input));
        return fetch(input, init);
      },
    },
  });

  await ask(model);

  expect(seen).toEqual([expect.stringContaining(gemini.url)]);
});

test('asks the client that a subclass or a spy brings [types.adk]', async () => {
  await using gemini = await startMockGemini({ script: () => text('ok'), apiKey: 'brought' });
  onlyEnvironment({});
  const client = new GoogleGenAI({ apiKey: 'brought', httpOptions: { baseUrl: gemini.url } });
  class Brought extends Gemini {
    override get apiClient() {
      return client;
    }
  }
  const spied = new Gemini();
  expect(() => spied.apiClient).toThrow(ModelError);
  vi.spyOn(spied, 'apiClient', 'get').mockReturnValue(client);

  for (const model of [new Brought(), spied]) {
    for (const stream of [false, true]) {
      const responses = await ask(model, request(), { stream });
      expect(responses.at(-1)?.content?.parts).toEqual([{ text: 'ok' }]);
    }
  }
});

test('opens no live connection [types.adk]', async () => {
  await expect(new Gemini().connect(request())).rejects.toThrow(
    'The model "gemini-2.5-flash" opens no live connection: ask it by generateContentAsync.',
  );
});

test('waits for slow models: the limits of Node for headers and body are off', async () => {
  await using gemini = await startMockGemini({ script: () => call('f') });
  const symbol = Symbol.for('undici.globalDispatcher.1');
  const original = Reflect.get(globalThis, symbol);
  const seen: object[] = [];
  Reflect.set(globalThis, symbol, {
    dispatch(options: object, handler: unknown) {
      seen.push(options);
      return original.dispatch(options, handler);
    },
  });
  try {
    await ask(geminiAt(gemini.url));
  } finally {
    Reflect.set(globalThis, symbol, original);
  }

  expect(seen).toEqual([expect.objectContaining({ headersTimeout: 0, bodyTimeout: 0 })]);
});

test('is defined without loading the SDK', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (specifier.startsWith('@google/')) throw new Error('loads ' + specifier);
        return next(specifier, context);
      },
    });
    const { LLMRegistry } = await import('./src/models/llm-registry.ts');
    console.log(LLMRegistry.newLlm('gemini-2.5-flash').model);
  `;

  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);

  expect(stdout.trim()).toBe('gemini-2.5-flash');
});
