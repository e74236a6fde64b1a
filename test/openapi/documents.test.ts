import { writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { OpenApiSpecParser } from '../../src/tools/openapi/openapi-spec-parser.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import { createRestApiTool } from '../../src/tools/openapi/rest-api-tool.ts';
import type { OpenAPIToolsetOptions } from '../../src/tools/openapi/toolset-options.ts';
import { callOf, contextWith } from '../definitions/tool-context.ts';
import { serveApi } from './api-server.ts';

const api = await serveApi();
const folder = await mkdtemp(join(tmpdir(), 'openapi-'));

const swagger = {
  swagger: '2.0',
  info: { title: 'Pets', version: '1' },
  host: api.host,
  basePath: '/v2',
  schemes: ['http'],
  securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
  security: [{ key: [] }],
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        parameters: [
          { name: 'id', in: 'path', required: true, type: 'integer' },
          { name: 'tags', in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'pipes' },
        ],
        responses: { 200: { description: 'ok', schema: { $ref: '#/definitions/Pet' } } },
      },
    },
  },
  definitions: { Pet: { type: 'object', properties: { name: { type: 'string' } } } },
};

const three = (openapi: string) => ({
  openapi,
  info: { title: 'Pets', version: '1' },
  servers: [{ url: `${api.origin}/v3` }],
  paths: {
    '/pets/{id}': {
      get: {
        operationId: 'getPet',
        parameters: [
          {
            name: 'id',
            in: 'path',
            required: true,
            schema:
              openapi === '3.0.4'
                ? { type: 'integer', nullable: true, minimum: 0, exclusiveMinimum: true }
                : { type: ['integer', 'null'], exclusiveMinimum: 0 },
          },
          {
            name: 'tags',
            in: 'query',
            style: 'pipeDelimited',
            explode: false,
            schema: { type: 'array', items: { type: 'string' } },
          },
        ],
        responses: {
          200: {
            description: 'ok',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
          },
        },
      },
      ...(openapi === '3.2.0'
        ? {
            parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
            query: { operationId: 'findPet' },
            additionalOperations: { LOCK: { operationId: 'lockPet' } },
          }
        : {}),
    },
  },
  components: {
    schemas: {
      Pet: {
        type: 'object',
        properties: { name: { type: 'string' }, secret: { type: 'string', writeOnly: true } },
      },
    },
  },
});

const yaml = (document: object) => `# a pet shop\n${JSON.stringify(document, null, 2)}`;

async function calledBy(options: OpenAPIToolsetOptions) {
  const toolset = new OpenAPIToolset({
    allow: [api.host],
    credentials: options.specDict === swagger ? { key: 'k' } : {},
    ...options,
  });
  const tools = await toolset.getTools();
  await tools[0]?.runAsync({
    args: { id: 7, tags: ['a', 'b|'] },
    toolContext: contextWith({ call: callOf() }),
  });
  return { tools, heard: api.heard.at(-1) };
}

