import { Type } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { BaseTool, toDefinition } from '../../src/tools/base-tool.ts';
import { GOOGLE_SEARCH } from '../../src/tools/built-in/gemini-tools.ts';
import { FunctionTool, LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { refusal } from './refusal.ts';
import { contextWith, named } from './tool-context.ts';

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ amount: z.number() }),
  outputSchema: z.object({ paid: z.boolean() }),
  execute: () => ({ paid: true }),
});
const PARAMETERS = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };

/** Declares itself in the provider's dialect. */
class Handmade extends BaseTool {
  constructor() {
    super({ name: 'handmade', description: 'By hand.' });
  }
  override _getDeclaration() {
    return {
      name: this.name,
      description: this.description,
      parameters: { type: Type.OBJECT, properties: { amount: { type: Type.NUMBER } }, required: ['amount'] },
      response: { type: Type.STRING, nullable: true },
    };
  }
  override async runAsync() {
    return null;
  }
}

describe('what a tool is [registry.describe]', () => {
  test('describe and toDefinition tell it as plain objects', () => {
    expect(pay.describe()).toEqual({ name: 'pay', description: 'Pays.', inputSchema: PARAMETERS });
    expect(toDefinition(pay)).toEqual({ name: 'pay', description: 'Pays.', parameters: PARAMETERS });
    expect(pay.responseSchema).toMatchObject({ properties: { paid: { type: 'boolean' } } });
  });

  test('schemas of the provider are told as JSON Schema', () => {
    const handmade = new Handmade();
    expect(handmade.describe().inputSchema).toEqual(PARAMETERS);
    expect(handmade.responseSchema).toEqual({ type: ['string', 'null'] });
  });

  test('a tool that is not called has no schemas', () => {
    expect(GOOGLE_SEARCH.describe()).toEqual({ name: 'google_search', description: 'Google Search Tool' });
    expect(toDefinition(GOOGLE_SEARCH)).toEqual({ name: 'google_search', description: 'Google Search Tool' });
    expect([GOOGLE_SEARCH.responseSchema, named('a').responseSchema]).toEqual([undefined, undefined]);
  });

  test('editing a description changes no tool', () => {
    const described = pay.describe() as unknown as { inputSchema: { properties: Record<string, unknown> } };
    described.inputSchema.properties.more = {};
    expect(pay.describe().inputSchema).toEqual(PARAMETERS);
  });

  test('anything but a tool is refused', () => {
    expect(refusal(() => toDefinition({} as never)).message).toBe(
      'toDefinition: expected a tool, got object',
    );
  });
});

test('flags and what they are by default [tool.readOnly] [tool.trusted] [registry.ephemeral]', () => {
  expect(pay).toMatchObject({ isReadOnly: false, trusted: false, ephemeral: false, onCollision: 'throw' });
  const flags = { isReadOnly: true, trusted: true, ephemeral: true, onCollision: 'keep' } as const;
  expect(named('a', flags)).toMatchObject(flags);
});

describe('a long-running tool [tool.longRunningNote]', () => {
  const options = (description: string) => ({
    name: 'order',
    description,
    execute: () => ({ status: 'pending' }),
  });

  const note =
    'NOTE: This is a long-running operation. Do not call this tool again if it has already returned some intermediate or ' +
    'pending status.';

  test.each([
    ['Orders parts.', `Orders parts.\n\n${note}`],
    ['', note],
  ])('says so behind %j', (description, declared) => {
    const order = new LongRunningFunctionTool(options(description));
    expect(order._getDeclaration().description).toBe(declared);
    expect(order.describe().description).toBe(declared);
    expect([order.description, order.isLongRunning]).toEqual([description, true]);
  });

  test('of another class says nothing, as in ADK', () => {
    const ours = new FunctionTool({ ...options('Orders.'), isLongRunning: true });
    expect(ours._getDeclaration().description).toBe('Orders.');
    expect(ours.isLongRunning).toBe(true);
  });

  test('returns an ordinary response', async () => {
    const ours = new LongRunningFunctionTool(options(''));
    expect(await ours.runAsync({ args: {}, toolContext: contextWith() })).toEqual({ status: 'pending' });
  });

  test('bad options name the class', () => {
    expect(refusal(() => new LongRunningFunctionTool(undefined as never)).message).toBe(
      'LongRunningFunctionTool: expected an object, got undefined',
    );
  });
});
