import type { GenerateContentConfig } from '@google/genai';
import { expect, test } from 'vitest';
import { text } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { ask, failure, geminiAt, request } from './ask.ts';

const find = { functionDeclarations: [{ name: 'find', description: 'finds' }] };
const search = { googleSearch: {} };
const EITHER =
  'This model takes either built-in tools (googleSearch) or functions (find): give one kind to an agent';

test.each<[string, string, GenerateContentConfig, string]>([
  ['built-in tools and functions', 'gemini-2.5-flash', { tools: [search, find] }, EITHER],
  [
    'built-in tools and functions without saying so',
    'gemini-3-pro-preview',
    { tools: [find, search] },
    'Set generateContentConfig.toolConfig.includeServerSideToolInvocations to true: this model takes built-in tools (googleSearch)',
  ],
  [
    'functions and JSON',
    'gemini-2.5-flash',
    { tools: [find], responseMimeType: 'application/json' },
    'This model takes either tools (find) or a response in JSON: leave out',
  ],
  [
    'built-in tools and JSON',
    'gemini-2.5-flash',
    { tools: [search], responseMimeType: 'application/json' },
    'This model takes either tools (googleSearch) or a response in JSON: leave out',
  ],
])(
  'a request with %s is refused by %s, and told what to do [model.errors]',
  async (_, model, config, told) => {
    await using gemini = await startMockGemini({ script: () => text('ok') });
    const { error } = await failure(geminiAt(gemini.url, { model }), request({ config }));
    expect(error).toMatchObject({ kind: 'bad_request', status: 400, retryable: false });
    expect(error.message).toContain(told);
    expect(error.message).toContain('(400 INVALID_ARGUMENT)');
  },
);

test.each<[string, GenerateContentConfig]>([
  ['gemini-2.5-flash', { tools: [search, { codeExecution: {} }] }],
  ['gemini-3-pro-preview', { tools: [search, find], toolConfig: { includeServerSideToolInvocations: true } }],
  ['gemini-3-pro-preview', { tools: [find], responseMimeType: 'application/json' }],
])('%s takes what it combines: %j', async (model, config) => {
  await using gemini = await startMockGemini({ script: () => text('ok') });
  expect(await ask(geminiAt(gemini.url, { model }), request({ config }))).toMatchObject([
    { content: { parts: [{ text: 'ok' }] } },
  ]);
});
