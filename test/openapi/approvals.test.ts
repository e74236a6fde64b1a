import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import type { OpenAPIToolsetOptions } from '../../src/tools/openapi/toolset-options.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { untilAsked } from '../setup/until-asked.ts';
import { serveApi } from './api-server.ts';

const open = shareEnvironment();
const api = await serveApi();
/** What the server has done. */
const effects: string[] = [];
/** Whether the next write gets no answer, after its effect. */
let breaks = false;
api.answer = ({ method, body }, response) => {
  if (method !== 'GET') effects.push(`${method} ${body}`);
  if (method !== 'GET' && breaks) {
    breaks = false;
    return void response.destroy();
  }
  response.setHeader('content-type', 'application/json').end('{"ok":true}');
};

const bodyOf = (schema: object) => ({ required: true, content: { 'application/json': { schema } } });
const pet = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
const document = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: api.origin }],
  paths: {
    '/pets': {
      get: { operationId: 'listPets', responses: {} },
      post: { operationId: 'addPet', description: 'Adds a pet.', requestBody: bodyOf(pet) },
    },
  },
};
const pets = (options: OpenAPIToolsetOptions = {}) =>
  new OpenAPIToolset({ specDict: document, allow: [api.host], ...options });

/** A turn that asks the API by these calls. */
async function turnOf(toolset: BaseToolset, ...names: ('list_pets' | 'add_pet')[]): Promise<AskingTurn> {
  api.heard.length = 0;
  effects.length = 0;
  const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [toolset] });
  const calls = names.map((name) => ({ name, args: name === 'add_pet' ? { name: 'Rex' } : {} }));
  const environment = await open({ agents: [agent], script: stepCalls([calls]) });
  const turn = await AskingTurn.start(environment);
  const [request] = await turn.pending();
  if (request === undefined) throw new Error('nobody was asked');
  await untilAsked(environment.temporal, request);
  return turn;
}

describe('people and the operations of an API', () => {
  test('a write waits for its approval, a read does not [openapi.writes]', async () => {
    const turn = await turnOf(pets({ requireConfirmation: 'writes' }), 'list_pets', 'add_pet');
    await expect.poll(() => api.heard.map(({ method }) => method)).toEqual(['GET']);
    expect(await turn.pending()).toMatchObject([{ kind: 'confirmation', tool: 'add_pet' }]);
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ ok: true }, { ok: true }]);
    expect(effects).toEqual(['POST {"name":"Rex"}']);
  });

  test.for([
    [true, 2, { ok: true }],
    [false, 1, expect.objectContaining({ error: expect.any(String) })],
  ] as const)(
    'a write without an answer asks a person with ask, and has one key, run again: %s [openapi.keys]',
    async ([confirmed, requests, response]) => {
      breaks = true;
      const turn = await turnOf(pets({ options: { addPet: { onUnknownOutcome: 'ask' } } }), 'add_pet');
      expect(effects).toHaveLength(1);
      expect(await turn.pending()).toMatchObject([
        { kind: 'confirmation', hint: 'An earlier attempt of add_pet may have run. Run it again?' },
      ]);
      await turn.confirm({ confirmed });
      expect(await turn.responses()).toEqual([response]);
      const keys = api.heard.map(({ headers }) => headers['idempotency-key']);
      expect(keys).toHaveLength(requests);
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/\.1\.0$/);
    },
  );

  test('an approval is for the operation as its document described it then [openapi.pinned]', async () => {
    const approved = { requireConfirmation: 'writes' } as const;
    const moved = { ...document, servers: [{ url: `${api.origin}/elsewhere` }] };
    let served = pets(approved);
    class Redeployed extends BaseToolset {
      override async getTools() {
        return await served.getTools();
      }
      override async close() {}
    }
    const turn = await turnOf(new Redeployed(), 'add_pet');
    served = pets({ ...approved, specDict: moved });
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ error: 'tool changed since the approval' }]);
    expect(effects).toEqual([]);
  });
});

test('a worker does not start with a document that is wrong [openapi.start]', async () => {
  const specDict = { ...document, paths: { '/pets': { get: { operationId: 'listPets', parameters: [1] } } } };
  const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [pets({ specDict })] });
  await expect(open({ agents: [agent] })).rejects.toThrow('operation "listPets": parameters[0]');
});

test('the digest of an operation is of its requests [openapi.pinned]', async () => {
  const digestOf = async (post: object, more: object = {}, options: OpenAPIToolsetOptions = {}) => {
    const specDict = {
      ...document,
      paths: { '/pets': { post: { ...document.paths['/pets'].post, ...post } } },
      ...more,
    };
    const [tool] = await pets({ specDict, ...options }).getTools();
    return tool?.definitionDigest;
  };
  const parameter = (given: object) => ({
    parameters: [{ name: 'tags', in: 'query', schema: { type: 'array' }, ...given }],
  });
  const keyIn = (place: string) => ({
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'apiKey', in: place, name: 'x-key' } } },
  });
  const digests = await Promise.all([
    digestOf({}),
    digestOf({ description: 'Adds many pets.' }),
    digestOf({ servers: [{ url: `${api.origin}/elsewhere` }] }),
    digestOf(parameter({})),
    digestOf(parameter({ in: 'header' })),
    digestOf(parameter({ explode: false })),
    digestOf(parameter({ name: 'Tags' })),
    digestOf({ requestBody: { ...bodyOf(pet), required: false } }),
    digestOf({ requestBody: { content: { 'multipart/form-data': { schema: pet } } } }),
    digestOf({}, keyIn('header')),
    digestOf({}, keyIn('query')),
  ]);
  expect(digests.every((digest) => typeof digest === 'string')).toBe(true);
  expect(new Set(digests).size).toBe(digests.length);
  const [first] = digests;
  expect(await digestOf({ tags: ['pets'], responses: { 200: { description: 'ok' } } })).toBe(first);
  expect(await digestOf({}, keyIn('header'), { credentials: { key: 'another' } })).toBe(digests[9]);
});
