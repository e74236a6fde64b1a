import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { findTool, resolveTools } from '../../src/flows/resolve-tools.ts';
import { getLogger, type Logger, setLogger } from '../../src/logger.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import type { CallQuestions } from '../../src/tools/call-questions.ts';
import { CallQuestions as Questions } from '../../src/tools/call-questions.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import { ArgumentNames } from '../../src/tools/openapi/operation-names.ts';
import { boundedSchema } from '../../src/tools/openapi/operation-schema.ts';
import { RestApiTool } from '../../src/tools/openapi/rest-api-tool.ts';
import type { OpenAPIToolsetOptions } from '../../src/tools/openapi/toolset-options.ts';
import { ReadonlyContext } from '../../src/tools/readonly-context.ts';
import { callOf, contextWith, INIT } from '../definitions/tool-context.ts';
import { processorTime } from '../setup/processor-time.ts';
import { serveApi } from './api-server.ts';

const api = await serveApi();
const usual = api.answer;
beforeEach(() => {
  api.heard.length = 0;
  api.answer = usual;
});

type Json = Record<string, unknown>;

const info = { title: 'Pets', version: '1' };
const documentOf = (paths: object, more: object = {}) => ({
  openapi: '3.1.0',
  info,
  servers: [{ url: `${api.origin}/v1` }],
  paths,
  ...more,
});

const toolsetOf = (paths: object, options: OpenAPIToolsetOptions = {}, more: object = {}) =>
  new OpenAPIToolset({ specDict: documentOf(paths, more), allow: [api.host], ...options });

const inCall = (questions?: CallQuestions) =>
  contextWith({ call: callOf(questions === undefined ? {} : { questions }) });

async function call(
  toolset: OpenAPIToolset,
  args: Json = {},
  { name, context = inCall() }: { name?: string; context?: ReturnType<typeof inCall> } = {},
) {
  const tools = await toolset.getTools();
  const tool = name === undefined ? tools[0] : tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return await tool.runAsync({ args, toolContext: context });
}

const str = { type: 'string' };

function thrownBy(make: () => unknown): Error {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it threw nothing');
}

