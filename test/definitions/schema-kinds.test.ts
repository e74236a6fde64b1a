import { Type } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { compileObjectSchema, compileSchema } from '../../src/schema/compile-schema.ts';

const site = { owner: 'FunctionTool "t"', field: 'parameters', side: 'input' } as const;
const compile = (schema: unknown) => compileObjectSchema(schema, site);

/** One schema in four kinds. */
const KINDS: Record<string, unknown> = {
  'zod 4': z.object({
    orderId: z.string().describe('which order'),
    items: z
      .array(z.object({ qty: z.int().min(1), sku: z.string().min(2).max(5) }))
      .max(3)
      .optional(),
    size: z.enum(['S', 'M']).optional(),
    price: z.number().max(100).nullable().optional(),
    when: z.union([z.string(), z.number()]).optional(),
  }),
  'zod 3': z3.object({
    orderId: z3.string().describe('which order'),
    items: z3
      .array(z3.object({ qty: z3.number().int().min(1), sku: z3.string().min(2).max(5) }))
      .max(3)
      .optional(),
    size: z3.enum(['S', 'M']).optional(),
    price: z3.number().max(100).nullable().optional(),
    when: z3.union([z3.string(), z3.number()]).optional(),
  }),
  'JSON Schema': {
    type: 'object',
    properties: {
      orderId: { type: 'string', description: 'which order' },
      items: {
        type: 'array',
        maxItems: 3,
        items: {
          type: 'object',
          properties: {
            qty: { type: 'integer', minimum: 1 },
            sku: { type: 'string', minLength: 2, maxLength: 5 },
          },
          required: ['qty', 'sku'],
        },
      },
      size: { type: 'string', enum: ['S', 'M'] },
      price: { type: ['number', 'null'], maximum: 100 },
      when: { anyOf: [{ type: 'string' }, { type: 'number' }] },
    },
    required: ['orderId'],
  },
  "provider's Schema": {
    type: Type.OBJECT,
    properties: {
      orderId: { type: Type.STRING, description: 'which order' },
      items: {
        type: Type.ARRAY,
        maxItems: '3',
        items: {
          type: Type.OBJECT,
          properties: {
            qty: { type: Type.INTEGER, minimum: 1 },
            sku: { type: Type.STRING, minLength: '2', maxLength: '5' },
          },
          required: ['qty', 'sku'],
        },
      },
      size: { type: Type.STRING, format: 'enum', enum: ['S', 'M'] },
      price: { type: Type.NUMBER, nullable: true, maximum: 100 },
      when: { anyOf: [{ type: Type.STRING }, { type: Type.NUMBER }] },
    },
    required: ['orderId'],
  },
};

describe.each(Object.entries(KINDS))('%s', (_, schema) => {
  const compiled = compile(schema);
  const message = async (value: unknown) => {
    const validation = await compiled.validate(value);
    return validation.ok ? undefined : validation.message;
  };

  test('takes what fits [tool.schemas]', async () => {
    const value = { orderId: 'A1', items: [{ qty: 2, sku: 'ab' }], size: 'S', price: null, when: 3 };
    expect(await compiled.validate(value)).toEqual({ ok: true, value });
    expect(await message({ orderId: '' })).toBeUndefined();
  });

  test.each<[unknown, string]>([
    [{}, 'orderId: required'],
    [{ orderId: 7 }, 'orderId: expected string, got number'],
    [{ orderId: null }, 'orderId: expected string, got null'],
    [{ orderId: ['x'] }, 'orderId: expected string, got array'],
    [{ orderId: 'x', items: {} }, 'items: expected array, got object'],
    [{ orderId: 'x', items: [{ qty: 1.5, sku: 'ab' }] }, 'items[0].qty: expected integer, got number'],
    [{ orderId: 'x', items: [{ qty: 0, sku: 'ab' }] }, 'items[0].qty: must be >= 1'],
    [{ orderId: 'x', items: [{ qty: 1, sku: 'a' }] }, 'items[0].sku: must have at least 2 characters'],
    [{ orderId: 'x', items: [{ qty: 1, sku: 'secret' }] }, 'items[0].sku: must have at most 5 characters'],
    [
      { orderId: 'x', items: [1, 2, 3, 4].map(() => ({ qty: 1, sku: 'ab' })) },
      'items: must have at most 3 items',
    ],
    [{ orderId: 'x', size: 'secret' }, 'size: expected one of "S", "M"'],
    [{ orderId: 'x', price: 101 }, 'price: must be <= 100'],
    [{ orderId: 'x', when: true }, 'when: expected string or number, got boolean'],
    [
      { orderId: 4, items: [{ sku: 'ab' }, { qty: 'x', sku: 'ab' }] },
      'items[0].qty: required; items[1].qty: expected integer, got string; orderId: expected string, got number',
    ],
  ])('%j: %s', async (value, expected) => {
    const given = await message(value);
    // Zod 3 and 4 say "number" of an integer that isn't even a number.
    expect(given?.replace('expected number, got string', 'expected integer, got string')).toBe(expected);
    expect(given).not.toContain('secret');
  });

  test('shows the model one schema', () => {
    const { properties, required, type, ...rest } = compiled.jsonSchema as Record<string, never>;
    expect({ type, required, rest }).toEqual({ type: 'object', required: ['orderId'], rest: {} });
    expect(properties).toMatchObject({
      orderId: { type: 'string', description: 'which order' },
      items: { type: 'array', maxItems: 3, items: { type: 'object', required: ['qty', 'sku'] } },
      size: { type: 'string', enum: ['S', 'M'] },
    });
    expect(Object.isFrozen(properties)).toBe(true);
  });
});