describe('documents [openapi.documents]', () => {
  test('of Swagger 2 are converted, as object, JSON and YAML [openapi.documents]', async () => {
    for (const source of [
      { specDict: swagger },
      { specStr: JSON.stringify(swagger) },
      { specStr: yaml(swagger), specType: 'yaml' as const },
    ]) {
      const { heard, tools } = await calledBy({ credentials: { key: 'k-2' }, ...source });
      expect(heard).toMatchObject({ url: '/v2/pets/7?tags=a%7Cb%7C', headers: { 'x-key': 'k-2' } });
      expect(tools[0]?._getDeclaration()?.responseJsonSchema).toMatchObject({
        properties: { name: { type: 'string' } },
      });
    }
  });

  test('of Swagger 2 may share bodies, and separate by tabs [openapi.documents] [openapi.bodies]', async () => {
    const shared = (name: string) => ({ $ref: `#/parameters/${name}` });
    const operation = (operationId: string, ...parameters: object[]) => ({
      operationId,
      parameters,
      responses: {},
    });
    const tabbed = { in: 'query', type: 'array', items: { type: 'string' }, collectionFormat: 'tsv' };
    const specDict = {
      ...swagger,
      security: [],
      consumes: ['application/json'],
      parameters: {
        pet: { name: 'pet', in: 'body', required: true, schema: { $ref: '#/definitions/Pet' } },
        age: { name: 'age', in: 'formData', type: 'integer', required: true },
        kind: { name: 'kind', in: 'formData', type: 'string' },
        tags: { ...tabbed, name: 'tags' },
      },
      paths: {
        '/a': { post: operation('ofBody', shared('pet'), shared('tags'), { ...tabbed, name: 'more' }) },
        '/b': {
          parameters: [shared('pet')],
          put: operation('ofPath'),
          post: {
            ...operation('ofForm', shared('age'), shared('kind')),
            consumes: ['application/x-www-form-urlencoded'],
          },
        },
      },
    };
    const toolset = new OpenAPIToolset({ specDict, allow: [api.host] });
    const called = async (name: string, args: Record<string, unknown>) => {
      const tool = (await toolset.getTools()).find((each) => each.name === name);
      await tool?.runAsync({ args, toolContext: contextWith({ call: callOf() }) });
      const { url = '', body = '' } = api.heard.at(-1) ?? {};
      return [url, String(body)];
    };
    expect(await called('of_body', { name: 'Rex', tags: ['a', 'b'], more: ['c', 'd'] })).toEqual([
      '/v2/a?tags=a%09b&more=c%09d',
      '{"name":"Rex"}',
    ]);
    expect(await called('of_path', { name: 'Rex' })).toEqual(['/v2/b', '{"name":"Rex"}']);
    expect(await called('of_form', { age: 7, kind: 'cat' })).toEqual(['/v2/b', 'age=7&kind=cat']);
  });

  test('of 3.0, 3.1 and 3.2 are read from files and servers too [openapi.documents] [openapi.tools]', async () => {
    for (const version of ['3.0.4', '3.1.1', '3.2.0']) {
      const document = three(version);
      const file = join(folder, `${version}.yaml`);
      writeFileSync(file, yaml(document));
      api.answer = ({ url }, response) =>
        void response.end(url === '/openapi.json' ? JSON.stringify(document) : '{}');
      const elsewhere =
        version === '3.2.0'
          ? { specUrl: `${api.origin}/openapi.json` }
          : { specUrl: version === '3.1.1' ? file : pathToFileURL(file) };
      for (const source of [{ specDict: document }, elsewhere]) {
        const { heard, tools } = await calledBy(source);
        expect(heard).toMatchObject({ method: 'GET', url: '/v3/pets/7?tags=a%7Cb%7C' });
        expect(tools.map(({ name, isReadOnly }) => [name, isReadOnly])).toEqual([
          ['get_pet', true],
          ...(version === '3.2.0'
            ? [
                ['find_pet', true],
                ['lock_pet', false],
              ]
            : []),
        ]);
        const declaration = tools[0]?._getDeclaration();
        expect(declaration?.parametersJsonSchema).toMatchObject({
          properties: { id: { type: ['integer', 'null'], exclusiveMinimum: 0 } },
          required: ['id'],
        });
        expect(declaration?.responseJsonSchema).toEqual({
          type: 'object',
          properties: { name: { type: 'string' } },
        });
      }
    }
  });

  test('that are no JSON, too large in their aliases or not there say so [openapi.bad]', async () => {
    let bomb = 'a0: &a0 [x, x, x, x, x, x, x, x, x]\n';
    for (let n = 1; n < 9; n += 1)
      bomb += `a${n}: &a${n} [${Array(9)
        .fill(`*a${n - 1}`)
        .join(', ')}]\n`;
    api.answer = (_, response) => void response.writeHead(503).end('x');
    for (const [options, reason] of [
      [{ specStr: '{"openapi":' }, 'JSON'],
      [{ specStr: bomb }, 'xcessive alias'],
      [{ specStr: 'just a text' }, 'expected an object'],
      [{ specStr: `${'['.repeat(200_000)}` }, ''],
      [{ specUrl: 'https://169.254.169.254/openapi.json' }, 'not of the public internet'],
      [{ specUrl: 'http://example.com/openapi.json' }, 'over https only'],
    ] as const) {
      await expect(new OpenAPIToolset({ ...options, allow: [api.host] }).load()).rejects.toMatchObject({
        code: 'HOLDFAST_DEFINITION',
        message: expect.stringContaining(reason),
      });
    }
    const away = new OpenAPIToolset({ specUrl: `${api.origin}/openapi.json`, allow: [api.host] });
    await expect(away.load()).rejects.toMatchObject({
      code: 'HOLDFAST_FETCH_FAILED',
      message: 'OpenAPIToolset: specUrl: the server answered 503',
      retryable: true,
    });
    for (const options of [
      {},
      { specDict: {}, specStr: '' },
      { specStr: '{}', optoinal: true },
      { specDict: [] },
      { specStr: '{}', credentials: { a: 1 } },
      { specStr: '{}', include: { tags: 'a' } },
      { specStr: '{}', requireConfirmation: 'reads' },
      { specStr: '{}', approval: {} },
      { specStr: '{}', options: { a: { retires: 1 } } },
    ]) {
      expect(() => new OpenAPIToolset(options as never)).toThrow(/^OpenAPIToolset: /);
    }
  });
});

