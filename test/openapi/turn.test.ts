import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { BaseToolset } from '../../src/tools/base-toolset.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { OpenAPIToolset } from '../../src/tools/openapi/openapi-toolset.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { type Heard, serveApi } from './api-server.ts';

const open = shareEnvironment();
const api = await serveApi();
const answers: ((
  heard: Heard,
) => { status: number; headers?: Record<string, string>; body?: string } | 'cut')[] = [];
beforeEach(() => {
  api.heard.length = 0;
  answers.length = 0;
});
api.answer = (heard, response) => {
  const answer = answers.shift()?.(heard) ?? { status: 200, body: '{"ok":true}' };
  if (answer === 'cut') return void response.destroy();
  response
    .writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers })
    .end(answer.body);
};

const document = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '1' },
  servers: [{ url: api.origin }],
  paths: {
    '/pets': {
      get: { operationId: 'listPets', responses: {} },
      post: {
        operationId: 'addPet',
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
            },
          },
        },
      },
      put: { operationId: 'setPets' },
    },
  },
};
const quick = { retry: { initialInterval: 1, maximumInterval: 5 } };
const pets = (options = {}) =>
  new OpenAPIToolset({ specDict: document, allow: [api.host], toolOptions: quick, ...options });

async function turn(toolsets: (BaseToolset | ReturnType<typeof tool>)[], name: string, args = {}) {
  const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: toolsets });
  const environment = await open({ agents: [agent], script: [call(name, args), text('done')] });
  const { events } = await environment.run({ message: 'go' });
  const responses = events.flatMap(({ event }) => getFunctionResponses(event));
  const response = responses.at(-1)?.response as Record<string, unknown>;
  return { response, requests: environment.gemini.requests };
}

