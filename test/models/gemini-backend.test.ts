import type { GenerateContentConfig } from '@google/genai';
import { afterEach, expect, test, vi } from 'vitest';
import { Gemini } from '../../src/models/gemini.ts';
import { isGemini2OrAbove, takesSchemaWithTools } from '../../src/models/gemini-generation.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { namingSchema } from '../../src/models/refused-tools.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { ask, failure, geminiAt, request } from './ask.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

const vertex = { vertexai: true, project: 'p', location: 'l' };

const named = {
  contents: [
    {
      role: 'user',
      parts: [
        { text: 'Look' },
        { inlineData: { data: 'AA==', mimeType: 'image/png', displayName: 'logo' } },
        { fileData: { fileUri: 'gs://a/b', mimeType: 'text/plain', displayName: 'notes' } },
      ],
    },
  ],
  config: { labels: { adk_agent_name: 'support' } },
};

test('labels and names of files are not sent to the Gemini API, which refuses them; the request keeps them [request.build]', async () => {
  await using gemini = await startMockGemini({ script: [text('ok')] });
  const llmRequest = request(structuredClone(named));
  await ask(geminiAt(gemini.url), llmRequest);
  expect(gemini.refusals).toEqual([]);
  expect(gemini.requests[0]?.body).not.toHaveProperty('labels');
  expect(gemini.requests[0]?.body.contents).toEqual([
    {
      role: 'user',
      parts: [
        { text: 'Look' },
        { inlineData: { data: 'AA==', mimeType: 'image/png' } },
        { fileData: { fileUri: 'gs://a/b', mimeType: 'text/plain' } },
      ],
    },
  ]);
  expect(llmRequest).toMatchObject(named);
});

test('to Vertex AI they are sent [request.build]', async () => {
  let sent: unknown;
  const fetch = async (_input: unknown, init?: RequestInit) => {
    sent = JSON.parse(String(init?.body));
    return Response.json({ candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] });
  };
  const model = new Gemini({ vertexai: true, apiKey: 'k', httpOptions: { fetch: fetch as never } });
  await ask(model, request(structuredClone(named)));
  expect(sent).toMatchObject({ contents: named.contents, labels: named.config.labels });
});

const going = (willContinue: boolean) => ({
  contents: [
    { role: 'user', parts: [{ text: 'Order it' }] },
    { role: 'model', parts: [{ functionCall: { name: 'order', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'order', response: { s: 'on' }, willContinue } }] },
  ],
});

test.each([true, false])(
  'whether a response is followed by others (%s) is sent to neither backend; the request keeps it [job.detach]',
  async (willContinue) => {
    const told = [{ functionResponse: { name: 'order', response: { s: 'on' } } }];
    await using gemini = await startMockGemini({ script: [text('ok')] });
    const llmRequest = request(structuredClone(going(willContinue)));
    await ask(geminiAt(gemini.url), llmRequest);
    expect(gemini.refusals).toEqual([]);
    expect((gemini.requests[0]?.body.contents as unknown[] | undefined)?.at(-1)).toEqual({
      role: 'user',
      parts: told,
    });
    expect(llmRequest).toMatchObject(going(willContinue));
    const sent: unknown[] = [];
    const fetch = async (_input: unknown, init?: RequestInit) => {
      sent.push(JSON.parse(String(init?.body)));
      return Response.json({ candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }] });
    };
    const model = new Gemini({ vertexai: true, apiKey: 'k', httpOptions: { fetch: fetch as never } });
    await ask(model, llmRequest);
    expect(sent).toMatchObject([{ contents: [{}, {}, { parts: told }] }]);
  },
);

