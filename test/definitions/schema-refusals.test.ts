import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { compileObjectSchema } from '../../src/schema/compile-schema.ts';
import { refusal } from './refusal.ts';

const site = { owner: 'FunctionTool "t"', field: 'parameters', side: 'input' } as const;
const compile = (schema: unknown) => compileObjectSchema(schema, site);

describe('refuses', () => {
  test.each<[string, unknown, string]>([
    ['string', z.string(), 'got type "string"'],
    ['array', z3.array(z3.string()), 'got type "array"'],
    ['nullable object', z.object({}).nullable(), 'got a union with other branches than objects'],
    [
      'union with a string',
      z.union([z.object({}), z.string()]),
      'got a union with other branches than objects',
    ],
    ['reference to a string', { $ref: '#/$defs/s', $defs: { s: { type: 'string' } } }, 'got type "string"'],
    ['array', { type: 'array' }, 'got type "array"'],
    ['several types', { type: ['object', 'null'] }, 'got types "object" and "null"'],
    ['anything', {}, 'got no type'],
    ["provider's string", { type: 'STRING' }, 'got type "string"'],
    ['map of properties', { city: { type: 'string' } }, 'got no type'],
  ])('a root that is no object: %s [tool.root]', (_, schema, got) => {
    const error = refusal(() => compile(schema));
    expect(error.message).toBe(
      `FunctionTool "t": parameters: the root must be an object (z.object({…}), or type: 'object'), ${got}`,
    );
  });

  test.each<[string, unknown, string]>([
    [
      'string',
      'z.object',
      'parameters: expected a schema (zod 4, zod 3, JSON Schema, or the Schema of @google/genai), got string',
    ],
    ['null', null, 'got null'],
    ['array', [], 'parameters: expected a schema'],
    [
      'shape',
      { city: z.string() },
      'parameters: an object of zod schemas is no schema; wrap it: z.object({…})',
    ],
    ['shape', { city: z3.string() }, 'wrap it: z.object({…})'],
    [
      'date',
      z.object({ a: z.array(z.object({ d: z.date() })) }),
      'parameters.properties.a.items.properties.d: JSON has no dates',
    ],
    ['date', z3.object({ d: z3.date() }), 'parameters.properties.d: JSON has no dates'],
    ['bigint', z.object({ d: z.bigint() }), 'parameters.properties.d: JSON has no bigint'],
    ['bigint', z3.object({ d: z3.bigint() }), 'parameters.properties.d: JSON has no bigint'],
    [
      'map',
      z.object({ d: z.map(z.string(), z.string()) }),
      'parameters.properties.d: Map cannot be represented',
    ],
    [
      'map',
      z3.object({ d: z3.map(z3.string(), z3.string()) }),
      `parameters.properties.d: ZodMap can't be represented`,
    ],
    [
      'misspelt type',
      { type: 'object', properties: { a: { type: 'strng' } } },
      'parameters: not a valid JSON Schema (2020-12)',
    ],
    [
      'bad pattern',
      { type: 'object', properties: { a: { pattern: '(' } } },
      'parameters: not a valid JSON Schema',
    ],
    [
      'lost reference',
      { type: 'object', properties: { a: { $ref: '#/$defs/x' } } },
      'parameters.$ref: "#/$defs/x" leads to no schema',
    ],
    [
      'outer reference',
      { type: 'object', properties: { a: { $ref: 'https://x.y/z' } } },
      'leads out of the schema',
    ],
    [
      'other draft',
      { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' },
      'parameters.$schema: write the schema in draft 2020-12 or draft-07',
    ],
    [
      'function in it',
      { type: 'object', properties: { a: () => 1 } },
      'parameters.properties.a: JSON has no function',
    ],
    [
      'misspelt required',
      { type: 'object', properties: { orderId: {} }, required: ['orderID'] },
      'parameters.required[0]: no property has the name "orderID"; did you mean "orderId"?',
    ],
    [
      'required property that is none',
      { type: 'OBJECT', properties: { a: { type: 'ARRAY', items: { type: 'OBJECT', required: ['b'] } } } },
      'parameters.properties.a.items.required[0]: no property has the name "b"; declare it in properties',
    ],
    ['nothing but itself', { $ref: '#' }, 'refers to nothing but itself'],
  ])('%s', (_, schema, message) => expect(refusal(() => compile(schema)).message).toContain(message));
});