async function bytesOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('operations', () => {
  test('become tools with unique names; ids, methods and paths name them [openapi.names]', async () => {
    const op = { responses: {} };
    const toolset = toolsetOf({
      '/pets/{petId}': {
        parameters: [{ name: 'petId', in: 'path', required: true, schema: str }],
        get: { ...op, operationId: 'getPetById' },
        delete: op,
      },
      '/a': { get: { ...op, operationId: 'list-all' } },
      '/b': { get: { ...op, operationId: 'list_all' } },
      '/c': {
        get: { ...op, operationId: `x${'A'.repeat(10_000)}` },
        post: { ...op, operationId: '__proto__' },
      },
      '/d': { get: { ...op, operationId: '1st' }, post: { ...op, operationId: 'holdfast_ü' } },
    });
    const names = (await toolset.getTools()).map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names[0]).toBe('get_pet_by_id');
    expect(names[1]).toBe('delete_pets_pet_id');
    expect(names.slice(2, 4)).toEqual([
      expect.stringMatching(/^list_all_[0-9a-f]{6}$/),
      expect.stringMatching(/^list_all_[0-9a-f]{6}$/),
    ]);
    for (const name of names) expect(name).toMatch(/^[a-z_][a-z0-9_]{0,59}$/);
    // Another worker, which has the operations in another order, finds the same ones.
    const again = await toolsetOf({
      '/b': { get: { operationId: 'list_all' } },
      '/a': { get: { operationId: 'list-all' } },
    }).getTools();
    expect(again.map(({ name }) => name).sort()).toEqual(names.slice(2, 4).sort());
  });

  test('have arguments that can all be reached, also those of one name [openapi.arguments]', async () => {
    const toolset = toolsetOf(
      {
        '/pets/{id}': {
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }],
          put: {
            parameters: [
              { name: 'id', in: 'query', schema: str },
              { name: 'X-Request-ID', in: 'header', schema: str },
              { name: 'petName', in: 'cookie', schema: str },
            ],
            requestBody: {
              required: true,
              content: {
                'application/json': {
                  schema: {
                    allOf: [
                      { $ref: '#/components/schemas/Base' },
                      {
                        type: 'object',
                        properties: { petName: { type: 'string', nullable: true } },
                        required: ['petName'],
                      },
                    ],
                  },
                },
              },
            },
          },
        },
      },
      {},
      {
        components: {
          schemas: {
            Base: {
              type: 'object',
              properties: {
                id: str,
                made: { type: 'string', readOnly: true },
                parent: { $ref: '#/components/schemas/Base' },
              },
              required: ['id', 'made'],
            },
          },
        },
      },
    );
    const [tool] = await toolset.getTools();
    const schema = tool?._getDeclaration()?.parametersJsonSchema as Json;
    expect(Object.keys(schema.properties as Json)).toEqual([
      'id',
      'x_request_id',
      'pet_name',
      'id_1',
      'id_2',
      'parent',
      'pet_name_1',
    ]);
    expect(schema.required).toEqual(['id_1', 'id_2', 'pet_name_1']);
    expect(schema).toMatchObject({
      $defs: { Base: { properties: { id: { type: 'string' } }, required: ['id'] } },
    });
    await call(toolset, {
      id_1: 7,
      id: 'q&=',
      x_request_id: 'r',
      pet_name: 'c',
      id_2: 'b',
      pet_name_1: null,
      parent: { id: 'p' },
    });
    expect(api.heard[0]).toMatchObject({
      method: 'PUT',
      url: '/v1/pets/7?id=q%26%3D',
      headers: { 'x-request-id': 'r', cookie: 'petName=c' },
    });
    expect(JSON.parse(String(api.heard[0]?.body))).toEqual({ id: 'b', petName: null, parent: { id: 'p' } });
  });

  test('are chosen by tag, path, operation and method; too many are an error [openapi.filters]', async () => {
    const paths = {
      '/pets': {
        get: { operationId: 'listPets', tags: ['pets'] },
        post: { operationId: 'addPet', tags: ['pets'] },
      },
      '/shops/{id}': {
        parameters: [{ name: 'id', in: 'path', schema: str }],
        get: { operationId: 'getShop', tags: ['shops'] },
      },
    };
    const names = async (options: OpenAPIToolsetOptions, context?: ReadonlyContext) =>
      (await toolsetOf(paths, options).getTools(context)).map(({ name }) => name);
    expect(await names({ include: { tags: ['pets'] } })).toEqual(['list_pets', 'add_pet']);
    expect(await names({ include: { paths: ['/shops/*'] } })).toEqual(['get_shop']);
    expect(await names({ include: { methods: ['GET'] }, exclude: { operations: ['getShop'] } })).toEqual([
      'list_pets',
    ]);
    expect(
      await names({ toolFilter: ['add_pet'], prefix: 'x' }).catch((error: Error) => error.message),
    ).toContain('no tool "add_pet"; did you mean "x_add_pet"?');
    expect(await names({ toolFilter: (tool) => tool.isReadOnly }, new ReadonlyContext(INIT))).toEqual([
      'list_pets',
      'get_shop',
    ]);
    await expect(names({ include: { tags: ['pet'] } })).rejects.toThrow(
      'include.tags: no tag "pet"; did you mean "pets"?',
    );
    const include = { paths: ['/cats'] };
    for (const options of [{ include }, { include, options: {} }, { include, options: () => ({}) }])
      await expect(names(options)).rejects.toThrow('include: no operation is chosen');
    await expect(names({ options: { adPet: {} } })).rejects.toThrow('options: no operation "adPet"');
    await expect(names({ maxOperations: 2 })).rejects.toThrow('3 operations are chosen');
  });

  test('go to the chosen server, with its variables [openapi.servers]', async () => {
    const servers = [
      {
        url: 'https://{region}.example.com',
        description: 'live',
        variables: { region: { default: 'eu', enum: ['eu', 'us'] } },
      },
      { url: `${api.origin}/test`, description: 'test' },
    ];
    const made = (options: OpenAPIToolsetOptions) => toolsetOf({ '/a': { get: {} } }, options, { servers });
    const urlOf = async (options: OpenAPIToolsetOptions) =>
      ((await made(options).getTools())[0] as unknown as { endpoint: { baseUrl: string } }).endpoint.baseUrl;
    expect(await urlOf({})).toBe('https://eu.example.com/');
    expect(await urlOf({ serverVariables: { region: 'us' } })).toBe('https://us.example.com/');
    expect(await urlOf({ server: 'test' })).toBe(`${api.origin}/test`);
    expect(await urlOf({ server: 1 })).toBe(`${api.origin}/test`);
    await expect(urlOf({ serverVariables: { region: 'mars' } })).rejects.toThrow('must be one of "eu", "us"');
    await expect(urlOf({ serverVariables: { regoin: 'us' } })).rejects.toThrow(
      'serverVariables.regoin: no server of its operations has {regoin}; did you mean "region"?',
    );
    await expect(urlOf({ server: 'http://plain.example.com' })).rejects.toThrow(
      /plain.example.com is asked over https only: choose another server, or add "plain.example.com" to allow/,
    );
    await expect(urlOf({ server: 'http://localhost:8080' })).rejects.toThrow('add "localhost:8080" to allow');
    await expect(urlOf({ server: 'http://169.254.169.254' })).rejects.toThrow(/choose another server$/);
    const plain = { url: 'http://pets.example.com/v1' };
    const twins = { servers: [plain, { url: 'https://pets.example.com/v1' }] };
    const twin = async (allow: string[]) =>
      (
        (await toolsetOf({ '/a': { get: {} } }, { allow }, twins).getTools())[0] as unknown as {
          endpoint: { baseUrl: string };
        }
      ).endpoint.baseUrl;
    expect(await twin([])).toBe('https://pets.example.com/v1');
    expect(await twin(['pets.example.com'])).toBe(plain.url);
    const elsewhere = new OpenAPIToolset({ specUrl: 'http://localhost:8080/openapi.json' });
    await expect(elsewhere.load()).rejects.toThrow('add "localhost:8080" to allow');
    await expect(urlOf({ server: 'https://10.0.0.1' })).rejects.toThrow('not of the public internet');
  });
});