test('a model knows its backend, as given or as the environment says [agent.outputSchema]', () => {
  vi.stubEnv('GOOGLE_GENAI_USE_ENTERPRISE', undefined);
  vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', 'true');
  expect(new Gemini().vertexai).toBe(true);
  expect(new Gemini({ vertexai: false }).vertexai).toBe(false);
  vi.stubEnv('GOOGLE_GENAI_USE_VERTEXAI', undefined);
  expect(new Gemini().vertexai).toBe(false);
  expect(new Gemini(vertex).vertexai).toBe(true);
  expect(takesSchemaWithTools(new Gemini({ model: 'gemini-2.5-pro', ...vertex }))).toBe(true);
  expect(takesSchemaWithTools(new Gemini({ model: 'gemini-1.5-pro', ...vertex }))).toBe(false);
  expect(takesSchemaWithTools(new Gemini({ model: 'gemini-2.5-pro' }))).toBe(false);
});

test.each([
  ['gemini-2.5-flash', true],
  ['gemini-3-pro-preview', true],
  ['gemini-10', true],
  ['projects/p/locations/l/publishers/google/models/gemini-2.0-flash', true],
  ['gemini-1.5-pro', false],
  ['gemini-flash-latest', false],
  ['gemini-2x-pro', false],
  ['my-gemini-2.5', false],
  [undefined, false],
])('%s is Gemini 2 or above: %s', (model, expected) => {
  expect(isGemini2OrAbove(model)).toBe(expected);
});

const config: GenerateContentConfig = {
  tools: [{ codeExecution: {} }, { functionDeclarations: [{ name: 'find' }, { name: 'pay' }] }],
};

test.each([
  [
    '* GenerateContentRequest.tools[1].function_declarations[1].parameters.properties[amounts].items: missing field.',
    'Change the tool "pay" at parameters.properties[amounts].items (keyword "items"). ',
  ],
  [
    `Invalid JSON payload received. Unknown name "const" at 'tools[1].function_declarations[0].parameters.properties[0].value': Cannot find field.`,
    'Change the tool "find" at parameters.properties[0].value (keyword "const"). ',
  ],
  [
    'first line\n* GenerateContentRequest.tools[1].functionDeclarations[0].name: [FIELD_INVALID] Invalid function name.',
    'Change the tool "find" at name (keyword "name"). ',
  ],
  [
    '* GenerateContentRequest.generation_config.response_json_schema.properties[a].required[0]: property is not defined',
    'Change the outputSchema at properties[a].required[0] (keyword "required"). ',
  ],
  [`Unknown name "if" at 'generation_config.response_schema': …`, 'Change the outputSchema (keyword "if"). '],
  ['* GenerateContentRequest.tools[7].function_declarations[1].parameters: what', ''],
  ['* GenerateContentRequest.contents: contents is not specified', ''],
])('of %s the schema and the keyword are named [request.refusedSchema]', (message, expected) => {
  const error = new ModelError({ kind: 'bad_request', message, status: 400 });
  expect(namingSchema(error, config)).toMatchObject({
    code: 'HOLDFAST_MODEL_BAD_REQUEST',
    status: 400,
    retryable: false,
    message: expected + message,
  });
});

test('another failure is not touched [request.refusedSchema]', () => {
  const error = new ModelError({ kind: 'unavailable', message: 'tools[1].function_declarations[0].x' });
  expect(namingSchema(error, config)).toBe(error);
});

test('a schema that the provider refuses is named in the error of the call [request.refusedSchema]', async () => {
  await using gemini = await startMockGemini({ script: [] });
  const parameters = { type: 'OBJECT', properties: { ids: { type: 'ARRAY' } } } as never;
  const llmRequest = request({
    config: { tools: [{ functionDeclarations: [{ name: 'find' }, { name: 'pay', parameters }] }] },
  });
  for (const stream of [false, true]) {
    const { error } = await failure(geminiAt(gemini.url), llmRequest, { stream });
    expect(error.code).toBe('HOLDFAST_MODEL_BAD_REQUEST');
    expect(error.message).toMatch(
      /^Change the tool "pay" at parameters\.properties\[ids\]\.items \(keyword "items"\)\./,
    );
  }
});
