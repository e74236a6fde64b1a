import { expect, onTestFinished, test } from 'vitest';
import { text } from '../../src/testing/gemini-reply.ts';
import { type MockGeminiOptions, startMockGemini } from '../../src/testing/mock-gemini.ts';

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

test('takes snake_case, as the documentation writes it [mock.calls]', async () => {
  const { gemini, post } = await start();
  const answer = await post({
    contents: [
      user,
      { role: 'model', parts: [{ function_call: { name: 'a', args: { snake_arg: 1 } } }] },
      { role: 'user', parts: [{ function_response: { name: 'a', response: { snake_key: 1 } } }] },
    ],
    system_instruction: { parts: [{ text: 'x' }] },
    tools: [
      {
        function_declarations: [
          {
            name: 'a',
            parameters: {
              type: 'OBJECT',
              properties: {
                my_arg: { type: 'ARRAY', min_items: 1, items: { any_of: [{ type: 'STRING' }] } },
              },
              required: ['my_arg'],
            },
          },
        ],
      },
    ],
    tool_config: { function_calling_config: { mode: 'AUTO' } },
    generation_config: { max_output_tokens: 5 },
  });
  expect(gemini.refusals).toEqual([]);
  expect(answer.status).toBe(200);
});

test('snake_case bodies reach the script in lowerCamelCase, free-form values untouched', async () => {
  const { gemini, post } = await start();
  await post({
    contents: [
      user,
      { role: 'model', parts: [{ function_call: { name: 'a', args: { snake_arg: { deep_arg: 1 } } } }] },
      { role: 'user', parts: [{ function_response: { name: 'a', response: { snake_key: 1 } } }] },
    ],
    tools: [
      {
        function_declarations: [
          { name: 'a', parameters: { type: 'OBJECT', properties: { my_arg: { min_items: 1 } } } },
        ],
      },
    ],
  });
  expect(gemini.requests[0]?.body).toEqual({
    contents: [
      user,
      { role: 'model', parts: [{ functionCall: { name: 'a', args: { snake_arg: { deep_arg: 1 } } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'a', response: { snake_key: 1 } } }] },
    ],
    tools: [
      {
        functionDeclarations: [
          { name: 'a', parameters: { type: 'OBJECT', properties: { my_arg: { minItems: 1 } } } },
        ],
      },
    ],
  });
});
