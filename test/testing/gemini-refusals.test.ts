import { expect, onTestFinished, test } from 'vitest';
import { text } from '../../src/testing/gemini-reply.ts';
import { type MockGeminiOptions, startMockGemini } from '../../src/testing/mock-gemini.ts';

type Body = Record<string, unknown>;

const MODEL = 'gemini-2.5-flash';
const user = { role: 'user', parts: [{ text: 'Hi' }] };
const said = { role: 'model', parts: [{ text: 'Hello' }] };
const called = (...list: object[]) => ({
  role: 'model',
  parts: list.map((functionCall) => ({ functionCall })),
});
const answered = (...list: object[]) => ({
  role: 'user',
  parts: list.map((item) => ({ functionResponse: { response: { ok: true }, ...item } })),
});

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

const withContents = (...contents: unknown[]): Body => ({ contents });
const withDeclarations = (...functionDeclarations: unknown[]): Body => ({
  contents: [user],
  tools: [{ functionDeclarations }],
});
const COUNT =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';
const CALL_TURN =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.';
const RESPONSE_TURN =
  'Please ensure that function response turn comes immediately after a function call turn.';

test.each<[string, unknown, string]>([
  ['malformed JSON', '{"contents": [', 'Invalid JSON payload received.'],
  ['a body that is a list', '[]', 'Invalid JSON payload received. Root element must be a message.'],
  [
    'an unknown field',
    { contents: [user], config: {} },
    'Invalid JSON payload received. Unknown name "config": Cannot find field.',
  ],
  [
    'an unknown field of a content',
    withContents({ ...user, id: 'x' }),
    `Unknown name "id" at 'contents[0]': Cannot find field.`,
  ],
  [
    'an unknown field of a part',
    withContents(user, { role: 'model', parts: [{ text: 'a', sig: 1 }] }),
    `Unknown name "sig" at 'contents[1].parts[0]'`,
  ],
  [
    'an unknown field of a call',
    withContents(user, called({ name: 'a', arguments: {} })),
    `Unknown name "arguments" at 'contents[1].parts[0].function_call'`,
  ],
  [
    'an unknown field of a tool',
    { contents: [user], tools: [{ functions: [] }] },
    `Unknown name "functions" at 'tools[0]'`,
  ],
  [
    'an unknown field of a declaration',
    withDeclarations({ name: 'f', strict: true }),
    `Unknown name "strict" at 'tools[0].function_declarations[0]'`,
  ],
  ['contents that are no list', { contents: 'Hi' }, `Invalid value at 'contents' (list), "Hi"`],
  ['a content that is no message', { contents: ['Hi'] }, `Invalid value at 'contents[0]' (message), "Hi"`],
  [
    'text that is no string',
    withContents({ parts: [{ text: 5 }] }),
    `Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5`,
  ],
  [
    'a part with two kinds of data',
    withContents({ parts: [{ text: 'a', inlineData: {} }] }),
    "oneof field 'data' is already set. Cannot set 'inlineData'",
  ],
  [
    'args that are no object',
    withContents(user, called({ name: 'a', args: [1] })),
    `Invalid value at 'contents[1].parts[0].function_call.args' (type.googleapis.com/google.protobuf.Struct), [1]`,
  ],
  [
    'a response that is a string',
    withContents(user, called({ name: 'a' }), answered({ name: 'a', response: 'x' })),
    `Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct), "x"`,
  ],
  [
    'no response at all',
    withContents(user, called({ name: 'a' }), answered({ name: 'a', response: null })),
    'contents[2].parts[0].function_response.response: must be an object',
  ],
  ['an empty body', '', '* GenerateContentRequest.contents: contents is not specified'],
  ['empty contents', withContents(), '* GenerateContentRequest.contents: contents is not specified'],
  [
    'another role',
    withContents(user, { role: 'assistant', parts: [{ text: 'a' }] }),
    'Please use a valid role: user, model. (contents[1].role is "assistant")',
  ],
  [
    'a system role',
    withContents({ role: 'system', parts: [{ text: 'a' }] }),
    'Please use a valid role: user, model.',
  ],
  [
    'no parts',
    withContents(user, { role: 'model' }),
    '* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.',
  ],
  [
    'an empty list of parts',
    withContents({ role: 'user', parts: [] }),
    'contents[0].parts: contents.parts must not be empty.',
  ],
  [
    'an empty system instruction',
    { contents: [user], systemInstruction: { parts: [] } },
    'system_instruction.parts: contents.parts must not be empty.',
  ],
  [
    'a part without data',
    withContents({ parts: [{ thought: true }] }),
    "contents[0].parts[0].data: required oneof field 'data' must have one initialized field",
  ],
  [
    'a call without a name',
    withContents(user, called({ args: {} })),
    'contents[1].parts[0].function_call.name: Name cannot be empty.',
  ],
  [
    'a response without a name',
    withContents(user, called({ name: 'a' }), answered({})),
    'contents[2].parts[0].function_response.name: Name cannot be empty.',
  ],
  [
    'a lone model content',
    withContents(said),
    'Please ensure that single turn requests have a user role or no role. (contents[0])',
  ],
  [
    'a model content first',
    withContents(said, user),
    'Please ensure that multiturn requests start with a user turn. (contents[0])',
  ],
  [
    'a call first',
    withContents(called({ name: 'a' }), answered({ name: 'a' })),
    `${CALL_TURN} (contents[0])`,
  ],
  [
    'a call after a model content',
    withContents(user, said, called({ name: 'a' }), answered({ name: 'a' })),
    `${CALL_TURN} (contents[2])`,
  ],
  ['a call of the user', withContents({ role: 'user', parts: [{ functionCall: { name: 'a' } }] }), CALL_TURN],
  ['a response first', withContents(answered({ name: 'a' })), `${RESPONSE_TURN} (contents[0])`],
  [
    'a response without a call',
    withContents(user, said, answered({ name: 'a' })),
    `${RESPONSE_TURN} (contents[2])`,
  ],
  [
    'a response of the model',
    withContents(user, { ...answered({ name: 'a' }), role: 'model' }),
    RESPONSE_TURN,
  ],
  [
    'a call answered again later',
    withContents(user, called({ name: 'a' }), answered({ name: 'a' }), answered({ name: 'a' })),
    `${RESPONSE_TURN} (contents[3])`,
  ],
  [
    'a call that nothing follows',
    withContents(user, called({ name: 'a' })),
    `${COUNT} (contents[1] has 1 calls, contents[2] is absent)`,
  ],
  [
    'a call that text follows',
    withContents(user, called({ name: 'a' }), user),
    `${COUNT} (contents[1] has 1 calls, contents[2] 0 responses)`,
  ],
  [
    'one of two calls unanswered',
    withContents(user, called({ name: 'a' }, { name: 'b' }), answered({ name: 'a' })),
    COUNT,
  ],
  [
    'responses in two contents',
    withContents(
      user,
      called({ name: 'a' }, { name: 'b' }),
      answered({ name: 'a' }),
      answered({ name: 'b' }),
    ),
    COUNT,
  ],
  [
    'more responses than calls',
    withContents(user, called({ name: 'a' }), answered({ name: 'a' }, { name: 'a' })),
    COUNT,
  ],
  [
    'names out of order',
    withContents(user, called({ name: 'a' }, { name: 'b' }), answered({ name: 'b' }, { name: 'a' })),
    'expected "a", got "b". (contents[2])',
  ],
  [
    'a name that is not the id’s',
    withContents(user, called({ name: 'a', id: '1' }), answered({ name: 'b', id: '1' })),
    'expected "a", got "b". (contents[2])',
  ],
  [
    'an id answered twice',
    withContents(
      user,
      called({ name: 'a', id: '1' }, { name: 'a', id: '2' }),
      answered({ name: 'a', id: '1' }, { name: 'a', id: '1' }),
    ),
    'Function call id "1" is answered more than once. (contents[2])',
  ],
  [
    'an unknown id',
    withContents(user, called({ name: 'a', id: '1' }), answered({ name: 'a', id: '9' })),
    'functionResponse.id does not match functionCall.id: the response of "a" has "9", the calls have ["1"]. (contents[2])',
  ],
  [
    'an id that is missing',
    withContents(user, called({ name: 'a', id: '1' }), answered({ name: 'a' })),
    'functionResponse.id does not match functionCall.id: the response of "a" has no id',
  ],
  [
    'an id that no call has',
    withContents(user, called({ name: 'a' }), answered({ name: 'a', id: '1' })),
    'functionResponse.id does not match functionCall.id',
  ],
  [
    'two calls of one id',
    withContents(
      user,
      called({ name: 'a', id: '1' }, { name: 'b', id: '1' }),
      answered({ name: 'a', id: '1' }, { name: 'b', id: '1' }),
    ),
    'Function call id "1" is used by more than one call. (contents[1])',
  ],
])('refuses %s [mock.refuses]', async (_, body, message) => {
  await expectRefusal(body, message);
});

