import { expect, onTestFinished, test } from 'vitest';
import { text } from '../../src/testing/gemini-reply.ts';
import { type MockGeminiOptions, startMockGemini } from '../../src/testing/mock-gemini.ts';

type Body = Record<string, unknown>;

const MODEL = 'gemini-2.5-flash';
const user = { role: 'user', parts: [{ text: 'Hi' }] };

async function start(options: Partial<MockGeminiOptions> = {}) {
  const gemini = await startMockGemini({ script: () => text('ok'), ...options });
  onTestFinished(() => gemini.close());
  const post = async (body: unknown, method = 'generateContent') => {
    const response = await fetch(`${gemini.url}/v1beta/models/${MODEL}:${method}`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'k', 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as { error: { message: string } } };
  };
  return { gemini, post };
}

async function expectRefusal(body: unknown, message: string) {
  const { gemini, post } = await start();
  for (const method of ['generateContent', 'streamGenerateContent?alt=sse']) {
    const answer = await post(body, method);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT' } } });
    expect(answer.body.error.message).toContain(message);
  }
  expect(gemini.requests).toEqual([]);
  expect(gemini.refusals).toHaveLength(2);
}

async function expectAccepted(body: unknown) {
  const { gemini, post } = await start();
  const answer = await post(body);
  expect(gemini.refusals).toEqual([]);
  expect(answer.status).toBe(200);
}

const withDeclarations = (...functionDeclarations: unknown[]): Body => ({
  contents: [user],
  tools: [{ functionDeclarations }],
});
const withParameters = (parameters: unknown) => withDeclarations({ name: 'f', parameters });
const withJsonSchema = (parametersJsonSchema: unknown) =>
  withDeclarations({ name: 'f', parametersJsonSchema });