test('documents whose references multiply them are refused [openapi.bad]', async () => {
  const schema = { type: 'object', description: 'x'.repeat(70_000) };
  const shared = (paths: object) =>
    JSON.stringify({
      ...three('3.1.0'),
      paths,
      components: {
        schemas: { [spelled(0)]: schema },
        requestBodies: { B: { content: { 'text/x': { schema } } } },
      },
    });
  const of = (count: number, operation: (n: number) => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`/p${n}`, { post: operation(n) }]));
  const bodies = of(1_000, () => ({ requestBody: { $ref: '#/components/requestBodies/B' } }));
  // Each is another text for the same place.
  const spelled = (n: number) => n.toString(2).padStart(10, '0').replaceAll('0', 'a').replaceAll('1', '%61');
  const definitions = of(1_000, (n) => ({
    requestBody: { content: { 'text/x': { schema: { $ref: `#/components/schemas/${spelled(n)}` } } } },
  }));
  for (const paths of [bodies, definitions]) {
    await expect(new OpenAPIToolset({ specStr: shared(paths) }).load()).rejects.toThrow(
      'with its references written out it has more than 64 MiB',
    );
  }
});

test('an object is read in slices: the worker goes on between two operations that take long [openapi.documents]', async () => {
  let turns = 0;
  const operation = {
    get summary() {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return 'Takes long to be read.';
    },
  };
  const paths = Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`/${n}`, { get: operation }]));
  const specDict = { ...three('3.1.0'), paths };
  const toolset = new OpenAPIToolset({ specDict, include: { paths: ['/0'] }, allow: [api.host] });
  const count = () => {
    turns += 1;
    if (!isLoaded) setImmediate(count);
  };
  let isLoaded = false;
  setImmediate(count);
  await toolset.load().finally(() => {
    isLoaded = true;
  });
  expect(turns).toBeGreaterThanOrEqual(5);
});

test("ADK's parser and tools work by hand [openapi.tools]", async () => {
  api.answer = (_, response) => void response.end('{"name":"Rex"}');
  const document = { ...three('3.1.0'), security: [{ key: [] }] };
  Object.assign(document.components, { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } });
  const [parsed] = new OpenApiSpecParser().parse(document);
  expect(parsed).toMatchObject({
    name: 'get_pet',
    endpoint: { path: '/pets/{id}', method: 'get' },
    authScheme: { type: 'http' },
  });
  expect(
    parsed?.parameters.map(({ name, paramLocation, required }) => [name, paramLocation, required]),
  ).toEqual([
    ['id', 'path', true],
    ['tags', 'query', false],
  ]);
  if (parsed === undefined) throw new Error('no operation');
  const tool = createRestApiTool(parsed, { document, allow: [api.host] });
  tool.configureAuthCredential({
    authType: 'http',
    http: { scheme: 'bearer', credentials: { token: 't-1234' } },
  });
  expect(await tool.runAsync({ args: { id: 7 }, toolContext: contextWith() })).toEqual({ name: 'Rex' });
  expect(api.heard.at(-1)).toMatchObject({ url: '/v3/pets/7', headers: { authorization: 'Bearer t-1234' } });
  await expect(tool.runAsync({ args: { id: 'x' }, toolContext: contextWith() })).rejects.toThrow(
    'invalid arguments: id',
  );
  expect(() => new OpenApiSpecParser().parse(swagger)).toThrow('give it to OpenAPIToolset');
});

test.each([
  ['no servers', undefined, '', 'expected an absolute URL: choose another server'],
  ['a server without a host', [{ url: '/v1' }], '/v1', 'expected an absolute URL: choose another server'],
  [
    'a server without TLS',
    [{ url: 'http://{where}.example.com', variables: { where: { default: 'pets' } } }],
    'http://pets.example.com',
    'pets.example.com is asked over https only: choose another server, or add "pets.example.com" to allow',
  ],
])(
  'a document with %s is parsed and its tool made; the request is refused [openapi.servers]',
  async (_, servers, baseUrl, problem) => {
    const [parsed] = new OpenApiSpecParser().parse({ ...three('3.1.0'), servers });
    expect(parsed?.endpoint.baseUrl).toBe(baseUrl);
    if (parsed === undefined) throw new Error('no operation');
    const tool = createRestApiTool(parsed, { document: three('3.1.0') });
    // A host that isn't asked gets no credential.
    tool.configureAuthScheme({ type: 'http', scheme: 'bearer' });
    expect(tool.definitionDigest).toMatch(/./);
    await expect(tool.runAsync({ args: { id: 7 }, toolContext: contextWith() })).rejects.toMatchObject({
      code: 'HOLDFAST_ADDRESS_REFUSED',
      retryable: false,
      message: expect.stringContaining(`Error in tool 'get_pet': endpoint.baseUrl: ${problem}`),
    });
  },
);
