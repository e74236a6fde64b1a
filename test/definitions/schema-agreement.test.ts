import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { compileObjectSchema } from '../../src/schema/compile-schema.ts';
import type { CompiledSchema } from '../../src/schema/compiled-schema.ts';
import { describeProblems } from '../../src/schema/problems.ts';
import { inTier } from '../setup/tier.ts';

const compile = (schema: unknown) =>
  compileObjectSchema(schema, { owner: 'FunctionTool "t"', field: 'parameters', side: 'input' });

const zod4 = compile(
  z.object({
    name: z.string().min(1).max(8),
    size: z.enum(['S', 'M', 'L']),
    qty: z.int().min(0).max(9).optional(),
    price: z.number().positive().nullable(),
    tags: z.array(z.string()).max(2).optional(),
    target: z.union([z.boolean(), z.strictObject({ id: z.string() })]),
    notes: z.record(z.string(), z.number()).optional(),
  }),
);
const zod3 = compile(
  z3.object({
    name: z3.string().min(1).max(8),
    size: z3.enum(['S', 'M', 'L']),
    qty: z3.number().int().min(0).max(9).optional(),
    price: z3.number().positive().nullable(),
    tags: z3.array(z3.string()).max(2).optional(),
    target: z3.union([z3.boolean(), z3.object({ id: z3.string() }).strict()]),
    notes: z3.record(z3.string(), z3.number()).optional(),
  }),
);

const plain = { maxLength: 8, unit: fc.constantFrom('a', 'b', '1') };
const valid = fc.record(
  {
    name: fc.string({ ...plain, minLength: 1 }),
    size: fc.constantFrom('S', 'M', 'L'),
    qty: fc.integer({ min: 0, max: 9 }),
    price: fc.option(fc.double({ min: 1, max: 1e9, noNaN: true })),
    tags: fc.array(fc.string(plain), { maxLength: 2 }),
    target: fc.oneof(fc.boolean(), fc.record({ id: fc.string(plain) })),
    notes: fc.dictionary(fc.constantFrom('x', 'y'), fc.integer()),
  },
  { requiredKeys: ['name', 'size', 'price', 'target'] },
);

const fields = ['name', 'size', 'qty', 'price', 'tags', 'target', 'notes', 'other'];
/** A valid value with some fields replaced by anything, or taken out. */
const spoilt = fc
  .tuple(
    valid,
    fc.dictionary(fc.constantFrom(...fields), fc.option(fc.jsonValue({ maxDepth: 2 }), { nil: undefined })),
  )
  .map(([value, changes]) => JSON.parse(JSON.stringify({ ...value, ...changes })) as Record<string, unknown>);

async function verdict(schema: CompiledSchema, value: unknown): Promise<string> {
  const validation = await schema.validate(value);
  return validation.ok ? 'fits' : validation.message;
}

/**
 * All that is wrong. Not every kind of schema says "integer" of what isn't even a number, and the bounds of JavaScript's
 * integers are kept from the model.
 */
async function complaints(schema: CompiledSchema, value: unknown): Promise<string[]> {
  const validation = await schema.validate(value);
  if (validation.ok) return [];
  return validation.problems
    .map((problem) => describeProblems([problem]).replaceAll('expected number', 'expected integer'))
    .filter((problem) => !problem.includes(String(Number.MAX_SAFE_INTEGER)));
}

describe.each([
  ['zod 4', zod4],
  ['zod 3', zod3],
])('%s and the JSON Schema that the model is shown [tool.schemas]', (_, zod) => {
  const json = compile(zod.jsonSchema);

  test('both take valid values', async () => {
    await fc.assert(
      fc.asyncProperty(valid, async (value) => {
        expect(await verdict(zod, value)).toBe('fits');
        expect(await verdict(json, value)).toBe('fits');
      }),
    );
  });

  test('both take or refuse any value, and what zod says of it the other says too', async () => {
    await fc.assert(
      fc.asyncProperty(spoilt, async (value) => {
        const [ours, theirs] = await Promise.all([complaints(zod, value), complaints(json, value)]);
        expect(ours.length === 0).toBe(theirs.length === 0);
        // Zod 4 looks no further into a list that is too long.
        expect(theirs).toEqual(expect.arrayContaining(ours));
      }),
      { numRuns: inTier(100, 1_000) },
    );
  });
});

test('messages never contain what the model sent [tool.sensitive]', async () => {
  const secret = 'hunter2-hunter2';
  const secrets = fc.dictionary(
    fc.constantFrom(...fields),
    fc.constantFrom<unknown>(secret, [secret], { id: [secret] }),
  );
  await fc.assert(
    fc.asyncProperty(secrets, async (value) => {
      for (const schema of [zod4, zod3, compile(zod4.jsonSchema)]) {
        expect(await verdict(schema, value)).not.toContain(secret);
      }
    }),
  );
});