describe('bodies', () => {
  const body = (type: string, schema: object, more: object = {}) => ({
    '/up': { post: { requestBody: { required: true, content: { [type]: { schema, ...more } } } } },
  });

  test('are forms, multipart, texts and bytes [openapi.bodies]', async () => {
    const file = { type: 'string', format: 'binary' };
    await call(
      toolsetOf(
        body(
          'application/x-www-form-urlencoded',
          {
            type: 'object',
            properties: {
              a: str,
              list: { type: 'array', items: str },
              o: { type: 'object', properties: { x: str } },
            },
          },
          { encoding: { o: { style: 'deepObject', explode: true } } },
        ),
      ),
      { a: 'x y&z', list: ['1', '2'], o: { x: 'é' } },
    );
    expect(api.heard.at(-1)).toMatchObject({
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(String(api.heard.at(-1)?.body)).toBe('a=x+y%26z&list=1&list=2&o[x]=%C3%A9');
    await call(
      toolsetOf(
        body('multipart/form-data', {
          type: 'object',
          properties: { meta: { type: 'object', properties: { a: str } }, file, name: str },
        }),
      ),
      { meta: { a: 'b' }, file: { text: 'hello', filename: 'a"\r\nX: y.txt' }, name: 'n' },
    );
    const form = await new Response(Uint8Array.from(api.heard.at(-1)?.body ?? []), {
      headers: { 'content-type': String(api.heard.at(-1)?.headers['content-type']) },
    }).formData();
    expect(form.get('name')).toBe('n');
    expect(await (form.get('file') as File).text()).toBe('hello');
    expect(form.get('meta')).toBe('{"a":"b"}');
    await call(toolsetOf(body('text/plain', str)), { body: 'plain' });
    expect(String(api.heard.at(-1)?.body)).toBe('plain');
    await call(toolsetOf(body('application/octet-stream', file)), { body: { base64: 'AAEC' } });
    expect([...(api.heard.at(-1)?.body ?? [])]).toEqual([0, 1, 2]);
    // A model writes XML itself.
    const xml = toolsetOf(
      body('application/xml', { type: 'object', description: 'A pet.', properties: { name: str } }),
    );
    const [of] = await xml.getTools();
    expect(of?._getDeclaration()?.parametersJsonSchema).toMatchObject({
      properties: {
        body: { type: 'string', description: 'A pet. A text of the type application/xml.' },
      },
    });
    await call(xml, { body: '<pet><name>Rex</name></pet>' });
    expect(api.heard.at(-1)).toMatchObject({ headers: { 'content-type': 'application/xml' } });
    expect(String(api.heard.at(-1)?.body)).toBe('<pet><name>Rex</name></pet>');
    await expect(call(xml, { body: { name: 'Rex' } })).rejects.toThrow('invalid arguments');
    // In JSON there are no files.
    await call(toolsetOf(body('application/json', { type: 'object', properties: { file } })), {
      file: 'AAEC',
    });
    expect(String(api.heard.at(-1)?.body)).toBe('{"file":"AAEC"}');
    await expect(
      call(toolsetOf(body('application/octet-stream', file)), { body: { base64: 'AA', text: 'x' } }),
    ).rejects.toThrow('one of artifact, text and base64');
  });
});

describe('security', () => {
  const components = {
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      query: { type: 'apiKey', in: 'query', name: 'k' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
      basic: { type: 'http', scheme: 'basic' },
      bearer: { type: 'http', scheme: 'bearer' },
      oauth: { type: 'oauth2', flows: {} },
      oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.com' },
      tls: { type: 'mutualTLS' },
    },
  };
  const secured = (security: unknown, options: OpenAPIToolsetOptions = {}) =>
    toolsetOf({ '/a': { get: { security } } }, options, { components, security: [{ key: [] }] });

  test('of every kind is sent where it belongs, all of an alternative at once [openapi.security]', async () => {
    const credentials = {
      key: 'k-1',
      query: 'k&2',
      cookie: 'k;3',
      basic: 'ada:p:w',
      bearer: 'b-1',
      oauth: async () => 'o-1',
      oidc: { authType: 'http', http: { scheme: 'bearer', credentials: { token: 'i-1' } } },
    } as const;
    await call(secured([{ key: [], query: [], cookie: [], basic: [] }], { credentials }));
    expect(api.heard[0]).toMatchObject({
      url: '/v1/a?k=k%262',
      headers: { 'x-key': 'k-1', cookie: 'sid=k%3B3', authorization: `Basic ${btoa('ada:p:w')}` },
    });
    for (const [scheme, token] of [
      ['bearer', 'b-1'],
      ['oauth', 'o-1'],
      ['oidc', 'i-1'],
    ] as const) {
      await call(secured([{ [scheme]: ['read'] }], { credentials }));
      expect(api.heard.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
    }
  });

  test('takes the first alternative that is all there; an empty one opens the operation [openapi.security]', async () => {
    await call(
      secured([{ key: [], basic: [] }, { tls: [] }, { bearer: [] }], {
        credentials: { key: 'k', bearer: 'b-2' },
      }),
    );
    expect(api.heard[0]?.headers).toMatchObject({ authorization: 'Bearer b-2' });
    expect(api.heard[0]?.headers).not.toHaveProperty('x-key');
    await call(secured([], { credentials: { key: 'k-1' } }));
    await call(secured([{ bearer: [] }, {}], { credentials: {} }));
    expect(
      api.heard
        .slice(1)
        .every(({ headers }) => headers['x-key'] === undefined && headers.authorization === undefined),
    ).toBe(true);
    // The document's own counts where the operation says nothing.
    await call(secured(undefined, { credentials: { key: 'k-1' } }));
    expect(api.heard.at(-1)?.headers['x-key']).toBe('k-1');
    await expect(
      call(
        secured([{ key: [], basic: [] }, { tls: [] }, { gone: [] }], {
          credentials: { key: 'k-1' },
          askForCredentials: false,
        }),
      ),
    ).rejects.toThrow(
      'no credentials: it needs key (given) and basic (missing), or tls (mutualTLS: not supported), or gone (the document does not define it)',
    );
    expect(api.heard).toHaveLength(4);
  });

  test('that a function has none of is missing [openapi.security]', async () => {
    for (const none of [null, '', undefined]) {
      const toolset = secured([{ key: [] }], { credentials: { key: () => none as undefined } });
      await expect(call(toolset)).rejects.toThrow('no credentials: it needs key (missing)');
    }
    expect(api.heard).toEqual([]);
  });

  test('may be a password without a user name [openapi.security]', async () => {
    const credentials = { username: '', password: 's-1' };
    const toolset = toolsetOf(
      { '/a': { get: { operationId: 'a' } } },
      {
        authScheme: { type: 'http', scheme: 'basic' },
        authCredential: { authType: 'http', http: { scheme: 'basic', credentials } },
      },
    );
    await call(toolset);
    expect(api.heard[0]?.headers.authorization).toBe(`Basic ${Buffer.from(':s-1').toString('base64')}`);
  });

  test('is checked where it is given, with the name of the field, and tells no secret [openapi.bad]', () => {
    const wrong = [
      [{ authScheme: 7 }, 'authScheme: expected a security scheme of OpenAPI'],
      [{ authScheme: {} }, "authScheme.type: expected 'apiKey' or"],
      [{ authScheme: { type: 'apikey' } }, 'did you mean "apiKey"?'],
      [{ authScheme: { type: 'apiKey' } }, "authScheme.in: expected 'query' or"],
      [{ authScheme: { type: 'apiKey', in: 'header', name: 'X Key' } }, 'authScheme.name: expected the name'],
      [{ authScheme: { type: 'http' } }, "authScheme.scheme: expected 'bearer'"],
      [{ authCredential: 7 }, 'authCredential: expected a credential, like'],
      [{ authCredential: { type: 'apikey' } }, "authCredential.authType: expected 'apiKey' or"],
      [{ authCredential: { authType: 'apiKey' } }, 'authCredential: has no secret: give one of apiKey,'],
      [
        { authCredential: { authType: 'apiKey', apiKey: 7 } },
        'authCredential.apiKey: expected a string, got',
      ],
      [{ authCredential: { authType: 'http', http: 's-1' } }, 'authCredential.http: expected an object'],
      [
        { authCredential: { authType: 'http', http: {} } },
        'authCredential.http.credentials: expected an obj',
      ],
    ] as const;
    const endpoint = { baseUrl: api.origin, path: '/a', method: 'get' };
    for (const [given, message] of wrong) {
      const { authScheme, authCredential } = given as unknown as OpenAPIToolsetOptions;
      const byHand = (...more: [typeof authScheme?, typeof authCredential?]) =>
        new RestApiTool('a', 'b', endpoint, {}, ...more, { allow: [api.host] });
      const tool = byHand(undefined, undefined);
      for (const make of [
        () => toolsetOf({ '/a': { get: {} } }, given as unknown as OpenAPIToolsetOptions),
        () => byHand(authScheme, authCredential),
        () => {
          if (authScheme !== undefined) tool.configureAuthScheme(authScheme);
          if (authCredential !== undefined) tool.configureAuthCredential(authCredential);
        },
      ]) {
        const error = thrownBy(make);
        expect(error).toMatchObject({
          code: 'HOLDFAST_DEFINITION',
          message: expect.stringContaining(message),
        });
        expect(error.message).not.toContain('s-1');
      }
    }
  });

  test('of a client goes to no server that somebody else’s document names [openapi.bad]', () => {
    const client = { authType: 'oauth2', oauth2: { clientId: 'shop', clientSecret: 's-1' } } as const;
    for (const place of [
      { server: 'https://api.example.com', specDict: {} },
      { specUrl: 'https://x.example/a' },
    ])
      for (const [field, given] of [
        ['credentials.person', { credentials: { person: client } }],
        ['authCredential', { authCredential: client }],
      ] as const)
        expect(thrownBy(() => new OpenAPIToolset({ ...place, ...given }))).toMatchObject({
          code: 'HOLDFAST_DEFINITION',
          field,
        });
    const authScheme = { type: 'openIdConnect', openIdConnectUrl: 'https://id.example.com' } as const;
    new OpenAPIToolset({ specUrl: 'https://x.example/a', authScheme, authCredential: client });
  });

  test('that a function gives in a wrong form is an error of the call, which names the scheme [openapi.bad]', async () => {
    for (const given of [7, { authType: 'http', http: {} }, { authType: 'apiKey', apiKey: 7 }]) {
      const toolset = secured([{ key: [] }], { credentials: { key: () => given as never } });
      await expect(call(toolset)).rejects.toMatchObject({
        code: 'HOLDFAST_NO_CREDENTIALS',
        message: expect.stringContaining('security scheme key is not a credential, or a text'),
      });
    }
    const credentials = { key: { authType: 'http', http: {} } } as never;
    expect(() => secured([{ key: [] }], { credentials })).toThrow('credentials.key: expected a credential');
  });

  test('of a mistyped scheme is an error; one that no operation asks for is told once [openapi.security]', async () => {
    await expect(secured([{ key: [] }], { credentials: { keyy: 'k-1' } }).load()).rejects.toThrow(
      /credentials\.keyy: the document has no such security scheme, only "key", .*; did you mean "key"\?/,
    );
    const told: string[] = [];
    const known = getLogger();
    setLogger({ warn: (text: string) => void told.push(text) } as Logger);
    try {
      const open = (options: OpenAPIToolsetOptions) =>
        toolsetOf({ '/a': { get: {} } }, options, { components });
      const toolset = open({ credentials: { key: 'k-1' } });
      await toolset.load();
      await toolset.close();
      await toolset.load();
      await open({}).load();
      await secured([{ key: [] }], { credentials: { key: 'k-1' } }).load();
    } finally {
      setLogger(known);
    }
    expect(told).toEqual([expect.stringContaining('credentials are given, and sent with no operation')]);
  });

  test('comes before arguments of its name, which are left out [openapi.security] [openapi.injection]', async () => {
    const open = (place: string) => ({ name: place, in: place, schema: { type: 'object' } });
    const toolset = toolsetOf(
      {
        '/a': { get: { security: [{ query: [], cookie: [] }], parameters: [open('query'), open('cookie')] } },
      },
      { credentials: { query: 'real-1', cookie: 'real-2' } },
      { components },
    );
    await call(toolset, { query: { k: 'mine', K: 'mine', a: 'b' }, cookie: { sid: 'mine', c: 'd' } });
    expect(api.heard[0]).toMatchObject({ url: '/v1/a?a=b&k=real-1', headers: { cookie: 'c=d; sid=real-2' } });
  });

  test('that is missing is asked of people, one credential for a scheme of one API [openapi.ask]', async () => {
    const questions = new Questions();
    const context = inCall(questions);
    const toolset = secured([{ basic: [], key: [] }], { credentials: { key: 'k-1' } });
    expect(await call(toolset, {}, { context })).toMatchObject({ pending: true });
    expect(questions.asked).toMatchObject({
      kind: 'credential',
      authConfig: {
        authScheme: components.securitySchemes.basic,
        credentialKey: `openapi:Pets:${api.origin}/v1:basic`,
      },
    });
    const get = (key: string) =>
      key.endsWith(':basic')
        ? ({
            authType: 'http',
            http: { scheme: 'basic', credentials: { username: 'u', password: 'secret-p' } },
          } as const)
        : undefined;
    await call(
      toolset,
      {},
      { context: inCall(new Questions({ credentials: { get, renewed: async () => undefined } })) },
    );
    expect(api.heard[0]?.headers.authorization).toBe(`Basic ${btoa('u:secret-p')}`);
    const large = 'd'.repeat(10_000);
    const scopes = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`s${n}`, large]));
    const flow = { authorizationUrl: 'https://id.example.com/a', scopes, 'x-large': large };
    const hostile = { type: 'oauth2', description: large, 'x-large': large, flows: { implicit: flow } };
    const asked = new Questions();
    await call(toolsetOf({ '/a': { get: {} } }, { authScheme: hostile }), {}, { context: inCall(asked) });
    expect(asked.asked).toMatchObject({
      authConfig: {
        authScheme: { type: 'oauth2', flows: { implicit: { scopes: { s0: 'd'.repeat(500) } } } },
      },
    });
    expect(JSON.stringify(asked.asked).length).toBeLessThan(40_000);
    // A key of authScheme is named by its header too, and askForCredentials counts.
    const authScheme = { type: 'apiKey', in: 'header', name: 'X-Team' };
    const own = new Questions();
    await call(toolsetOf({ '/a': { get: {} } }, { authScheme }), {}, { context: inCall(own) });
    expect(own.asked).toMatchObject({
      authConfig: { credentialKey: `openapi:${api.origin}:apiKey:header:X-Team` },
    });
    await expect(
      call(toolsetOf({ '/a': { get: {} } }, { authScheme, askForCredentials: false })),
    ).rejects.toThrow('no credentials');
  });

  test('leaves no secret in results and errors, and does not follow to another host [openapi.secrets]', async () => {
    const credentials = { key: 'sec"ret-1', query: 'sec/ret 2' };
    const toolset = secured([{ key: [], query: [] }], { credentials });
    api.answer = ({ url, headers }, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ url, headers }));
    expect(JSON.stringify(await call(toolset))).not.toMatch(/ret-1|ret 2|ret%202/);
    api.answer = ({ url, headers }, response) => response.writeHead(400).end(`${url} ${headers['x-key']}`);
    const failure = await call(toolset).catch((error: Error) => error.message);
    expect(failure).toMatch(/the server answered 400: .*\[removed\]/);
    expect(failure).not.toMatch(/ret-1|ret%202/);
    const key = 'ab+cd/EF=="ü&';
    for (const [type, body] of [
      ['application/json', JSON.stringify({ [key]: [key, { deep: key }] })],
      ['text/plain', `${JSON.stringify({ key })} /?k=${encodeURIComponent(key)}`],
    ] as const) {
      api.answer = (_, response) => response.setHeader('content-type', type).end(body);
      const told = JSON.stringify(await call(secured([{ query: [] }], { credentials: { query: key } })));
      expect(told).toContain('[removed]');
      expect(told).not.toMatch(/ab.{1,6}cd/i);
    }
    const other = await serveApi();
    api.answer = (_, response) => response.writeHead(302, { location: `${other.origin}/b` }).end();
    const both = secured([{ key: [], query: [] }], { credentials, allow: [api.host, other.host] });
    await expect(call(both)).rejects.toThrow(
      '127.0.0.1 redirects to another host: 127.0.0.1 is asked over https only',
    );
    expect(other.heard).toEqual([]);
    await expect(call(toolset)).rejects.toThrow('over https only');
  });
});

