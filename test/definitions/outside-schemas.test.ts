import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../src/schema/compile-schema.ts';
import type { Validation } from '../../src/schema/compiled-schema.ts';
import { processorTime } from '../setup/processor-time.ts';

/** As a model, a server or a person could have written it. */
const compile = (schema: unknown) =>
  compileSchema(schema, { owner: 'a model', field: 'schema', side: 'input', isOutside: true });
const check = async (schema: unknown, value: unknown): Promise<Validation> => compile(schema).validate(value);
const ok = { ok: true };

function nested(levels: number, around: (inner: object) => object): object {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = around(schema);
  return schema;
}

describe('a schema from outside', () => {
  test('checks as any other does [schema.outside]', async () => {
    const schema = {
      type: 'object',
      properties: { id: { type: 'string', pattern: '^A-' }, size: { enum: ['S', 'M'] } },
      patternProperties: { '^x-': { type: 'number' } },
      additionalProperties: false,
      required: ['id'],
    };
    expect(await check(schema, { id: 'A-1', size: 'S', 'x-1': 1 })).toMatchObject(ok);
    expect(await check(schema, { id: 'B-1', size: 'L', 'x-1': '1', y: 1 })).toMatchObject({
      message:
        'id: must match pattern ^A-; size: expected one of "S", "M"; x-1: expected number, got string; y: unknown property',
    });
  });

  test('has patterns that need another engine as annotations, and is looser then, never stricter [schema.outside]', async () => {
    const ahead = { pattern: '(?=x)x' };
    expect(await check(ahead, 'y')).toMatchObject(ok);
    expect(await check({ not: ahead }, 'y')).toMatchObject(ok);
    expect(await check({ oneOf: [ahead, { type: 'string' }] }, 'y')).toMatchObject(ok);
    expect(await check(JSON.parse('{"if":{"pattern":"(?=x)x"},"then":false}'), 'y')).toMatchObject(ok);
    const names = { patternProperties: { '(?=x)': { type: 'number' } }, additionalProperties: false };
    expect(await check(names, { x: 'text' })).toMatchObject(ok);
    expect(await check({ type: 'string', minLength: 2, ...ahead }, 'y')).toMatchObject({ ok: false });
  });

  test.each([
    ['levels', nested(200, (items) => ({ items })), 'nested in more than 100 levels'],
    ['bytes', { enum: ['x'.repeat(70_000)] }, 'bytes of JSON, and at most 65536 are taken'],
    [
      'subschemas',
      { properties: Object.fromEntries(Array.from({ length: 600 }, (_, n) => [`p${n}`, {}])) },
      'subschemas, and at most 500 are taken',
    ],
    [
      'references',
      { $defs: { a: {} }, allOf: Array.from({ length: 200 }, () => ({ $ref: '#/$defs/a' })) },
      'times "$ref", and at most 100 are taken',
    ],
    [
      'patterns',
      { allOf: Array.from({ length: 20 }, (_, n) => ({ pattern: `^.{0,${900 + n}}$` })) },
      'its patterns are too long',
    ],
    ['a reference that escapes nothing', { $ref: '#/$defs/%' }, 'has a "%" that escapes nothing'],
  ])('is refused for too many %s [schema.outside]', (_, schema, problem) => {
    expect(() => compile(schema)).toThrow(problem);
  });

  const everything = String.raw`[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}]`;
  const chain = Array.from({ length: 98 }, (_, n): [string, object] => [
    `d${n}`,
    { allOf: [{ $ref: `#/$defs/d${(n + 1) % 98}` }] },
  ]);
  test.each([
    [
      'long patterns',
      { allOf: Array.from({ length: 480 }, (_, n) => ({ pattern: `(?:${everything}?){${800 - n}}` })) },
    ],
    [
      'patterns of many classes',
      { allOf: Array.from({ length: 63 }, (_, n) => ({ pattern: String.raw`\p{L}`.repeat(140) + n })) },
    ],
    [
      'classes in one class',
      {
        allOf: Array.from({ length: 5 }, (_, n) => ({ pattern: `[${String.raw`\P{L}`.repeat(95)}${n}]` })),
      },
    ],
    [
      'spaces in one class',
      { allOf: Array.from({ length: 20 }, (_, n) => ({ pattern: `[${String.raw`\S`.repeat(470)}${n}]` })) },
    ],
    [
      'patterns that are only told',
      { contentSchema: { allOf: Array.from({ length: 1_000 }, (_, n) => ({ pattern: everything + n })) } },
    ],
    [
      'references that lead to all of it',
      {
        $ref: '#/$defs/d0',
        $defs: Object.fromEntries([
          ...chain,
          [
            'd1',
            {
              ...chain[1]?.[1],
              properties: Object.fromEntries(Array.from({ length: 4_500 }, (_, n) => [n, {}])),
            },
          ],
        ]),
      },
    ],
  ])('of %s is refused while it is counted [schema.outside]', (_, schema) => {
    const took = processorTime();
    expect(() => compile(schema)).toThrow(/its patterns are too long|too many subschemas/);
    expect(took()).toBeLessThan(300);
  });

  const doubled = Object.fromEntries(
    Array.from({ length: 40 }, (_, n) => {
      const next = { $ref: `#/$defs/d${n + 1}` };
      return [`d${n}`, n === 39 ? { type: 'string' } : { allOf: [next, next] }];
    }),
  );
  const branch = (name: string) => ({ properties: { a: { $ref: '#' } }, required: [name] });
  test.each([
    ['references that double', { $ref: '#/$defs/d0', $defs: doubled }, 'x'],
    ['a recursive union', { anyOf: [branch('x'), branch('y')] }, nested(90, (a) => ({ a }))],
    ['a pattern of many steps', { pattern: '^.*a.{0,240}[0-9]$' }, 'ab'.repeat(10_000)],
    ['a reference to itself', { allOf: [{ $ref: '#' }] }, 1],
    [
      'a long list of a long enum',
      { items: { enum: Array.from({ length: 5_000 }, (_, n) => `v${n}`) } },
      Array.from({ length: 20_000 }, () => 'z'),
    ],
  ])('with %s comes to an end [schema.outside]', async (_, schema, value) => {
    const took = processorTime();
    expect(await check(schema, value)).toMatchObject({
      message: expect.stringContaining('too much to check'),
    });
    expect(took()).toBeLessThan(3_000);
  });

  test('refuses a value that nothing should walk [schema.outside]', async () => {
    expect(await check({}, JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`))).toMatchObject({
      message: 'objects and lists are nested in more than 100 levels',
    });
  });

  test('puts nothing of itself into code [schema.outside]', async () => {
    const code = [
      '"];globalThis.pwned=1;//',
      "'+(globalThis.pwned=1)+'",
      '`$\u007bglobalThis.pwned=1}`',
      '\u2028',
      'a\\',
    ];
    for (const text of code) {
      const schema = {
        properties: { [text]: { const: text, enum: [text] } },
        required: [text],
        format: text,
        $comment: text,
        patternProperties: { [text.replaceAll(/\W/g, String.raw`\$&`)]: {} },
        'holdfast:work': text,
      };
      expect(await check(schema, {})).toMatchObject({ ok: false });
    }
    expect(globalThis).not.toHaveProperty('pwned');
  });
});

test.each([true, false])(
  'a property named as one that each object inherits is an own one, outside: %s [schema.outside]',
  async (isOutside) => {
    const of = (schema: object) =>
      compileSchema(schema, { owner: 'a tool', field: 'parameters', side: 'input', isOutside });
    for (const $schema of ['draft-07', '2020-12']) {
      const properties = { constructor: { type: 'string' }, toString: { enum: ['a'] } };
      const optional = of({ $schema, type: 'object', properties, dependentRequired: { valueOf: ['x'] } });
      expect(await optional.validate({})).toMatchObject(ok);
      expect(await optional.validate({ constructor: 'x', toString: 'a' })).toMatchObject(ok);
      expect(await optional.validate({ constructor: 1 })).toMatchObject({
        message: 'constructor: expected string, got number',
      });
      const required = of({ $schema, type: 'object', properties, required: ['constructor'] });
      expect(await required.validate({})).toMatchObject({ message: 'constructor: required' });
    }
  },
);

describe('a long value with a schema of any kind', () => {
  const compileOwn = (schema: unknown) =>
    compileSchema(schema, { owner: 'a tool', field: 'parameters', side: 'input' });
  test.each([
    ['items of the wrong kind', { items: { type: 'string' } }, 1],
    [
      'items that fit no branch',
      { items: { anyOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } } }] } },
      { a: 1 },
    ],
    ['equal items', { uniqueItems: true }, { a: 1 }],
  ])('of %s is refused in time that grows with it [schema.outside]', async (_, schema, item) => {
    const took = processorTime();
    const validation = await compileOwn(schema).validate(Array.from({ length: 20_000 }, () => item));
    expect(validation.ok).toBe(false);
    expect(took()).toBeLessThan(3_000);
  });

  test.each(['url', 'email', 'uri', 'uri-reference', 'hostname', 'date-time', 'duration', 'byte'])(
    'of format %s [schema.outside]',
    async (format) => {
      const { validate } = compileOwn({ type: 'string', format });
      const took = processorTime();
      for (const [start, middle] of [
        ['http://a', ':'],
        ['a@', 'a-'],
        ['', 'a.'],
        ['P', '1D'],
        ['', 'A'],
      ] as const)
        await validate(`${start}${middle.repeat(50_000)}!`);
      expect(took()).toBeLessThan(1_000);
    },
  );
});