test.each<[string, Body]>([
  ['several contents of one role', withContents(user, user, said, said, user)],
  ['a content without a role', withContents({ parts: [{ text: 'Hi' }] })],
  ['a model content last', withContents(user, said)],
  [
    'the function role',
    withContents(user, called({ name: 'a' }), { ...answered({ name: 'a' }), role: 'function' }),
  ],
  [
    'steps one after another',
    withContents(
      user,
      called({ name: 'a' }),
      answered({ name: 'a' }),
      called({ name: 'a' }),
      answered({ name: 'a' }),
      said,
      user,
    ),
  ],
  [
    'responses in the order of their ids or another',
    withContents(
      user,
      called({ name: 'a', id: '1' }, { name: 'b', id: '2' }),
      answered({ name: 'b', id: '2' }, { name: 'a', id: '1' }),
    ),
  ],
  [
    'calls with and without ids',
    withContents(
      user,
      called({ name: 'a' }, { name: 'b', id: '2' }),
      answered({ name: 'b', id: '2' }, { name: 'a' }),
    ),
  ],
  [
    'text beside calls and responses',
    withContents(
      user,
      { role: 'model', parts: [{ text: 'Looking.' }, { functionCall: { name: 'a' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: {} } }, { text: 'And be quick.' }] },
    ),
  ],
  ['empty text', withContents(user, { role: 'model', parts: [{ text: '' }] })],
  ['null for what is unset', { contents: [user], tools: null, systemInstruction: null }],
  [
    'other tools and settings',
    {
      contents: [user],
      tools: [{ googleSearch: {} }],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
      safetySettings: [],
      generationConfig: { temperature: 0 },
      cachedContent: 'cachedContents/x',
      labels: {},
    },
  ],
])('accepts %s [mock.refuses]', async (_, body) => {
  await expectAccepted(body);
});

test('lists all violations, with details [mock.refuses]', async () => {
  const { post } = await start();
  const { body } = await post({ contents: [user], a: 1, b: 2 });
  expect(body).toMatchObject({
    error: {
      message: expect.stringMatching(
        /"a": Cannot find field\.\nInvalid JSON payload received\. Unknown name "b"/,
      ),
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: '' }, { field: '' }],
        },
      ],
    },
  });
});

test('without strict it answers whatever parses', async () => {
  const { gemini, post } = await start({ strict: false });
  expect((await post({ contents: [called({ name: 'a' })], made: 'up' })).status).toBe(200);
  expect((await post('{')).status).toBe(400);
  expect(gemini.requests).toHaveLength(1);
});

test('a refused request takes no reply of the script', async () => {
  const { gemini, post } = await start({ script: [text('the only one')] });
  expect((await post(withContents())).status).toBe(400);
  expect((await post(withContents(user))).status).toBe(200);
  expect(gemini.requests.map(({ index }) => index)).toEqual([0]);
  expect(gemini.refusals).toMatchObject([{ code: 400, body: { contents: [] } }]);
});