describe('hostile and half-valid documents', () => {
  test.each([
    [{ openapi: '3.1.0', info }, 'it has no operations'],
    [{ openapi: '2.9', info, paths: {} }, 'it has openapi: "2.9"'],
    [{ asyncapi: '2.0' }, 'it has no field openapi'],
    [
      {
        openapi: '3.0.0',
        paths: { '/a': { get: { parameters: [{ $ref: '#/components/parameters/None' }] } } },
      },
      '"$ref"',
    ],
    [
      {
        openapi: '3.0.0',
        paths: { '/a': { get: { parameters: [{ $ref: 'https://evil.example.com/x' }] } } },
      },
      'another document',
    ],
    [
      {
        openapi: '3.0.0',
        paths: { '/a': { get: { parameters: [{ $ref: '#/paths/~1a/get/parameters/0' }] } } },
      },
      'leads back to itself',
    ],
    [{ openapi: '3.0.0', paths: { '/a': { get: { parameters: [null] } } } }, 'parameters[0]'],
    [{ openapi: '3.0.0', paths: { '/a': { get: { security: ['key'] } } } }, 'security[0]'],
    [
      { openapi: '3.0.0', paths: { '/a': { get: { parameters: [{ name: 'x\r\ny', in: 'header' }] } } } },
      'no name of a header',
    ],
    [
      {
        openapi: '3.0.0',
        paths: {
          '/a': { get: { requestBody: { content: { 'application/json': { schema: { $ref: '#/x' } } } } } },
        },
      },
      '#/x',
    ],
    [{ swagger: '2.0', paths: { '/a': { get: null } } }, ''],
    [{ swagger: '1.2' }, 'Swagger before 2.0'],
    [
      {
        openapi: '3.1.0',
        info: { title: 't', version: '1' },
        paths: { '/a/{id}': { get: { parameters: [{ name: 'id', in: 'query', schema: str }] } } },
      },
      'operation "get /a/{id}": endpoint.path: no parameter with in: path is named "id", so nothing fills {id}; leave it out by exclude: { operations: ["get_a_id"] }',
    ],
  ] as const)('%# are refused with the reason, and the operation [openapi.bad]', async (document, reason) => {
    const toolset = new OpenAPIToolset({ specDict: document, server: api.origin, allow: [api.host] });
    const error = await toolset.load().then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION' });
    if (reason !== '"$ref"') expect(error?.message).toContain(reason);
    else
      expect(error?.message).toContain(
        'operation "get /a": $ref "#/components/parameters/None" leads to nothing; leave it out by exclude: { operations: ["get_a"] }',
      );
  });

  test('cost little, however they nest [openapi.bad]', async () => {
    const schemas: Json = {};
    for (let n = 0; n < 60; n += 1) {
      const next = { $ref: `#/components/schemas/s${(n + 1) % 60}` };
      schemas[`s${n}`] = {
        type: 'object',
        properties: { a: next, b: next, __proto__x: next, ['__proto__']: str },
        allOf: [],
      };
      schemas[`w${n}`] = {
        allOf: [
          { $ref: `#/components/schemas/w${(n + 1) % 60}` },
          { $ref: `#/components/schemas/w${(n + 1) % 60}` },
        ],
      };
    }
    let deep: Json = str;
    for (let n = 0; n < 5_000; n += 1) deep = { type: 'array', items: deep };
    const body = (schema: object) => ({
      post: { requestBody: { content: { 'application/json': { schema } } } },
    });
    const toolset = toolsetOf(
      {
        '/a': body({ $ref: '#/components/schemas/s0' }),
        '/b': body(deep),
        '/c': body({
          type: 'string',
          pattern: '^(a+)+$',
          default: 'x'.repeat(100_000),
          description: 'd'.repeat(1_000_000),
        }),
        '/d': body({
          type: 'object',
          properties: Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`p${n}`, str])),
        }),
      },
      {},
      { components: { schemas } },
    );
    const tools = await toolset.getTools();
    for (const tool of tools) expect(JSON.stringify(tool._getDeclaration()).length).toBeLessThan(40_000);
    const wide = toolsetOf(
      { '/a': body({ $ref: '#/components/schemas/w0' }) },
      {},
      { components: { schemas } },
    );
    await expect(wide.load()).rejects.toThrow('more than 5000 parts of allOf');
    // Names that are one word in snake case, and a value that each of many schemas names.
    const names = new ArgumentNames(false);
    const took = processorTime();
    for (let n = 0; n < 40_000; n += 1)
      names.next(`a${n.toString(2).replaceAll('0', '-').replaceAll('1', '!')}`);
    const value = Array.from({ length: 100_000 }, (_, n) => `abcd${n % 10}`);
    const schema = { type: 'string', default: value, const: { value }, enum: [value, 'a'] };
    const told = boundedSchema(
      () => schema,
      'request',
      (read) => ({
        anyOf: Array.from({ length: 250 }, () => read({ $ref: '#/x' })),
      }),
    );
    expect(told).toEqual({ anyOf: Array.from({ length: 250 }, () => ({ type: 'string', enum: ['a'] })) });
    // Patterns that engines take long to read, which each detail of an operation tells.
    const everything = String.raw`[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}\p{C}]`.repeat(4);
    const parts = Array.from({ length: 250 }, (_, n) => ({
      pattern: everything + n,
      description: 'd'.repeat(600),
    }));
    const bounded = boundedSchema(Object, 'request', (read) => ({ anyOf: parts.map(read) }));
    expect(JSON.stringify(bounded).length).toBeLessThan(40_000);
    // Quadratic work takes a minute.
    expect(took()).toBeLessThan(5_000);
    const pattern = tools[2];
    await expect(pattern?.readArguments({ body: `${'a'.repeat(50_000)}!` })).rejects.toThrow(
      'invalid arguments',
    );
    expect(({} as Json).a).toBeUndefined();
  });
});

