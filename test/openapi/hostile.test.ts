import { describe, expect, test } from 'vitest';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import type { OpenAPIToolsetOptions } from '../../src/tools/openapi/toolset-options.ts';
import { callOf, contextWith } from '../definitions/tool-context.ts';
import { longestPause } from '../setup/longest-pause.ts';
import { serveApi } from './api-server.ts';

const api = await serveApi();
const ok = api.answer;

async function toolsOf(operations: Record<string, object>, options: OpenAPIToolsetOptions = {}) {
  const paths = Object.fromEntries(Object.entries(operations).map(([path, operation]) => [path, operation]));
  const specDict = {
    openapi: '3.1.0',
    info: { title: 't', version: '1' },
    servers: [{ url: api.origin }],
    paths,
  };
  return await new OpenAPIToolset({ specDict, allow: [api.host], ...options }).getTools();
}

async function called(operation: object, args: Record<string, unknown>) {
  const [tool] = await toolsOf({ '/a': operation });
  return await tool?.runAsync({ args, toolContext: contextWith({ call: callOf() }) });
}

/** What a call returns that gets these bytes. */
async function answerOf(type: string, body: Buffer | string) {
  api.answer = (_, response) => void response.setHeader('content-type', type).end(body);
  try {
    return await called({ get: { operationId: 'op' } }, {});
  } finally {
    api.answer = ok;
  }
}

describe('what models send', () => {
  test('null for an argument that is left out counts as that, where the schema takes none [openapi.arguments]', async () => {
    const parameters = [{ name: 'q', in: 'query', schema: { type: 'array', items: { type: 'string' } } }];
    await called({ get: { operationId: 'op', parameters } }, { q: null });
    expect(api.heard.at(-1)?.url).toBe('/a');
    const properties = { a: { type: 'string' }, b: { type: ['string', 'null'] } };
    const content = { 'application/json': { schema: { type: 'object', properties } } };
    const patch = { patch: { operationId: 'op', requestBody: { content } } };
    await called(patch, { a: 'x', b: null });
    expect(String(api.heard.at(-1)?.body)).toBe('{"a":"x","b":null}');
    await expect(called(patch, { a: 7, b: null })).rejects.toThrow('invalid arguments: a: expected string');
    const required = [{ ...parameters[0], required: true }];
    await expect(called({ get: { operationId: 'op', parameters: required } }, { q: null })).rejects.toThrow(
      'q',
    );
  });

  test('sees no text of a document that people would not see, and can send it [openapi.bad]', async () => {
    const hidden = (text: string) => `${text}\u202e\u{e0041}`;
    const size = {
      type: 'string',
      description: hidden('Size.'),
      enum: ['S', hidden('M')],
      default: hidden('S'),
    };
    const box = { type: 'object', properties: { [hidden('odd')]: size }, required: [hidden('odd')] };
    const schema = { type: 'object', properties: { size, box } };
    const content = { 'application/json': { schema } };
    const parameters = [{ name: 'q', in: 'query', description: hidden('Query.'), schema: size }];
    const put = { operationId: 'op', description: hidden('Puts.'), parameters, requestBody: { content } };
    const told = { put: { ...put, responses: { 200: { description: '', content } } } };
    const [tool] = await toolsOf({ '/a': told });
    const declared = JSON.stringify(tool?._getDeclaration());
    expect(declared).toMatch(/^[ -~]*$/);
    expect(declared).toContain('"enum":["S"]');
    const args = { size: hidden('M'), box: { [hidden('odd')]: 'S' } };
    await called(told, { q: 'S', ...args });
    expect(JSON.parse(String(api.heard.at(-1)?.body))).toEqual(args);
  });

  test('base64 that is none is refused [openapi.bodies]', async () => {
    const content = { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
    const post = { post: { operationId: 'op', requestBody: { content } } };
    await expect(called(post, { body: { base64: '<picture.png>' } })).rejects.toThrow(
      'base64 has characters',
    );
    await called(post, { body: { base64: 'aGkh\n' } });
    expect(String(api.heard.at(-1)?.body)).toBe('hi!');
  });

  test('names with a long prefix are those that all providers take, and differ [openapi.names]', async () => {
    const long = 'operation'.repeat(9);
    const of = (id: string) => ({ get: { operationId: `${long}${id}` } });
    const tools = await toolsOf(
      { '/a': of('A'), '/b': of('B'), '/c': { get: { operationId: 'c' } } },
      { prefix: 'p'.repeat(30) },
    );
    const names = tools.map(({ name }) => name);
    expect(new Set(names).size).toBe(3);
    expect(Math.max(...names.map(({ length }) => length))).toBe(64);
    expect(names).toContain(`${'p'.repeat(30)}_c`);
  });
});

describe('what servers send', () => {
  test('numbers without room stay as they are written [openapi.answers]', async () => {
    const body =
      '{"id":9007199254740993,"neg":-12345678901234567890,"n":1.25,"safe":9007199254740991,"text":"9007199254740993"}';
    expect(await answerOf('application/json', body)).toEqual({
      id: '9007199254740993',
      neg: '-12345678901234567890',
      n: 1.25,
      safe: 9007199254740991,
      text: '9007199254740993',
    });
    expect(await answerOf('application/json', '{"id":9007199254740993')).toBe('{"id":9007199254740993');
    const deep = `${'['.repeat(50_000)}9007199254740993${']'.repeat(50_000)}`;
    expect(Array.isArray(await answerOf('application/json', deep))).toBe(true);
  });

  test('texts of other charsets are texts [openapi.answers]', async () => {
    expect(await answerOf('text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1'))).toBe('café');
    expect(
      await answerOf('application/json; charset="ISO-8859-1"', Buffer.from('{"a":"\xe9"}', 'latin1')),
    ).toEqual({ a: 'é' });
    expect(await answerOf('text/plain; charset=utf-16le', Buffer.from('hé', 'utf16le'))).toBe('hé');
    expect(await answerOf('text/plain; charset=iso-8859-1', 'café')).toBe('café');
    expect(await answerOf('text/plain; charset=klingon', 'café')).toBe('café');
  });
});

test('a small document that names a large definition very often holds nobody up [openapi.documents]', async () => {
  const reference = { $ref: '#/components/schemas/B', description: 'd' };
  const properties = Object.fromEntries(
    Array.from({ length: 1_000 }, (_, index) => [`p${index}`, reference]),
  );
  const content = { 'application/json': { schema: { type: 'object', properties } } };
  const toolset = (extensions: number) =>
    new OpenAPIToolset({
      allow: [api.host],
      specDict: {
        openapi: '3.1.0',
        info: { title: 't', version: '1' },
        servers: [{ url: api.origin }],
        paths: { '/a': { post: { operationId: 'op', requestBody: { content } } } },
        components: {
          schemas: {
            B: {
              type: 'string',
              ...Object.fromEntries(Array.from({ length: extensions }, (_, index) => [`x-${index}`, 1])),
            },
          },
        },
      },
    });
  const pause = await longestPause(async () => {
    await expect(toolset(2_000).getTools()).rejects.toThrow('2001 keywords, and at most 100 are read');
    expect(await toolset(90).getTools()).toHaveLength(1);
  });
  expect(pause).toBeLessThan(2_500);
});
