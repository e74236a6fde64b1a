import { expect, test } from 'vitest';
import { BaseLlm, isBaseLlm } from '../../src/models/base-llm.ts';
import { Gemini, isGemini } from '../../src/models/gemini.ts';
import { LLMRegistry, UnknownModelError } from '../../src/models/llm-registry.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { ask, request, userText } from './ask.ts';

class Echo extends BaseLlm {
  static override readonly supportedModels: Array<string | RegExp> = ['echo', /gemini-echo|parrot-\d/gi];

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void> {
    yield { content: { role: 'model', parts: [{ text: this.model }] } };
  }
}

test.each([
  'gemini-2.5-flash',
  'projects/p/locations/l/endpoints/123',
  'projects/p/locations/l/publishers/google/models/gemini-2.5-pro',
])('%s is Gemini [model.registry]', (model) => {
  expect(LLMRegistry.resolve(model)).toBe(Gemini);
  expect(LLMRegistry.newLlm(model)).toMatchObject({ model });
});

test('an unknown model is refused with what is known [model.registry]', () => {
  const resolve = () => LLMRegistry.newLlm('gpt-9');

  expect(resolve).toThrow(UnknownModelError);
  expect(resolve).toThrow(
    /"gpt-9": begin with the provider, as in "openai\/gpt-5"; providers are .*, anthropic, .*, openrouter, xai$/,
  );
  expect(() => LLMRegistry.resolve('my-gemini-2.5-flash')).toThrow(UnknownModelError);
});

test('a class that is registered later goes first, and matches whole names only [model.registry]', async () => {
  LLMRegistry.register(Echo);
  LLMRegistry.register(Echo);

  expect(LLMRegistry.resolve('echo')).toBe(Echo);
  for (const _ of [1, 2]) expect(LLMRegistry.resolve('GEMINI-ECHO')).toBe(Echo);
  expect(LLMRegistry.resolve('gemini-echoes')).toBe(Gemini);
  expect(() => LLMRegistry.resolve('a parrot-1 b')).toThrow(UnknownModelError);
  expect(await ask(LLMRegistry.newLlm('parrot-2'))).toEqual([
    { content: { role: 'model', parts: [{ text: 'parrot-2' }] } },
  ]);
});

test('models are told from anything else', () => {
  expect([new Echo({ model: 'e' }), new Gemini()].every(isBaseLlm)).toBe(true);
  expect([null, undefined, 'gemini', {}, { model: 'x' }, Echo].some(isBaseLlm)).toBe(false);
  expect([new Gemini(), new Echo({ model: 'e' }), null].map(isGemini)).toEqual([true, false, false]);
});

test('a request ends with a user content', () => {
  const model = new Echo({ model: 'e' });
  const answered = request({ contents: [userText('Hi'), { role: 'model', parts: [{ text: 'Hello' }] }] });
  const asked = request();
  const empty = request({ contents: [] });
  for (const llmRequest of [answered, asked, empty]) model.maybeAppendUserContent(llmRequest);

  expect(answered.contents).toHaveLength(3);
  expect(answered.contents.at(-1)?.parts?.[0]?.text).toMatch(/^Continue processing previous requests/);
  expect(asked.contents).toHaveLength(1);
  expect(empty.contents).toEqual([userText('Handle the requests as specified in the System Instruction.')]);
});