test('arguments cannot leave their place: no other path, header, cookie or host [openapi.injection]', async () => {
  const at = (name: string, place: string, more: object = {}) => ({ name, in: place, schema: str, ...more });
  const toolset = toolsetOf({
    '/pets/{id}/{b}': {
      get: {
        parameters: [
          at('id', 'path'),
          at('b', 'path', { style: 'label' }),
          at('h', 'header'),
          at('c', 'cookie'),
          at('q', 'query', { allowReserved: true }),
          at('Host', 'header'),
          at('Content-Length', 'header'),
          at('Authorization', 'header'),
        ],
      },
    },
  });
  const [tool] = await toolset.getTools();
  const declared = tool?._getDeclaration()?.parametersJsonSchema as { properties: Json } | undefined;
  expect(Object.keys(declared?.properties ?? {})).toEqual(['id', 'b', 'h', 'c', 'q']);
  await call(toolset, { id: '..x//?#@', b: 'x/y', c: 'a; d=e\r\n', q: '#&a=b+c/d' });
  expect(api.heard[0]?.url).toBe('/v1/pets/..x%2F%2F%3F%23%40/.x%2Fy?q=%23%26a%3Db%2Bc/d');
  expect(api.heard[0]?.headers.cookie).toBe('c=a%3B%20d%3De%0D%0A');
  for (const args of [
    { id: '..', b: 'x' },
    { id: '.', b: 'x' },
    { id: '../../admin', b: 'x' },
    { id: 'a/..', b: 'x' },
    { id: '..;/admin', b: 'x' },
    { id: 'a\\..\\b', b: 'x' },
    { id: 'x', b: 'a/./b' },
    { id: '', b: 'x' },
    { id: 'x', b: '.' },
    { id: 'x', b: 'x', h: 'a\r\nX: y' },
    { id: 'x', b: 'x', h: '\u0000' },
  ]) {
    await expect(call(toolset, args)).rejects.toMatchObject({ code: 'HOLDFAST_INVALID_ARGUMENTS' });
  }
  await expect(call(toolset, { b: 'x' })).rejects.toThrow('invalid arguments');
  expect(api.heard).toHaveLength(1);
});

