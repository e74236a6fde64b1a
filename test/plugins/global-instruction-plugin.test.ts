import type { GenerateContentConfig } from '@google/genai';
import { expect, test } from 'vitest';
import { GlobalInstructionPlugin } from '../../src/plugins/global-instruction-plugin.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { contextOf } from './plugin-scene.ts';

async function instructed(
  plugin: GlobalInstructionPlugin,
  systemInstruction?: GenerateContentConfig['systemInstruction'],
  callbackContext = contextOf({ state: { city: 'Graz', 'user:name': 'Ada' } }),
) {
  const llmRequest: LlmRequest = { contents: [], toolsDict: {} };
  if (systemInstruction !== undefined) llmRequest.config = { systemInstruction };
  expect(await plugin.beforeModelCallback({ callbackContext, llmRequest })).toBeUndefined();
  return llmRequest.config?.systemInstruction;
}

test('it stands before the instruction that is there, whatever form that has [plugin.globalInstruction]', async () => {
  const plugin = new GlobalInstructionPlugin('Be brief.');
  expect(await instructed(plugin)).toBe('Be brief.');
  expect(await instructed(plugin, 'You sell.')).toBe('Be brief.\n\nYou sell.');
  expect(await instructed(plugin, [])).toBe('Be brief.');
  expect(await instructed(plugin, ['You sell.'])).toEqual(['Be brief.', 'You sell.']);
  expect(await instructed(plugin, { text: 'You sell.' })).toEqual(['Be brief.', { text: 'You sell.' }]);
  expect(await instructed(plugin, { role: 'user', parts: [{ text: 'You sell.' }] })).toEqual({
    role: 'user',
    parts: [{ text: 'Be brief.' }, { text: 'You sell.' }],
  });
  expect(await instructed(new GlobalInstructionPlugin(''), 'You sell.')).toBe('You sell.');
  expect(await instructed(new GlobalInstructionPlugin(), 'You sell.')).toBe('You sell.');
});

test('text is filled in from the state, with what the step has written; a function’s answer is not [plugin.globalInstruction]', async () => {
  const template = 'Speak as in {city}, to {user:name}{nobody?}.';
  expect(await instructed(new GlobalInstructionPlugin(template))).toBe('Speak as in Graz, to Ada.');
  const later = contextOf({ state: { city: 'Graz', 'user:name': 'Ada' } });
  later.state.set('city', 'Wien');
  expect(await instructed(new GlobalInstructionPlugin(template), undefined, later)).toBe(
    'Speak as in Wien, to Ada.',
  );
  const provider = new GlobalInstructionPlugin(async (context) => {
    expect(context).toBeInstanceOf(ReadonlyContext);
    expect(() => context.state.set('city', 'Linz')).toThrow(/read-only/);
    return `For ${context.state.get('city')}: {city}`;
  });
  expect(await instructed(provider)).toBe('For Graz: {city}');
  await expect(instructed(new GlobalInstructionPlugin('{missing}'))).rejects.toThrow(/missing/);
});

test('what is neither text nor returns any is refused', async () => {
  expect(() => new GlobalInstructionPlugin(5 as unknown as string)).toThrow(
    'GlobalInstructionPlugin: globalInstruction: expected a string or a function of the context, got number',
  );
  const wrong = new GlobalInstructionPlugin((() => 5) as unknown as () => string);
  await expect(instructed(wrong)).rejects.toThrow('returned no text, but number');
  const none = new GlobalInstructionPlugin((() => undefined) as unknown as () => string);
  expect(await instructed(none, 'You sell.')).toBe('You sell.');
});
