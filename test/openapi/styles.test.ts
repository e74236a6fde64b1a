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

/** Names and values that a server reads: an encoder may encode more than another one. */
const read = (query: string) => query.split('&').map((pair) => pair.split('=').map(decodeURIComponent));

test('query parameters of all styles are those of another implementation [openapi.styles]', () => {
  fc.assert(
    fc.property(name, list, record, fc.boolean(), (key, items, fields, explode) => {
      for (const style of ['form', 'spaceDelimited', 'pipeDelimited'] as const) {
        const theirs = createQuerySerializer({ array: { style, explode } })({ [key]: items });
        const ours = queryPairs(parameter(key, style, explode), items).join('&');
        expect(read(ours)).toEqual(read(theirs));
      }
      const form = createQuerySerializer({ object: { style: 'form', explode } })({ [key]: fields });
      expect(read(queryPairs(parameter(key, 'form', explode), fields).join('&'))).toEqual(read(form));
      const deep = createQuerySerializer({ object: { style: 'deepObject', explode: true } })({
        [key]: fields,
      });
      expect(read(queryPairs(parameter(key, 'deepObject', true), fields).join('&'))).toEqual(read(deep));
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
        expect(decodeURIComponent(ours)).toBe(decodeURIComponent(theirs));
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
        expect(read(cookiePairs(parameter(key, 'form', explode), items).join('&'))).toEqual(
          read(createQuerySerializer({ array: { style: 'form', explode } })({ [key]: items })),
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