test('options that no request can follow are refused, and headers may be a promise [openapi.bad]', async () => {
  for (const toolOptions of [
    { idempotencyHeader: 5 },
    { idempotencyHeader: 'Idempotency Key' },
    { allow: '127.0.0.1' },
    { allow: [5] },
    { headerProvider: {} },
  ] as unknown as Required<OpenAPIToolsetOptions>['toolOptions'][]) {
    const [name] = Object.keys(toolOptions) as [string];
    await expect(toolsetOf({ '/a': { post: {} } }, { toolOptions }).load()).rejects.toMatchObject({
      code: 'HOLDFAST_DEFINITION',
      message: expect.stringContaining(`${name}: expected`),
    });
  }
  await call(toolsetOf({ '/a': { get: {} } }, { headerProvider: async () => ({ 'x-team': 'a' }) }));
  expect(api.heard[0]?.headers['x-team']).toBe('a');
  const wrong = { headerProvider: () => 'x' } as unknown as OpenAPIToolsetOptions;
  await expect(call(toolsetOf({ '/a': { get: {} } }, wrong))).rejects.toThrow('expected headers by name');
});

describe('answers', () => {
  const get = () => toolsetOf({ '/a': { get: {} } });
  test('are JSON, texts, or a status; any but success is an error with status and body [openapi.answers]', async () => {
    expect(await call(get())).toEqual({ url: '/v1/a' });
    api.answer = (_, response) => response.setHeader('content-type', 'text/plain').end('hello');
    expect(await call(get())).toBe('hello');
    api.answer = (_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{"zipped":true}'));
    expect(await call(get())).toEqual({ zipped: true });
    api.answer = (_, response) => response.writeHead(204, { etag: 'x' }).end();
    expect(await call(get())).toEqual({ status: 204, headers: { etag: 'x' } });
    api.answer = (_, response) =>
      response
        .writeHead(404, { 'content-type': 'application/json' })
        .end(`{"error":"${'x'.repeat(100_000)}"}`);
    const failure = (await call(get()).catch((error: unknown) => error)) as Error;
    // An answer without a body has headers of one.
    api.answer = ({ method }, response) =>
      response
        .writeHead(method === 'HEAD' ? 200 : 204, { 'content-type': 'application/pdf', etag: 'y' })
        .end();
    const headers = { etag: 'y', 'content-type': 'application/pdf' };
    expect(await call(toolsetOf({ '/a': { head: {} } }))).toEqual({ status: 200, headers });
    expect(await call(toolsetOf({ '/a': { delete: {} } }))).toEqual({ status: 204, headers });
    // The status counts, also where the body is not what its headers say.
    let status = 404;
    api.answer = (_, response) => response.writeHead(status, { 'content-encoding': 'gzip' }).end('no gzip');
    for (const method of ['get', 'post']) {
      await expect(call(toolsetOf({ '/a': { [method]: {} } }))).rejects.toMatchObject({
        code: 'HOLDFAST_HTTP_STATUS',
        message: expect.stringMatching(/the server answered 404: \(its body can't be read\)$/),
      });
    }
    status = 200;
    await expect(call(get())).rejects.toThrow("the answer can't be decoded as gzip");
    await expect(call(toolsetOf({ '/a': { post: {} } }))).rejects.toThrow('; it has run');
    expect(failure).toMatchObject({ code: 'HOLDFAST_HTTP_STATUS', retryable: false });
    expect(failure.message).toMatch(/^Error in tool 'get_a': the server answered 404: \{"error":"xxx/);
    expect(failure.message.length).toBeLessThan(5_000);
  });

  test('that can not be kept are errors, and a write is not sent again for that [openapi.keys]', async () => {
    api.answer = (_, response) => response.setHeader('content-type', 'image/png').end('x');
    const artifacts = { save: () => Promise.reject(new Error('the bucket is full')) };
    const context = contextWith({ call: callOf(), artifacts } as never);
    const failed = (method: string) =>
      call(toolsetOf({ '/a': { [method]: {} } }), {}, { context }).catch((error: unknown) => error);
    expect(await failed('post')).toMatchObject({
      retryable: false,
      message: expect.stringContaining('; it has run'),
    });
    expect(await failed('get')).toMatchObject({ message: 'the bucket is full' });
    await expect(call(get())).rejects.toMatchObject({ code: 'HOLDFAST_SERVICE_MISSING' });
  });

  test('that are large or no text become artifacts, within a limit [openapi.artifacts]', async () => {
    const saved = new Map<string, { bytes: Buffer; mimeType: string }>();
    const artifacts = {
      save: async (
        name: string,
        { stream, mimeType }: { stream: AsyncIterable<Buffer>; mimeType: string },
      ) => {
        saved.set(name, { bytes: await bytesOf(stream), mimeType });
        return 0;
      },
    };
    const context = () => contextWith({ call: callOf(), artifacts } as never);
    api.answer = (_, response) => response.setHeader('content-type', 'image/png').end(Buffer.from([1, 0, 2]));
    expect(await call(get(), {}, { context: context() })).toMatchObject({
      artifact: expect.stringMatching(/^results\/get_a\/[0-9a-f]{16}$/),
      mimeType: 'image/png',
      bytes: 3,
    });
    const large = JSON.stringify(Array.from({ length: 60_000 }, (_, n) => `row ${n}`));
    api.answer = (_, response) =>
      response.setHeader('content-type', 'application/json; charset=utf-8').end(large);
    const handle = (await call(get(), {}, { context: context() })) as { artifact: string; preview: string };
    expect(handle.preview).toMatch(/^\["row 0"/);
    expect(saved.get(handle.artifact)).toMatchObject({ mimeType: 'application/json' });
    expect(String(saved.get(handle.artifact)?.bytes)).toBe(large);
    const key = `${'s/'.repeat(200)}"é%&`;
    const keyed = toolsetOf(
      { '/a': { get: { security: [{ key: [] }] } } },
      { credentials: { key } },
      { components: { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' } } } },
    );
    const forms = [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)];
    for (const type of ['text/plain', 'application/pdf']) {
      for (const form of forms) {
        const body = Buffer.from(`${'x'.repeat(300_000)}${form}${'y'.repeat(100_000)}${form}`);
        api.answer = (_, response) => {
          response.setHeader('content-type', type);
          // Cut within each secret.
          for (const at of [300_150, 300_000 + 100_000 + Buffer.byteLength(form) + 150])
            response.write(body.subarray(at === 300_150 ? 0 : 300_150, at));
          response.end(body.subarray(400_150 + Buffer.byteLength(form)));
        };
        const { artifact } = (await call(keyed, {}, { context: context() })) as { artifact: string };
        expect(String(saved.get(artifact)?.bytes).replaceAll(/x{300000}|y{100000}/g, '-')).toBe(
          '-[removed]-[removed]',
        );
      }
    }
    const small = toolsetOf({ '/a': { get: {} } }, { toolOptions: { maxResponseBytes: 1_000 } });
    await expect(call(small, {}, { context: context() })).rejects.toThrow('more than 1000 bytes');
  });
});

test('an optional toolset that fails is told once, until it works again [openapi.optional]', async () => {
  let fails = true;
  class Flaky extends BaseToolset {
    constructor(optional: boolean) {
      super([], undefined, { optional });
    }
    override async getTools() {
      if (fails) throw new Error('away');
      return [];
    }
    override async close() {}
  }
  const told: string[] = [];
  const agent = new LlmAgent({
    name: 'keeper',
    model: 'gemini-2.5-flash',
    tools: [new Flaky(true), new Flaky(true)],
  });
  const resolve = async (of = agent) =>
    await resolveTools(
      of,
      () => new ReadonlyContext(INIT),
      (line) => told.push(line),
    );
  expect((await resolve()).map(({ tools }) => tools)).toEqual([[], []]);
  await resolve();
  expect(told).toHaveLength(2);
  expect(told[0]).toContain('toolset Flaky (tools[0] of agent "keeper") failed: away; it is optional');
  const site = { agent, context: new ReadonlyContext(INIT), toolFactories: new Map(), toolEdits: [] };
  // It may have the tool: the call is tried again.
  await expect(findTool(site, 'lost')).rejects.toMatchObject({
    code: 'HOLDFAST_TOOLSET_FAILED',
    retryable: true,
  });
  fails = false;
  await resolve();
  expect(await findTool(site, 'lost')).toBeUndefined();
  fails = true;
  await resolve();
  expect(told).toHaveLength(4);
  const strict = new LlmAgent({ name: 'strict', model: 'gemini-2.5-flash', tools: [new Flaky(false)] });
  await expect(resolve(strict)).rejects.toMatchObject({ code: 'HOLDFAST_TOOLSET_FAILED' });
});
