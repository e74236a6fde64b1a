import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import { serveApi } from './api-server.ts';

const api = await serveApi();
const root = await mkdtemp(join(tmpdir(), 'openapi-'));
const folder = join(root, 'api');
mkdirSync(join(folder, 'schemas'), { recursive: true });
const write = (name: string, value: unknown) =>
  writeFileSync(join(folder, name), typeof value === 'string' ? value : JSON.stringify(value));

const bodyOf = (schema: object) => ({ content: { 'application/json': { schema } } });
const documentWith = (paths: object) => ({
  openapi: '3.1.0',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: 'https://pets.example.com' }],
  paths,
  components: { schemas: { Name: { type: 'string', maxLength: 7 } } },
});
const post = (operationId: string, $ref: string) => ({
  post: { operationId, requestBody: bodyOf({ type: 'object', properties: { pet: { $ref } } }) },
});
const pet = {
  type: 'object',
  properties: {
    name: { $ref: '../pets.json#/components/schemas/Name' },
    mother: { $ref: 'pet.json' },
    tag: { $ref: '#/$defs/Tag' },
  },
  $defs: { Tag: { enum: ['a', 'b'] } },
};
write('schemas/pet.json', pet);
write(
  'paths.yaml',
  "cats:\n  get:\n    operationId: listCats\n    parameters: [{ $ref: '#/limit' }]\nlimit: { name: limit, in: query, schema: { type: integer } }\n",
);
const document = documentWith({
  '/pets': post('addPet', 'schemas/pet.json'),
  '/cats': { $ref: 'paths.yaml#/cats' },
});
write('pets.json', document);

const declared = async (toolset: OpenAPIToolset) =>
  (await toolset.getTools()).map((tool) => tool._getDeclaration()?.parametersJsonSchema);

test('references to other documents are followed where they are allowed [openapi.external]', async () => {
  const asFile = await declared(
    new OpenAPIToolset({ specUrl: join(folder, 'pets.json'), externalRefs: { allow: ['./'] } }),
  );
  const [add, list] = asFile;
  const found = JSON.stringify(add);
  expect(add).toMatchObject({
    properties: {
      pet: { properties: { name: { type: 'string', maxLength: 7 }, tag: { enum: ['a', 'b'] } } },
    },
  });
  expect(found).toMatch(/"mother":\{[^}]*"\$ref":"#\/\$defs\/pet_json_\d"/);
  expect(list).toMatchObject({ properties: { limit: { type: 'integer' } } });
  const files: Record<string, unknown> = { '/api/pets.json': document, '/api/schemas/pet.json': pet };
  api.answer = ({ url }, response) => {
    if (url === '/api/paths.yaml')
      return void response.end(
        '{"cats":{"get":{"operationId":"listCats","parameters":[{"$ref":"#/limit"}]}},"limit":{"name":"limit","in":"query","schema":{"type":"integer"}}}',
      );
    response.writeHead(files[url] === undefined ? 404 : 200).end(JSON.stringify(files[url]));
  };
  const allow = [api.host];
  const served = new OpenAPIToolset({
    specUrl: `${api.origin}/api/pets.json`,
    allow,
    externalRefs: { allow: ['./'] },
  });
  expect(await declared(served)).toEqual(asFile);
  expect(api.heard.map(({ url }) => url).sort()).toEqual([
    '/api/paths.yaml',
    '/api/pets.json',
    '/api/schemas/pet.json',
  ]);
  const swagger = {
    swagger: '2.0',
    info: { title: 'Pets', version: '1' },
    host: 'pets.example.com',
    schemes: ['https'],
    paths: {
      '/p': {
        post: {
          operationId: 'addPet',
          parameters: [{ name: 'pet', in: 'body', schema: { $ref: `${api.origin}/api/schemas/pet.json` } }],
        },
      },
    },
  };
  const bySwagger = new OpenAPIToolset({ specDict: swagger, allow, externalRefs: { allow: [api.origin] } });
  expect(await declared(bySwagger)).toMatchObject([
    { properties: { name: { type: 'string', maxLength: 7 }, tag: { enum: ['a', 'b'] } } },
  ]);
});

test('references to other documents are refused by their name [openapi.external]', async () => {
  writeFileSync(join(root, 'secret.json'), '{"type":"string"}');
  symlinkSync(join(root, 'secret.json'), join(folder, 'link.json'));
  write('wrong.json', '{');
  api.answer = ({ url }, response) => {
    if (url === '/moved.json') response.writeHead(302, { location: 'http://169.254.169.254/x' }).end();
    else response.writeHead(404).end();
  };
  const file = async (paths: object, options: object = { externalRefs: { allow: ['./', api.origin] } }) => {
    write('other.json', documentWith(paths));
    await new OpenAPIToolset({ specUrl: join(folder, 'other.json'), allow: [api.host], ...options }).load();
  };
  const advice =
    'leads to another document, which is not followed: allow its address by externalRefs of OpenAPIToolset';
  for (const [reference, reason, options] of [
    ['schemas/pet.json', advice, {}],
    ['../secret.json', advice],
    ['https://other.example.com/pet.json', advice],
    ['file:///etc/hostname', advice],
    ['link.json', "the file is outside of the document's folder"],
    ['%2e%2e%2fsecret.json', 'must not include encoded'],
    ['none.json', 'ENOENT'],
    ['wrong.json', "it can't be read"],
    ['schemas/pet.json#/$defs/None', 'leads to nothing'],
    [`${api.origin}/none.json`, 'the server answered 404'],
    [`${api.origin}/moved.json`, 'redirects to another host'],
  ] as const) {
    const failure = file({ '/pets': post('addPet', reference) }, options);
    await expect(failure, reference).rejects.toMatchObject({
      code: reason.startsWith('the server answered') ? 'HOLDFAST_FETCH_FAILED' : 'HOLDFAST_DEFINITION',
      message: expect.stringContaining(reason),
    });
  }
  for (let n = 0; n < 101; n += 1) write(`schemas/many-${n}.json`, '{}');
  const many = Object.fromEntries(
    Array.from({ length: 101 }, (_, n) => [`/p${n}`, post(`p${n}`, `schemas/many-${n}.json`)]),
  );
  await expect(file(many)).rejects.toThrow('its references lead to more than 100 documents');
  for (const externalRefs of [
    {},
    { allow: [] },
    { allow: ['file:///'] },
    { allow: ['../'] },
    { allow: './' },
    { alow: [] },
  ]) {
    expect(() => new OpenAPIToolset({ specUrl: 'x.json', externalRefs: externalRefs as never })).toThrow(
      'externalRefs',
    );
  }
  expect(() => new OpenAPIToolset({ specStr: '{}', externalRefs: { allow: ['./'] } })).toThrow(
    'has no folder',
  );
});