describe('a turn with operations of an API', () => {
  test('tries reads and idempotent writes again, and waits as the server asks [openapi.retry]', async () => {
    answers.push(
      () => ({ status: 503, headers: { 'retry-after': '0' } }),
      () => 'cut',
      () => ({ status: 200, body: '{"pets":[]}' }),
    );
    expect((await turn([pets()], 'list_pets')).response).toEqual({ pets: [] });
    expect(api.heard.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET']);
    api.heard.length = 0;
    answers.push(
      () => 'cut',
      () => ({ status: 200, body: '{}' }),
    );
    await turn([pets()], 'set_pets');
    expect(api.heard.map(({ method, headers }) => [method, headers['idempotency-key']])).toEqual([
      ['PUT', undefined],
      ['PUT', undefined],
    ]);
  });

  test('sends a key with other writes, which follow onUnknownOutcome [openapi.keys]', async () => {
    answers.push(() => 'cut');
    const { response } = await turn([pets()], 'add_pet', { name: 'Rex' });
    expect(response.error).toMatch(
      /^outcome unknown: this call may have run; check before repeating it \(.+\)$/,
    );
    expect(api.heard).toHaveLength(1);
    api.heard.length = 0;
    answers.push(
      () => 'cut',
      () => ({ status: 500, body: '{}' }),
      () => ({ status: 429, headers: { 'retry-after': '0' } }),
      () => ({ status: 429, headers: { 'retry-after': '0' } }),
    );
    const spent = await turn(
      [
        pets({
          options: { addPet: { onUnknownOutcome: 'retry', retry: { ...quick.retry, maximumAttempts: 4 } } },
        }),
      ],
      'add_pet',
      { name: 'Rex' },
    );
    // The last attempts say that nothing was done; the first one may have done it.
    expect(spent.response.error).toMatch(/^outcome unknown: this call may have run.*answered 429/);
    const keys = api.heard.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/\.1\.0$/);
    api.heard.length = 0;
    answers.push(() => ({ status: 500, body: '{"why":"x"}' }));
    const failed = await turn([pets()], 'add_pet', { name: 'Rex' });
    expect(failed.response.error).toBe(`Error in tool 'add_pet': the server answered 500: {"why":"x"}`);
    expect(api.heard).toHaveLength(1);
  });

  test('sends another key after its session was deleted and made again [openapi.keys]', async () => {
    const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [pets()] });
    const script = [call('add_pet', { name: 'Rex' }), text('done')];
    const environment = await open({ agents: [agent], script: [...script, ...script] });
    const names = { app: 'test', userId: 'ada', sessionId: 'made-again' };
    for (let time = 0; time < 2; time += 1) {
      await environment.run({ ...names, messageId: 'm1', message: 'go' });
      await environment.client.sessions.delete(names);
    }
    const keys = api.heard.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
    expect(new Set(keys.map((key) => String(key).split('.').slice(1).join('.'))).size).toBe(1);
  });

  test('keeps no sensitive answer as an artifact [tool.sensitive]', async () => {
    const secret = 'CANARY '.repeat(50_000);
    const bodies = {
      'application/json': JSON.stringify(secret),
      'text/plain': secret,
      'image/png': '\x89PNG',
    };
    for (const [type, body] of Object.entries(bodies)) {
      answers.push(() => ({ status: 200, headers: { 'content-type': type }, body }));
      const sensitive = pets({ options: { addPet: { sensitive: ['result'] } } });
      const { response } = await turn([sensitive], 'add_pet', { name: 'Rex' });
      expect(response.error).toMatch(/^Error in tool 'add_pet': its result is sensitive.+it has run$/);
    }
    expect(api.heard).toHaveLength(3);
  });

  test('says that a write may have run, whatever came after that until its time was over [openapi.keys]', async () => {
    answers.push(
      () => 'cut',
      () => ({ status: 500, headers: { 'retry-after': '60' } }),
    );
    const options = { onUnknownOutcome: 'retry', timeout: '5s', totalTimeout: '50s', ...quick } as const;
    const { response } = await turn([pets({ options: { addPet: options } })], 'add_pet', { name: 'Rex' });
    expect(response.error).toMatch(/^outcome unknown: this call may have run.*answered 500/);
  });

  test('does not send a write again that a proxy may have answered: only 429 means not begun [openapi.keys]', async () => {
    const retry = { ...quick.retry, maximumAttempts: 3 };
    for (const status of [502, 503, 504, 520, 522, 524]) {
      api.heard.length = 0;
      answers.push(() => ({ status, headers: { 'retry-after': '0' }, body: 'at lunch' }));
      const { response } = await turn([pets({ toolOptions: { retry } })], 'add_pet', { name: 'Rex' });
      const said = `the server answered ${status}; the server asks to wait 0 s: at lunch; it may have run`;
      expect(response).toEqual({
        error: `outcome unknown: this call may have run; check before repeating it (Error in tool 'add_pet': ${said})`,
      });
      expect(api.heard).toHaveLength(1);
    }
    api.heard.length = 0;
    answers.push(() => ({ status: 429, headers: { 'retry-after': '0' } }));
    const { response } = await turn([pets({ toolOptions: { retry } })], 'add_pet', { name: 'Rex' });
    expect(response).toEqual({ ok: true });
    expect(api.heard).toHaveLength(2);
  });

  test('takes credentials that people have stored, all of a requirement [openapi.ask]', async () => {
    const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;
    const secured = {
      ...document,
      security: [{ basic: [], key: [] }],
      components: {
        securitySchemes: {
          basic: { type: 'http', scheme: 'basic' },
          key: { type: 'apiKey', in: 'header', name: 'X-Key' },
        },
      },
    };
    const toolset = new OpenAPIToolset({ specDict: secured, allow: [api.host], credentialKey: 'pets' });
    const agent = new LlmAgent({ name: 'keeper', model: 'gemini-2.5-flash', tools: [toolset] });
    const environment = await open({
      agents: [agent],
      script: [call('list_pets', {}), text('done')],
      workerOptions: { credentialKeys },
    });
    const { temporal, store } = environment;
    const client = new HoldfastClient({
      temporal,
      store,
      credentialKeys: parseCredentialKeys(credentialKeys),
    });
    const put = (credentialKey: string, credential: AuthCredential) =>
      client.credentials.put({ app: 'test', userId: 'ada', credentialKey, credential });
    await put('pets:key', { authType: 'apiKey', apiKey: 'key-of-ada' });
    await put('pets:basic', {
      authType: 'http',
      http: { scheme: 'basic', credentials: { username: 'ada', password: 'word-of-ada' } },
    });
    const { result, history, events } = await environment.run({ message: 'go' });
    expect(result.status).toBe('completed');
    expect(api.heard).toHaveLength(1);
    expect(api.heard[0]?.headers).toMatchObject({
      'x-key': 'key-of-ada',
      authorization: `Basic ${btoa('ada:word-of-ada')}`,
    });
    expect(JSON.stringify([history, events])).not.toMatch(/(?:key|word)-of-ada/);
  });

  test('asks before writes with requireConfirmation: writes [openapi.writes]', async () => {
    const toolset = pets({ requireConfirmation: 'writes' });
    const tools = await toolset.getTools();
    expect(tools.map(({ name, gate, isReadOnly }) => [name, gate?.confirmation?.when, isReadOnly])).toEqual([
      ['list_pets', undefined, true],
      ['set_pets', 'always', false],
      ['add_pet', 'always', false],
    ]);
    expect((await turn([pets({ requireConfirmation: 'writes' })], 'list_pets')).response).toEqual({
      ok: true,
    });
  });

  test('goes on without a toolset that is optional and can not load, and tries it again [openapi.optional]', async () => {
    const missing = new OpenAPIToolset({ specUrl: '/nowhere/pets.yaml', optional: true });
    const { response, requests } = await turn([missing, pets()], 'list_pets');
    expect(response).toEqual({ ok: true });
    expect(JSON.stringify(requests[0]?.body)).toContain('set_pets');
    const strict = new OpenAPIToolset({ specUrl: '/nowhere/pets.yaml' });
    await expect(strict.load()).rejects.toThrow("OpenAPIToolset: specUrl: the file can't be read");
  });

  test('answers a call whose tool has gone within seconds [toolset.gone]', async () => {
    let asked = 0;
    class Vanishing extends BaseToolset {
      override async getTools() {
        asked += 1;
        return asked > 1 ? [] : [tool({ name: 'gone', description: 'd', execute: () => 1 })];
      }
      override async close() {}
    }
    const { response } = await turn([new Vanishing()], 'gone');
    expect(response.error).toContain('this worker has no tool "gone"');
    // Once in each of two steps, and at four attempts of the call, whose waits are seven seconds. A minute would be seven attempts.
    expect(asked).toBe(6);
  });
});
