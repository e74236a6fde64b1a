import type { FunctionDeclaration } from '@google/genai';
import { expect, test } from 'vitest';
import { appendInstructions, appendTools } from '../../src/models/llm-request.ts';
import { DefinitionError } from '../../src/schema/definition-error.ts';
import { BaseTool } from '../../src/tools/base-tool.ts';
import { request } from './ask.ts';

class DeclaredTool extends BaseTool {
  readonly #declaration: FunctionDeclaration | undefined;

  constructor(name: string, declaration: FunctionDeclaration | undefined = { name }) {
    super({ name, description: name });
    this.#declaration = declaration;
  }

  override _getDeclaration(): FunctionDeclaration | undefined {
    return this.#declaration;
  }

  override async runAsync(): Promise<unknown> {
    return {};
  }
}

class PassiveTool extends DeclaredTool {
  override _getDeclaration(): undefined {}
}

test('appends instructions with a blank line between them [request.build]', () => {
  const llmRequest = request();

  appendInstructions(llmRequest, ['One.', 'Two.']);
  appendInstructions(llmRequest, []);
  appendInstructions(llmRequest, ['Three.']);

  expect(llmRequest.config?.systemInstruction).toBe('One.\n\nTwo.\n\nThree.');
});

test.each([
  [
    { role: 'system', parts: [{ text: 'a' }] },
    { role: 'system', parts: [{ text: 'a' }, { text: 'b' }] },
  ],
  [{ text: 'a' }, [{ text: 'a' }, { text: 'b' }]],
  [['a'], ['a', { text: 'b' }]],
])('appends to an instruction that is no text: %j', (systemInstruction, expected) => {
  const llmRequest = request({ config: { systemInstruction } });
  const before = structuredClone(systemInstruction);

  appendInstructions(llmRequest, ['b']);

  expect(llmRequest.config?.systemInstruction).toEqual(expected);
  expect(systemInstruction).toEqual(before);
});

test('declares all functions in one entry beside the tools of the provider [request.build]', () => {
  const googleSearch = { googleSearch: {} };
  const llmRequest = request({ config: { tools: [googleSearch] } });
  const [a, b, c] = [new DeclaredTool('a'), new DeclaredTool('b'), new DeclaredTool('c')];

  appendTools(llmRequest, [a, new PassiveTool('passive'), b]);
  appendTools(llmRequest, [c]);
  appendTools(llmRequest, []);

  expect(llmRequest.config?.tools).toEqual([
    googleSearch,
    { functionDeclarations: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
  ]);
  expect(llmRequest.toolsDict).toEqual({ a, b, c });
});

test('leaves an entry that is shared with a definition as it was', () => {
  const shared = { functionDeclarations: [{ name: 'x' }] };

  appendTools(request({ config: { tools: [shared] } }), [new DeclaredTool('a')]);

  expect(shared).toEqual({ functionDeclarations: [{ name: 'x' }] });
});

test.each<[string, BaseTool[], string]>([
  ['a name twice', [new DeclaredTool('a'), new DeclaredTool('a')], 'tool "a": name: another tool'],
  ['a declaration without a name', [new DeclaredTool('a', {})], 'the declaration has no name (undefined)'],
  ['another name', [new DeclaredTool('a', { name: 'b' })], 'tool "a": name: declares itself as "b"'],
])('refuses %s, and adds nothing [define.refuse]', (_, tools, message) => {
  const llmRequest = request();
  const append = () => appendTools(llmRequest, [new DeclaredTool('first'), ...tools]);

  expect(append).toThrow(DefinitionError);
  expect(append).toThrow(message);
  expect(llmRequest).toEqual(request());
});

test('refuses a name that an earlier call took', () => {
  const llmRequest = request();
  appendTools(llmRequest, [new DeclaredTool('a')]);

  expect(() => appendTools(llmRequest, [new DeclaredTool('a')])).toThrow('another tool has this name');
  expect(llmRequest.config?.tools).toEqual([{ functionDeclarations: [{ name: 'a' }] }]);
});