describe('zod [tool.schemas]', () => {
  test.each([
    [
      '4',
      z.object({ n: z.number().default(3), s: z.string().transform((s) => s.length), x: z.coerce.date() }),
    ],
    [
      '3',
      z3.object({
        n: z3.number().default(3),
        s: z3.string().transform((s) => s.length),
        x: z3.coerce.date(),
      }),
    ],
  ])('%s: defaults and transforms apply; the model is shown what goes in', async (_, schema) => {
    const { jsonSchema, validate } = compile(schema);
    expect(jsonSchema).toMatchObject({
      properties: {
        n: { type: 'number', default: 3 },
        s: { type: 'string' },
        x: { type: 'string', format: 'date-time' },
      },
      required: ['s', 'x'],
    });
    const value = { n: 3, s: 2, x: new Date(0) };
    expect(await validate({ s: 'ab', x: '1970-01-01T00:00:00Z' })).toEqual({ ok: true, value });
  });

  test.each([
    [
      '4',
      z.object({
        a: z.string().refine(async (s) => s !== 'x', 'is taken'),
        b: z.string().min(3, 'too short'),
      }),
    ],
    [
      '3',
      z3.object({
        a: z3.string().refine(async (s) => s !== 'x', 'is taken'),
        b: z3.string().min(3, 'too short'),
      }),
    ],
  ])('%s: async refinements, and messages of the author', async (_, schema) => {
    const { validate } = compile(schema);
    expect(await validate({ a: 'x', b: 'ab' })).toMatchObject({
      ok: false,
      message: expect.stringContaining('b: too short'),
    });
    expect(await validate({ a: 'x', b: 'abc' })).toMatchObject({ ok: false, message: 'a: is taken' });
    expect(await validate({ a: 'y', b: 'abc' })).toMatchObject({ ok: true });
  });

  test.each([
    ['4', z.strictObject({ a: z.string() })],
    ['3', z3.object({ a: z3.string() }).strict()],
    [
      'JSON Schema',
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
    ],
  ])('%s: strict objects', async (_, schema) => {
    const { jsonSchema, validate } = compile(schema);
    expect(jsonSchema.additionalProperties).toBe(false);
    expect(await validate({ a: 'x', b: 1 })).toMatchObject({ message: 'b: unknown property' });
  });

  test.each([
    ['4', z.object({ a: z.string() })],
    ['3', z3.object({ a: z3.string() })],
  ])('%s: other objects take more and drop it', async (_, schema) => {
    const { jsonSchema, validate } = compile(schema);
    expect(jsonSchema.additionalProperties).toBeUndefined();
    expect(await validate({ a: 'x', b: 1 })).toEqual({ ok: true, value: { a: 'x' } });
  });

  test.each<[string, unknown, unknown, string]>([
    ['formats', z.object({ e: z.email() }), { e: 'secret' }, 'e: expected format email'],
    ['formats', z3.object({ e: z3.string().email() }), { e: 'secret' }, 'e: expected format email'],
    [
      'formats',
      { type: 'object', properties: { e: { type: 'string', format: 'email' } } },
      { e: 'secret' },
      'e: expected format email',
    ],
    ['patterns', z.object({ e: z.string().regex(/^a+$/) }), { e: 'secret' }, 'e: must match pattern ^a+$'],
    [
      'patterns',
      { type: 'object', properties: { e: { pattern: '^a+$' } } },
      { e: 'secret' },
      'e: must match pattern ^a+$',
    ],
    ['prefixes', z.object({ e: z.string().startsWith('a') }), { e: 'secret' }, 'e: must start with "a"'],
    ['prefixes', z3.object({ e: z3.string().startsWith('a') }), { e: 'secret' }, 'e: must start with "a"'],
    ['steps', z.object({ e: z.number().multipleOf(5) }), { e: 3 }, 'e: must be a multiple of 5'],
    ['steps', z3.object({ e: z3.number().multipleOf(5) }), { e: 3 }, 'e: must be a multiple of 5'],
    ['literals', z.object({ e: z.literal('on') }), { e: 'secret' }, 'e: expected "on"'],
    ['literals', z3.object({ e: z3.literal('on') }), { e: 'secret' }, 'e: expected "on"'],
    ['literals', { type: 'object', properties: { e: { const: 'on' } } }, { e: 'secret' }, 'e: expected "on"'],
    [
      'records',
      z.object({ e: z.record(z.string(), z.number()) }),
      { e: { k: 'x' } },
      'e.k: expected number, got string',
    ],
    ['what may not be', z.object({ e: z.never().optional() }), { e: 1 }, 'e: is not allowed'],
    ['what may not be', z3.object({ e: z3.never().optional() }), { e: 1 }, 'e: is not allowed'],
    ['what may not be', { type: 'object', properties: { e: false } }, { e: 1 }, 'e: is not allowed'],
    [
      'templates',
      z.object({ e: z.templateLiteral(['a-', z.enum(['b', 'c'])]) }),
      { e: 'secret' },
      'e: must match pattern ^a-(b|c)$',
    ],
    ['open bounds', z.object({ e: z.number().gt(1).lt(5) }), { e: 1 }, 'e: must be > 1'],
    ['exact lengths', z.object({ e: z.string().length(2) }), { e: 'x' }, 'e: must have exactly 2 characters'],
    [
      'exact lengths',
      z3.object({ e: z3.array(z3.any()).length(1) }),
      { e: [] },
      'e: must have exactly 1 item',
    ],
    [
      'discriminated unions',
      z.object({
        e: z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]),
      }),
      { e: { t: 'secret' } },
      'e.t: expected one of "a", "b"',
    ],
    [
      'discriminated unions',
      z3.object({
        e: z3.discriminatedUnion('t', [z3.object({ t: z3.literal('a') }), z3.object({ t: z3.literal('b') })]),
      }),
      { e: { t: 'secret' } },
      'e.t: expected one of "a", "b"',
    ],
    [
      'unions of one object',
      z.object({ e: z.union([z.string(), z.object({ qty: z.number() })]) }),
      { e: {} },
      'e.qty: required',
    ],
    [
      'unions of one object',
      {
        type: 'object',
        properties: { e: { oneOf: [{ type: 'string' }, { type: 'object', required: ['qty'] }] } },
      },
      { e: {} },
      'e.qty: required',
    ],
    [
      'unions of several objects',
      z.object({ e: z.union([z.object({ a: z.number(), b: z.number() }), z.object({ c: z.number() })]) }),
      { e: {} },
      'e: fits none of the allowed shapes; nearest: e.c: required',
    ],
    [
      'oneOf that fits twice',
      { type: 'object', properties: { e: { oneOf: [{ type: 'number' }, { type: 'integer' }] } } },
      { e: 1 },
      'e: fits more than one of the allowed shapes',
    ],
    [
      'if and then',
      JSON.parse('{ "type": "object", "if": { "required": ["a"] }, "then": { "required": ["b"] } }'),
      { a: 1 },
      'b: required',
    ],
    [
      'refinements without a message',
      z.object({ e: z.string().refine(() => false) }),
      { e: 'secret' },
      'e: is not valid',
    ],
  ])('%s', async (_, schema, value, message) => {
    expect(await compile(schema).validate(value)).toMatchObject({ ok: false, message });
  });

  test('many problems are counted', async () => {
    const validation = await compile(z.object({ a: z.array(z.string()) })).validate({ a: Array(30).fill(1) });
    expect(validation).toMatchObject({
      message: expect.stringMatching(/^a\[0\].*; a\[11\]: .*; and 18 more$/),
    });
  });
});