test.each<[string, unknown, string]>([
  [
    'an empty tool',
    { contents: [user], tools: [{ functionDeclarations: [] }] },
    "tools[0].tool_type: required one_of 'tool_type' must have one initialized field",
  ],
  [
    'a declaration twice',
    withDeclarations({ name: 'f' }, { name: 'f' }),
    'Duplicate function declaration found: f',
  ],
  [
    'a declaration twice over tools',
    {
      contents: [user],
      tools: [{ functionDeclarations: [{ name: 'f' }] }, { functionDeclarations: [{ name: 'f' }] }],
    },
    'Duplicate function declaration found: f',
  ],
  [
    'a name with a space',
    withDeclarations({ name: 'ok' }, { name: 'get weather' }),
    'tools[0].function_declarations[1].name: [FIELD_INVALID] Invalid function name.',
  ],
  ['a name that starts with a digit', withDeclarations({ name: '1st' }), 'Invalid function name.'],
  ['a name of 129 characters', withDeclarations({ name: 'f'.repeat(129) }), 'Invalid function name.'],
  ['no name', withDeclarations({}), 'Invalid function name.'],
  [
    '513 declarations',
    withDeclarations(...Array.from({ length: 513 }, (_, i) => ({ name: `f${i}` }))),
    'at most 512 function declarations',
  ],
  [
    'both kinds of parameters',
    withDeclarations({ name: 'f', parameters: { type: 'OBJECT' }, parametersJsonSchema: { type: 'object' } }),
    'parameters and parameters_json_schema are mutually exclusive',
  ],
  [
    'both kinds of response',
    withDeclarations({ name: 'f', response: { type: 'STRING' }, responseJsonSchema: {} }),
    'response and response_json_schema are mutually exclusive',
  ],
  [
    'parameters that are no object',
    withParameters({ type: 'STRING' }),
    'function_declarations[0].parameters.type: must be OBJECT, got "STRING"',
  ],
  [
    'parameters without a type',
    withParameters({ properties: {} }),
    'parameters.type: must be OBJECT, got null',
  ],
  [
    'a JSON Schema that is no object',
    withJsonSchema({ type: 'array', items: {} }),
    'parameters_json_schema.type: must be OBJECT, got "array"',
  ],
  [
    'a JSON Schema that is no schema',
    withJsonSchema('object'),
    'parameters_json_schema: must be a JSON Schema object',
  ],
  [
    'additionalProperties',
    withParameters({ type: 'OBJECT', additionalProperties: false }),
    `Unknown name "additionalProperties" at 'tools[0].function_declarations[0].parameters': Cannot find field.`,
  ],
  ['$schema', withParameters({ type: 'OBJECT', $schema: 'x' }), 'Unknown name "$schema"'],
  [
    'const deep inside',
    withParameters({ type: 'OBJECT', properties: { a: { anyOf: [{ type: 'STRING', const: 'x' }] } } }),
    `Unknown name "const" at 'tools[0].function_declarations[0].parameters.properties[0].value.any_of[0]'`,
  ],
  [
    'a type outside of the enum',
    withParameters({ type: 'OBJECT', properties: { a: { type: 'date' } } }),
    `Invalid value at 'tools[0].function_declarations[0].parameters.properties[0].value.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), "date"`,
  ],
  [
    'a list of types',
    withParameters({ type: 'OBJECT', properties: { a: { type: ['string', 'null'] } } }),
    '["string","null"]',
  ],
  [
    'an enum of numbers',
    withParameters({ type: 'OBJECT', properties: { a: { type: 'INTEGER', enum: [1] } } }),
    `properties[0].value.enum[0]' (TYPE_STRING), 1`,
  ],
  [
    'an empty enum',
    withParameters({ type: 'OBJECT', properties: { a: { type: 'STRING', enum: [] } } }),
    'parameters.properties[a].enum: must not be empty',
  ],
  [
    'an empty enum value',
    withParameters({ type: 'OBJECT', properties: { a: { type: 'STRING', enum: [''] } } }),
    'parameters.properties[a].enum[0]: cannot be empty',
  ],
  [
    'an enum without a type',
    withParameters({ type: 'OBJECT', properties: { a: { enum: ['x'] } } }),
    'parameters.properties[a].enum: only allowed for STRING type',
  ],
  [
    'an array without items',
    withParameters({ type: 'OBJECT', properties: { a: { type: 'ARRAY' } } }),
    'parameters.properties[a].items: missing field.',
  ],
  [
    'a required property that is not there',
    withParameters({ type: 'OBJECT', properties: {}, required: ['a'] }),
    '* GenerateContentRequest.tools[0].function_declarations[0].parameters.required[0]: property is not defined',
  ],
  [
    'the same in a JSON Schema',
    withJsonSchema({ type: 'object', properties: { a: { type: 'object', required: ['b'] } } }),
    'parameters_json_schema.properties[a].required[0]: property is not defined',
  ],
  [
    'an empty enum in a JSON Schema',
    withJsonSchema({ type: 'object', properties: { a: { enum: [] } } }),
    'parameters_json_schema.properties[a].enum: must not be empty',
  ],
])('refuses %s [mock.declarations]', async (_, body, message) => {
  await expectRefusal(body, message);
});

test.each<[string, Body]>([
  ['names of every allowed character', withDeclarations({ name: '_a.b:c-D9' }, { name: 'f'.repeat(128) })],
  [
    'a legacy schema of all it may have',
    withParameters({
      type: 'object',
      title: 't',
      description: 'd',
      properties: {
        snake_case: {
          type: 'STRING',
          enum: ['a', 'b'],
          format: 'enum',
          nullable: true,
          default: 'a',
          example: 'b',
          pattern: '.',
          minLength: '1',
          maxLength: '2',
        },
        b: {
          type: 'array',
          items: { type: 'integer', minimum: 0, maximum: 1 },
          minItems: '1',
          maxItems: '2',
        },
        c: { anyOf: [{ type: 'STRING' }, { type: 'NUMBER' }] },
      },
      required: ['snake_case'],
      propertyOrdering: ['b', 'c'],
      minProperties: '1',
      maxProperties: '3',
    }),
  ],
  [
    'a JSON Schema with what legacy parameters lack',
    withJsonSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        a: { type: ['string', 'null'] },
        b: { const: 5 },
        c: { $ref: '#/$defs/c' },
        d: { enum: [1, 2] },
      },
      required: ['a'],
      additionalProperties: false,
      $defs: { c: { allOf: [{ properties: { x: {} } }], required: ['x'] } },
    }),
  ],
])('accepts %s [mock.declarations]', async (_, body) => {
  await expectAccepted(body);
});
