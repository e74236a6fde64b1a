import { expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { compileObjectSchema } from '../../src/schema/compile-schema.ts';

const compile = (schema: unknown) =>
  compileObjectSchema(schema, { owner: 'FunctionTool "t"', field: 'parameters', side: 'input' });

test('references are written out, with what stands beside them [tool.schemas]', () => {
  const { jsonSchema } = compile({
    $ref: '#/definitions/order',
    definitions: {
      order: {
        type: 'object',
        properties: {
          from: { $ref: '#/definitions/address', description: 'sender' },
          to: { $ref: '#/definitions/address' },
          alias: { $ref: '#/definitions/order/properties/from' },
          big: { $ref: '#/definitions/n', minimum: 10 },
        },
      },
      address: { type: 'string', description: 'where' },
      n: { type: 'number' },
    },
  });
  expect(jsonSchema).toEqual({
    type: 'object',
    properties: {
      from: { type: 'string', description: 'sender' },
      to: { type: 'string', description: 'where' },
      alias: { type: 'string', description: 'sender' },
      big: { allOf: [{ type: 'number' }, { minimum: 10 }] },
    },
  });
});

type Node = { value: string; children: Node[] };
const zod4Node = z.object({
  value: z.string(),
  get children() {
    return z.array(zod4Node);
  },
});
const zod3Node: z3.ZodType<Node> = z3.object({
  value: z3.string(),
  children: z3.lazy(() => z3.array(zod3Node)),
});

const ofJson = {
  type: 'object',
  properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } },
  required: ['value', 'children'],
};

test.each([
  ['zod 4', zod4Node],
  ['zod 3', zod3Node],
  ['JSON Schema', ofJson],
])('recursive schemas of %s keep their reference, in $defs', async (_, schema) => {
  const { jsonSchema, validate } = compile(schema);
  const node = {
    type: 'object',
    properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/root' } } },
    required: ['value', 'children'],
  };
  expect(jsonSchema).toEqual({ ...node, $defs: { root: node } });
  expect(await validate({ value: 'a', children: [{ value: 'b', children: [] }] })).toMatchObject({
    ok: true,
  });
  expect(
    await validate({ value: 'a', children: [{ value: 'b', children: [{ value: 3, children: [] }] }] }),
  ).toMatchObject({
    message: 'children[0].children[0].value: expected string, got number',
  });
});

test('two schemas that refer to each other, under names that differ', () => {
  const { jsonSchema } = compile({
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' }, plain: { $ref: '#/$defs/plain' } },
    $defs: {
      a: { type: 'object', properties: { b: { $ref: '#/definitions/a' } } },
      plain: { type: 'string' },
    },
    definitions: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } } },
  });
  expect(jsonSchema).toEqual({
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' }, plain: { type: 'string' } },
    $defs: {
      a: { type: 'object', properties: { b: { $ref: '#/$defs/a_2' } } },
      a_2: { type: 'object', properties: { a: { $ref: '#/$defs/a' } } },
    },
  });
});

test('references that would grow without end stay references', async () => {
  const $defs: Record<string, object> = { d0: { type: 'string' } };
  for (let level = 1; level <= 30; level++) {
    const $ref = `#/$defs/d${level - 1}`;
    $defs[`d${level}`] = { type: 'object', properties: { left: { $ref }, right: { $ref } } };
  }
  const { jsonSchema, validate } = compile({ $ref: '#/$defs/d30', $defs });
  expect(JSON.stringify(jsonSchema).length).toBeLessThan(5_000);
  expect(await validate({ left: { right: 1 } })).toMatchObject({
    message: 'left.right: expected object, got number',
  });
});

test('what only looks like a reference is data', () => {
  const schema = {
    type: 'object',
    properties: { $ref: { type: 'string' }, default: { type: 'object', default: { $ref: 'x' } } },
    examples: [{ $ref: '#/nowhere' }],
  };
  expect(compile(schema).jsonSchema).toEqual(schema);
});
