import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { linearPattern } from '../../src/schema/linear-pattern.ts';
import { processorTime } from '../setup/processor-time.ts';

const ATOMS = [
  ...['a', 'b', 'Z', '7', 'é', '😀', '_', '#', '~', '\n', '\u2028', '^', '$', '.', '{', '}', ']', '{,2}'],
  ...[String.raw`\d`, String.raw`\D`, String.raw`\w`, String.raw`\W`, String.raw`\s`, String.raw`\S`],
  ...[String.raw`\b`, String.raw`\B`, String.raw`\t`, String.raw`\0`, String.raw`\-`, String.raw`\.`],
  ...[String.raw`\/`, String.raw`\_`, String.raw`\u0041`, String.raw`\x62`, String.raw`\u{1F600}`],
  ...[String.raw`\ud83d\ude00`, String.raw`\p{L}`, String.raw`\P{Lu}`, String.raw`\p{Script=Greek}`],
  ...['[a-c]', '[^a]', '[.]', '[-a]', '[[:alpha:]]', '[^]', '[]', '[a&&b]', String.raw`[\s\d]`],
  ...[String.raw`[^\S]`, String.raw`[\w-]`, String.raw`[a\-]`, String.raw`[\]x]`, String.raw`[\b]`],
  ...['(?:ab)', '(a|b)', '(?<n>a)', '(?=a)', '(?!a)', '(?<=a)', '(?i:a)', String.raw`(a)\1`, '(?i)a'],
  ...[String.raw`\cA`, String.raw`\A`, String.raw`\a`, String.raw`\Q`, String.raw`\z`, String.raw`\h`],
];
const pattern = fc
  .array(fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom('', '', '*', '+', '?', '*?', '{2}', '{0,2}')), {
    minLength: 1,
    maxLength: 5,
  })
  .chain((parts) =>
    fc.constantFrom('', '|').map((between) => parts.map((part) => part.join('')).join(between)),
  );
const SIGNS = 'abcABZ17é😀γ-_[] \n\t\u00a0\u2028\ufeff\v\b\0.{}:/,\u0001';
const text = fc.array(fc.constantFrom(...SIGNS), { maxLength: 6 }).map((signs) => signs.join(''));

function native(source: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags);
    } catch {
      // With the other flags, or not at all.
    }
  }
  return undefined;
}

describe('a pattern in the engine without backtracking', () => {
  test('takes what JavaScript takes, wherever it can be written for it at all [schema.linear]', () => {
    let compared = 0;
    fc.assert(
      fc.property(pattern, text, (source, given) => {
        const linear = linearPattern(source);
        if (linear === undefined) return;
        // JavaScript takes half a pair for a character without the flag `u`, and where `\B` stands. Here it is a code point.
        const takesHalves = native(source)?.unicode === false || source.includes('\\B');
        if (takesHalves && given.includes('😀')) return;
        compared += 1;
        expect(linear.test(given), `${source} of ${JSON.stringify(given)}`).toBe(native(source)?.test(given));
      }),
      { numRuns: 5_000 },
    );
    // Some 2,000: the others aren't regular expressions, or RE2 has no such construct.
    expect(compared).toBeGreaterThan(1_000);
  });

  test.each([
    String.raw`^[A-Z]{2}-\d+$`,
    '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
    String.raw`^\+?\d[\d\s\/()\-]{5,20}$`,
    String.raw`^[\p{L}\p{M}' .-]{1,100}$`,
    String.raw`^https://[\w.-]+(?:/[^\s]*)?$`,
    '^.{1,1000}$',
    String.raw`^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$`,
    String.raw`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$`,
    String.raw`^\p{Lu}\p{L}+(?:[ -]\p{L}+)*, [\p{L}\p{N}]+$`,
  ])('can be %s [schema.linear]', (source) => {
    expect(linearPattern(source)?.toString()).toBe(source);
  });

  test.each([
    ['look-ahead', '^(?=a)a'],
    ['look-behind', '(?<!a)b'],
    ['a reference back', String.raw`(a)\1`],
    ['more than 1,000 characters', 'a'.repeat(1_001)],
    ['more than 2,000 repetitions written out', '(?:(?:a{20}){20}){20}'],
    ['no pattern', '(a'],
  ])('has no %s [schema.linear]', (_, source) => {
    expect(linearPattern(source)).toBeUndefined();
  });

  test.each([
    ['another script', '^[А-Яа-яЁё]+$', 'ПРИВЕТ'],
    ['a class of all but spaces', String.raw`^[\S ]{1,80}$`, 'É f'],
    ['many that are no spaces', String.raw`\S`.repeat(450), 'x'.repeat(450)],
    ['many short ranges', '[k-ſ]'.repeat(150), 'K'.repeat(150)],
  ])('of %s is read in little time without case [schema.linear]', (_, source, given) => {
    const took = processorTime();
    expect(linearPattern(source, { ignoreCase: true, mostSteps: 500 })?.test(given)).toBe(true);
    expect(took()).toBeLessThan(300);
  });

  test.each([
    [String.raw`[\S]`, 200],
    [String.raw`[a-b--\u{1e943}]`, 50],
    [String.raw`[\w--\uffff]`, 50],
  ])('is refused for long ranges without case: %s, %i times [schema.linear]', (part, times) => {
    expect(linearPattern(part.repeat(times))?.test('\u017f'.repeat(times))).toBe(true);
    expect(linearPattern(part.repeat(times), { ignoreCase: true })).toBeUndefined();
  });

  test('reads a text that always needs new states in time that grows with its steps [schema.linear]', () => {
    let seed = 1;
    const next = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % 2 === 0 ? 'a' : 'b';
    };
    const slow = linearPattern('^.*a.{0,240}[0-9]$');
    const took = processorTime();
    for (let line = 0; line < 10; line += 1)
      expect(slow?.test(Array.from({ length: 4_000 }, next).join(''))).toBe(false);
    // 300 to 600 ms; with all states kept, 2,000.
    expect(took()).toBeLessThan(1_200);
  });

  test.each([
    [String.raw`^(([\w .,])+)+\u0000$`, 'ab, '],
    ['^(a|a)*$', 'a'],
    ['^(a+)+$', 'a'],
    ['(x+x+)+y', 'x'],
    [String.raw`\s+$`, ' '],
    [String.raw`^(\w+\s?)*$`, 'word '],
  ])('%s has read 200,000 characters in a second [schema.linear]', (source, repeated) => {
    const given = `${repeated.repeat(200_000 / repeated.length)}!`;
    const took = processorTime();
    expect(linearPattern(source)?.test(given)).toBe(false);
    expect(took()).toBeLessThan(1_000);
  });
});
