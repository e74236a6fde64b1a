import fc from 'fast-check';
import {
  createQuerySerializer,
  defaultPathSerializer,
  serializeArrayParam,
  serializeObjectParam,
} from 'openapi-fetch';
import { expect, test } from 'vitest';
import {
  cookiePairs,
  headerText,
  pathText,
  queryPairs,
} from '../../src/tools/openapi/serialize-parameters.ts';
import { inTier } from '../setup/tier.ts';

const numRuns = inTier(300, 5_000);

const text = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.constantFrom('a b', 'a,b', 'ä&=?#/', "it's", '100%', ';.'),
);
const primitive = fc.oneof(text, fc.integer(), fc.boolean());
const name = fc.stringMatching(/^[a-z][a-zA-Z_]{0,8}$/);
const list = fc.array(primitive, { minLength: 1, maxLength: 5 });
const record = fc.dictionary(name, primitive, { minKeys: 1, maxKeys: 4 }).map((value) => ({ ...value }));

const parameter = (originalName: string, style: string, explode: boolean) => ({
  originalName,
  style,
  explode,
  allowReserved: false,
});

/** A query of the other implementation in our encoding: it leaves the delimiter `|` as it is. Nothing is decoded, or a delimiter could be lost. */
const encoded = (query: string) => query.replaceAll('|', '%7C');

/** Names and values that a server reads: it splits before it decodes. */
const read = (query: string, delimiter: string) =>
  query.split('&').map((pair) => {
    const [field = '', value = ''] = pair.split('=');
    return [decodeURIComponent(field), value.split(delimiter).map(decodeURIComponent)] as const;
  });

test('query parameters of all styles are those of another implementation [openapi.styles]', () => {
  fc.assert(
    fc.property(name, list, record, fc.boolean(), (key, items, fields, explode) => {
      for (const style of ['form', 'spaceDelimited', 'pipeDelimited'] as const) {
        const theirs = createQuerySerializer({ array: { style, explode } })({ [key]: items });
        const ours = queryPairs(parameter(key, style, explode), items).join('&');
        expect(ours).toBe(encoded(theirs));
      }
      const form = createQuerySerializer({ object: { style: 'form', explode } })({ [key]: fields });
      expect(queryPairs(parameter(key, 'form', explode), fields).join('&')).toBe(encoded(form));
      const deep = createQuerySerializer({ object: { style: 'deepObject', explode: true } })({
        [key]: fields,
      });
      expect(queryPairs(parameter(key, 'deepObject', true), fields).join('&')).toBe(encoded(deep));
    }),
    { numRuns },
  );
});

test('a server that reads a parameter by its style gets what was given, delimiters within values too [openapi.styles]', () => {
  const delimiters = { form: ',', spaceDelimited: '%20', pipeDelimited: '%7C' } as const;
  fc.assert(
    fc.property(name, list, record, (key, items, fields) => {
      for (const [style, delimiter] of Object.entries(delimiters)) {
        const values = items.map(String);
        const many = queryPairs(parameter(key, style, true), items).join('&');
        expect(read(many, '\n')).toEqual(values.map((value) => [key, [value]]));
        // A value has no way to hold the delimiter of these two styles.
        const told = style === 'form' ? values : values.map((value) => value.replaceAll(/[ |]/g, '_'));
        const one = queryPairs(parameter(key, style, false), told).join('&');
        expect(read(one, delimiter)).toEqual([[key, told]]);
      }
      const members = Object.entries(fields).flatMap(([field, value]) => [field, String(value)]);
      const flat = queryPairs(parameter(key, 'form', false), fields).join('&');
      expect(read(flat, ',')).toEqual([[key, members]]);
      for (const [value, given] of [
        [items, items.map(String)],
        [fields, members],
      ] as const) {
        const path = pathText(parameter(key, 'simple', false), value);
        expect(path.split(',').map(decodeURIComponent)).toEqual(given);
        const matrix = pathText(parameter(key, 'matrix', false), value);
        expect(read(matrix.slice(1), ',')).toEqual([[key, given]]);
      }
    }),
    { numRuns },
  );
});

test('path parameters of all styles are those of another implementation [openapi.styles]', () => {
  const signs = { simple: ['', ''], label: ['.', ''], matrix: [';', ''] } as const;
  fc.assert(
    fc.property(name, fc.oneof(primitive, list, record), fc.boolean(), (key, value, explode) => {
      for (const style of ['simple', 'label', 'matrix'] as const) {
        const [sign] = signs[style];
        const template = `{${sign}${key}${explode ? '*' : ''}}`;
        const theirs = defaultPathSerializer(template, { [key]: value as never });
        const ours = pathText(parameter(key, style, explode), value);
        expect(ours).toBe(theirs);
      }
    }),
    { numRuns },
  );
});

test('headers and cookies are written alike, and hold no other line [openapi.styles]', () => {
  const plain = fc.stringMatching(/^[ -~]{1,12}$/);
  fc.assert(
    fc.property(
      name,
      fc.array(plain, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      (key, items, explode) => {
        expect(headerText(parameter(key, 'simple', explode), items)).toBe(
          serializeArrayParam(key, items, { style: 'simple', explode, allowReserved: true }),
        );
        const fields = Object.fromEntries(items.map((item, index) => [`k${index}`, item]));
        expect(headerText(parameter(key, 'simple', explode), fields)).toBe(
          serializeObjectParam(key, fields, { style: 'simple', explode, allowReserved: true }),
        );
        expect(cookiePairs(parameter(key, 'form', explode), items).join('&')).toBe(
          encoded(createQuerySerializer({ array: { style: 'form', explode } })({ [key]: items })),
        );
      },
    ),
    { numRuns },
  );
  fc.assert(
    fc.property(fc.string(), (value) => {
      try {
        expect(headerText(parameter('h', 'simple', false), value)).not.toMatch(/[\r\n\0]/);
      } catch (error) {
        expect(error).toMatchObject({ code: 'HOLDFAST_INVALID_ARGUMENTS' });
      }
      expect(cookiePairs(parameter('c', 'form', false), value).join('')).not.toMatch(/[;\r\n\0 ]/);
    }),
    { numRuns },
  );
});

test('any value in any path stays in its segment [openapi.injection]', () => {
  fc.assert(
    fc.property(
      fc.anything({ withNullPrototype: false }),
      fc.constantFrom('simple', 'label', 'matrix'),
      fc.boolean(),
      (value, style, explode) => {
        fc.pre(value !== undefined && value !== null);
        let json: unknown;
        try {
          json = JSON.parse(JSON.stringify(value) ?? 'null');
        } catch {
          return;
        }
        if (json === null) return;
        const written = pathText(parameter('id', style, explode), json);
        const url = new URL(`https://x.example.com/a/${written}/b`);
        expect(written).not.toMatch(/[/?#\\]/);
        expect(url.host).toBe('x.example.com');
      },
    ),
    { numRuns },
  );
});
