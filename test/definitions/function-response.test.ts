import fc from 'fast-check';
import { expect, test } from 'vitest';
import { toFunctionResponse } from '../../src/tools/function-response.ts';
import { InvalidResultError } from '../../src/tools/tool-error.ts';

test('a JSON object is the response, anything else is its result [tool.result]', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const response = toFunctionResponse(value);
      const json = JSON.parse(JSON.stringify(value));
      const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
      expect(response).toEqual(isObject ? json : { result: json });
    }),
  );
});

test('kinds of results', () => {
  expect(toFunctionResponse(undefined)).toEqual({});
  expect(toFunctionResponse(null)).toEqual({ result: null });
  expect(toFunctionResponse([1, 2])).toEqual({ result: [1, 2] });
  expect(toFunctionResponse('')).toEqual({ result: '' });
  expect(toFunctionResponse(new Date(0))).toEqual({ result: '1970-01-01T00:00:00.000Z' });
  expect(toFunctionResponse({ result: 1, more: undefined })).toEqual({ result: 1 });
});

test('the response is a copy', () => {
  const result = { items: [{ a: 1 }] };
  const response = toFunctionResponse(result);
  result.items.push({ a: 2 });
  expect(response).toEqual({ items: [{ a: 1 }] });
});

test('what JSON has no form of is an error that names the path and is not retried [tool.result]', () => {
  expect(() => toFunctionResponse({ rows: [{ id: 1n }] })).toThrow(
    "the result can't be sent as JSON at rows[0].id: JSON has no bigint; give a number or a string",
  );
  try {
    toFunctionResponse(new Map());
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidResultError);
    expect(error).toMatchObject({ retryable: false, code: 'HOLDFAST_INVALID_RESULT' });
  }
});
