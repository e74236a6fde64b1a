import type { ReadonlyContext } from '@google/adk';
import { injectSessionState } from '@google/adk/dist/web/agents/instructions.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fillTemplate, MissingTemplateValue } from '../../src/agents/instructions.ts';

describe('an instruction', () => {
  const state = {
    name: 'Ada',
    'app:shop': 'Tools & Co',
    'user:tier': 'gold',
    'temp:now': 12,
    order: { id: 7, lines: [1] },
    list: [1, 'two'],
    nothing: null,
    empty: '',
    no: false,
    money: '$& $1 {name}',
  };

  test.each<[string, string]>([
    ['Hello {name}!', 'Hello Ada!'],
    ['{app:shop}, {user:tier}, {temp:now}', 'Tools & Co, gold, 12'],
    ['{{name}} and {{{name}}}', 'Ada and Ada'],
    ['{ name }', 'Ada'],
    ['{order} {list}', '{"id":7,"lines":[1]} [1,"two"]'],
    ['{nothing}|{empty}|{no}', 'null||false'],
    ['[{missing?}] [{app:missing?}] [{name?}]', '[] [] [Ada]'],
    ['{money}', '$& $1 {name}'],
    ['{}', '{}'],
    ['{a-b} {1x} {x:y} {app:user:x} {name??}', '{a-b} {1x} {x:y} {app:user:x} {name??}'],
    ['{"json": {"a": 1}}', '{"json": {"a": 1}}'],
    ['{name', '{name'],
    ['name}', 'name}'],
    ['', ''],
  ])('%j becomes %j [instruction.template]', (template, filled) => {
    expect(fillTemplate(template, state)).toBe(filled);
  });

  test('a key that is missing is an error with its name, not tried again [instruction.template]', () => {
    for (const key of ['missing', 'app:name', 'constructor', 'toString', '__proto__']) {
      const fill = () => fillTemplate(`Hello {${key}}`, state);
      expect(fill).toThrow(MissingTemplateValue);
      expect(fill).toThrow(`Context variable not found: \`${key}\`.`);
      expect(fill).toThrow(`{${key}?}`);
    }
    expect(new MissingTemplateValue('m')).toMatchObject({
      code: 'HOLDFAST_TEMPLATE_VALUE',
      retryable: false,
    });
  });

  test('takes time in proportion to its length, whatever its braces [instruction.template]', () => {
    // Tried at each of its braces, this would take an hour.
    const braces = '{'.repeat(2_000_000);
    expect(fillTemplate(`${braces}name`, state)).toBe(`${braces}name`);
    expect(fillTemplate(`${braces}name}`, state)).toBe('Ada');
  });

  test('is filled as by @google/adk 2.0.0 [instruction.template]', async () => {
    const key = fc.constantFrom(
      'a',
      'b_1',
      '_c',
      'app:a',
      'user:a',
      'temp:a',
      'x:a',
      'a-b',
      '1a',
      'é',
      '$a',
      'a.b',
      '',
    );
    const placeholder = fc
      .tuple(
        fc.constantFrom('{', '{{', '{ ', '{{{'),
        key,
        fc.constantFrom('', '?', ' ?', '??'),
        fc.constantFrom('}', '}}', ' }', ''),
      )
      .map((pieces) => pieces.join(''));
    const template = fc
      .array(fc.oneof(placeholder, fc.constantFrom(' ', 'text', '$&', '{}', '\n')), { maxLength: 5 })
      .map((pieces) => pieces.join(''));
    const values = fc.dictionary(
      fc.constantFrom('a', 'b_1', '_c', 'app:a', 'user:a', 'temp:a'),
      fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value))),
    );
    await fc.assert(
      fc.asyncProperty(template, values, async (text, given) => {
        const plain = { ...given };
        const theirs = await outcome(() =>
          injectSessionState(text, {
            invocationContext: { session: { state: plain } },
          } as unknown as ReadonlyContext),
        );
        const ours = await outcome(async () => fillTemplate(text, plain));
        expect(ours).toBe(theirs);
      }),
      { numRuns: 500 },
    );
  });
});

/** The text, or the message of the error up to ADK's words. */
async function outcome(fill: () => Promise<string>): Promise<string> {
  try {
    return await fill();
  } catch (error) {
    return `error: ${error instanceof Error ? error.message.replace(/(`\.) Set it .*/s, '$1') : ''}`;
  }
}
