import { describe, expect, test } from 'vitest';
import { compileObjectSchema } from '../../src/schema/compile-schema.ts';
import { refusal } from './refusal.ts';

const site = { owner: 'FunctionTool "t"', field: 'parameters', side: 'input' } as const;
const compile = (schema: unknown) => compileObjectSchema(schema, site);

describe('JSON Schema [tool.schemas]', () => {
  test('draft-07 and 2020-12 side by side, unknown formats and keywords, the same $id twice', async () => {
    const old = { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', type: 'object' };
    const tuple = {
      ...old,
      properties: { t: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    };
    expect(await compile(tuple).validate({ t: ['a', 'b'] })).toMatchObject({
      message: 't[1]: expected number, got string',
    });
    expect(await compile({ ...tuple }).validate({ t: ['a', 1] })).toMatchObject({ ok: true });
    const recent = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        t: { type: 'array', prefixItems: [{ type: 'string' }] },
        u: { type: 'string', format: 'iban', 'x-y': 1 },
      },
    };
    expect(await compile(recent).validate({ t: [1] })).toMatchObject({
      message: 't[0]: expected string, got number',
    });
    expect(await compile(recent).validate({ u: 'any' })).toMatchObject({ ok: true });
    expect(compile(recent).jsonSchema.$schema).toBeUndefined();
  });

  test('patterns that Unicode mode does not take', async () => {
    const schema = { type: 'object', properties: { s: { type: 'string', pattern: '^[\\w-\\.]+$' } } };
    expect(await compile(schema).validate({ s: 'a.b-c' })).toMatchObject({ ok: true });
    expect(await compile(schema).validate({ s: ' ' })).toMatchObject({ ok: false });
  });

  test('values are neither changed nor coerced, names made of digits are no indexes', async () => {
    const schema = {
      type: 'object',
      properties: { n: { type: 'number', default: 1 }, 7: { type: 'string' } },
    };
    const value = { 7: 'x' };
    expect(await compile(schema).validate(value)).toEqual({ ok: true, value: { 7: 'x' } });
    expect(await compile(schema).validate({ n: '3' })).toMatchObject({ ok: false });
    expect(await compile(schema).validate({ 7: 1 })).toMatchObject({
      message: '["7"]: expected string, got number',
    });
  });

  test("the schema that was given isn't touched", () => {
    const schema = Object.freeze({ type: 'object', properties: Object.freeze({}) });
    const { jsonSchema } = compile(schema);
    expect(jsonSchema).toEqual(schema);
    expect(jsonSchema).not.toBe(schema);
  });
});

describe("the provider's Schema [tool.schemas]", () => {
  test('everything in it is translated', () => {
    const schema = {
      type: 'OBJECT',
      properties: {
        n: { type: 'INTEGER', format: 'int32', enum: ['101', '201'], nullable: true },
        l: { type: 'ARRAY', items: { type: 'STRING' }, minItems: '1', example: ['a'] },
        u: { anyOf: [{ type: 'STRING' }, { type: 'BOOLEAN' }], nullable: true },
        any: { type: 'TYPE_UNSPECIFIED', description: 'd' },
        type: { type: 'STRING' },
      },
      propertyOrdering: ['n', 'l'],
      required: ['n'],
    };
    expect(compile(schema).jsonSchema).toEqual({
      type: 'object',
      properties: {
        n: { type: ['integer', 'null'], format: 'int32', enum: [101, 201, null] },
        l: { type: 'array', items: { type: 'string' }, minItems: 1, examples: [['a']] },
        u: { anyOf: [{ type: 'string' }, { type: 'boolean' }, { type: 'null' }] },
        any: { description: 'd' },
        type: { type: 'string' },
      },
      propertyOrdering: ['n', 'l'],
      required: ['n'],
    });
  });

  test.each<[object, string, string]>([
    [
      { type: 'OBJECT', properties: { a: { type: 'Text' } } },
      'parameters.properties.a.type',
      'expected one of STRING',
    ],
    [
      { type: 'OBJECT', properties: { a: { type: 'ARRAY', minItems: 'x' } } },
      'parameters.properties.a.minItems',
      'expected a number, got string',
    ],
    [{ type: 'OBJECT', maxProperties: '-1' }, 'parameters.maxProperties', 'expected a whole number'],
  ])('%j', (schema, field, problem) => {
    expect(refusal(() => compile(schema))).toMatchObject({
      field,
      problem: expect.stringContaining(problem),
    });
  });
});
