import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { carry } from '../../src/flows/size-rule.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { INLINE_LIMIT } from '../../src/protocol/sizes.ts';

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

const text = fc.oneof(fc.string({ maxLength: 6000 }), fc.string({ unit: 'grapheme', maxLength: 3000 }));
const value = fc.oneof(
  fc.jsonValue(),
  fc.record({ data: text }),
  fc
    .integer({ min: INLINE_LIMIT - 20, max: INLINE_LIMIT + 20 })
    .map((length) => ({ data: 'x'.repeat(length) })),
);

describe('what the history carries', () => {
  test('is the value up to 4 KiB of JSON, else a reference [size.inline]', () => {
    fc.assert(
      fc.property(value, (content) => {
        const carried = carry('k.1.0', content);
        if (bytesOf(content) <= INLINE_LIMIT) {
          expect(carried).toEqual({ value: content });
          return;
        }
        expect(carried).toEqual({
          ref: { key: 'k.1.0', digest: digestOf(content), bytes: bytesOf(content), gist: expect.any(String) },
        });
        expect(bytesOf(carried)).toBeLessThan(512);
        expect(JSON.stringify(content)).toContain(gistOf(carried).replace(/…$/, '').replaceAll('\uFFFD', ''));
      }),
    );
  });

  test('bytes count, not characters: the limit is exact [size.inline]', () => {
    const exactly = { data: 'é'.repeat((INLINE_LIMIT - 11) / 2) + 'x'.repeat((INLINE_LIMIT - 11) % 2) };
    expect(bytesOf(exactly)).toBe(INLINE_LIMIT);
    expect(carry('k', exactly)).toEqual({ value: exactly });
    expect(carry('k', { data: `${exactly.data}x` })).toHaveProperty('ref.bytes', INLINE_LIMIT + 1);
  });

  test('of sensitive content is neither value, digest nor excerpt, however small [tool.sensitive]', () => {
    fc.assert(
      fc.property(value, (content) => {
        expect(carry('k', content, true)).toEqual({
          ref: { key: 'k', digest: '', bytes: bytesOf(content), gist: '(sensitive)' },
        });
      }),
    );
  });

  test('an excerpt never ends in half a character [size.inline]', () => {
    for (const shift of ['', 'x']) {
      const gist = gistOf(carry('k', `${shift}${'😀'.repeat(3000)}`));
      expect(gist.isWellFormed()).toBe(true);
    }
  });
});

function gistOf(carried: ReturnType<typeof carry>): string {
  return 'ref' in carried ? carried.ref.gist : '';
}