test('objects that do not say so, and unions of objects', () => {
  expect(compile({ properties: { a: {} } }).jsonSchema).toEqual({ type: 'object', properties: { a: {} } });
  const union = z.discriminatedUnion('t', [z.object({ t: z.literal('a') }), z.object({ t: z.literal('b') })]);
  expect(compile(union).jsonSchema).toMatchObject({
    type: 'object',
    oneOf: [{ type: 'object' }, { type: 'object' }],
  });
  expect(
    compile(z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }))).jsonSchema.type,
  ).toBe('object');
  expect(compile(z.record(z.string(), z.number())).jsonSchema).toEqual({
    type: 'object',
    additionalProperties: { type: 'number' },
  });
});

test('what comes out: dates are text', () => {
  const schema = compileSchema(z.object({ at: z.date(), n: z.string().transform(Number).pipe(z.number()) }), {
    ...site,
    side: 'output',
  });
  expect(schema.jsonSchema).toMatchObject({
    properties: { at: { type: 'string', format: 'date-time' }, n: { type: 'number' } },
  });
});

test('formats come without the pattern that zod checks them by, integers without the bounds of JavaScript', () => {
  const schema = compile(
    z.object({ e: z.email(), n: z.int(), r: z.record(z.string(), z.string()), p: z.string().regex(/x/) }),
  );
  expect(schema.jsonSchema.properties).toEqual({
    e: { type: 'string', format: 'email' },
    n: { type: 'integer' },
    r: { type: 'object', additionalProperties: { type: 'string' } },
    p: { type: 'string', pattern: 'x' },
  });
});
