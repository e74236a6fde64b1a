import type { GenerateContentResponse } from '@google/genai';
import { expect, test } from 'vitest';
import { createLlmResponse } from '../../src/models/llm-response.ts';

function response(value: object): GenerateContentResponse {
  return value as GenerateContentResponse;
}

const USAGE = { promptTokenCount: 1 };

const ANSWERED = {
  content: { role: 'model', parts: [{ text: 'a' }] },
  finishReason: 'MAX_TOKENS',
  groundingMetadata: { webSearchQueries: ['q'] },
  citationMetadata: { citations: [] },
};

test.each<[string, object, object]>([
  ['an answer', { candidates: [ANSWERED, { finishReason: 'STOP' }] }, ANSWERED],
  [
    'a stop with a message',
    { candidates: [{ finishReason: 'SAFETY', finishMessage: 'No.' }] },
    { errorCode: 'SAFETY', errorMessage: 'No.', finishReason: 'SAFETY' },
  ],
  [
    'a blocked prompt',
    { promptFeedback: { blockReason: 'OTHER', blockReasonMessage: 'No.' } },
    { errorCode: 'OTHER', errorMessage: 'No.' },
  ],
  ['nothing', {}, { errorCode: 'UNKNOWN_ERROR', errorMessage: 'Unknown error.' }],
  [
    'a candidate without anything',
    { candidates: [{}] },
    { errorCode: 'UNKNOWN_ERROR', errorMessage: 'The model stopped without an answer (UNKNOWN_ERROR).' },
  ],
])('reads %s [model.answer]', (_, value, expected) => {
  expect(createLlmResponse(response({ ...value, usageMetadata: USAGE }))).toStrictEqual({
    ...expected,
    usageMetadata: USAGE,
  });
});

test('names the model version', () => {
  expect(createLlmResponse(response({ modelVersion: 'gemini-2.5-flash-002' }))).toMatchObject({
    modelVersion: 'gemini-2.5-flash-002',
  });
});

test('a normal stop without a part is an answer without content', () => {
  const value = { candidates: [{ content: { role: 'model' }, finishReason: 'STOP' }], usageMetadata: USAGE };

  expect(createLlmResponse(response(value))).toEqual({ finishReason: 'STOP', usageMetadata: USAGE });
});

test('names the harm categories where the provider says nothing [model.safety]', () => {
  const safetyRatings = [
    { category: 'HARM_CATEGORY_HARASSMENT', blocked: false },
    { category: 'HARM_CATEGORY_DANGEROUS_CONTENT', blocked: true },
  ];

  const stopped = createLlmResponse(response({ candidates: [{ finishReason: 'SAFETY', safetyRatings }] }));
  const blocked = createLlmResponse(response({ promptFeedback: { blockReason: 'SAFETY', safetyRatings } }));

  expect(stopped.errorMessage).toBe(
    'The model stopped without an answer (SAFETY): HARM_CATEGORY_DANGEROUS_CONTENT.',
  );
  expect(blocked.errorMessage).toBe('The prompt was blocked (SAFETY): HARM_CATEGORY_DANGEROUS_CONTENT.');
});

test('gives content without a role that of the model', () => {
  const value = { candidates: [{ content: { parts: [{ text: 'a' }] } }] };

  expect(createLlmResponse(response(value)).content).toEqual({ role: 'model', parts: [{ text: 'a' }] });
});
