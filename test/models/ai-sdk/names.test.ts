import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../../src/agents/llm-agent.ts';
import { AiSdkModel } from '../../../src/models/ai-sdk/ai-sdk-model.ts';
import { PROVIDER_PACKAGES } from '../../../src/models/ai-sdk/provider-packages.ts';
import { LLMRegistry, UnknownModelError } from '../../../src/models/llm-registry.ts';
import { DefinitionError } from '../../../src/schema/definition-error.ts';
import { tool } from '../../../src/tools/function-tool.ts';
import { deploy } from '../../../worker/deploy.ts';
import { ANTHROPIC_MESSAGES } from '../../setup/wire/anthropic-messages.ts';
import { BEDROCK_CONVERSE } from '../../setup/wire/bedrock-converse.ts';
import { COMPATIBLE_CHAT } from '../../setup/wire/openai-chat.ts';
import { OPENAI_RESPONSES } from '../../setup/wire/openai-responses.ts';
import { WireServer } from '../../setup/wire/wire-server.ts';
import { ask, failure } from '../ask.ts';
import { startRawServer } from '../raw-server.ts';

const servers: WireServer[] = [];
const folders: string[] = [];
const home = process.cwd();
const before = { ...process.env };

beforeAll(async () => {
  for (const protocol of [OPENAI_RESPONSES, ANTHROPIC_MESSAGES, COMPATIBLE_CHAT, BEDROCK_CONVERSE])
    servers.push(await WireServer.start(protocol));
});
afterEach(() => {
  process.chdir(home);
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
  Object.assign(process.env, before);
});
afterAll(async () => {
  for (const server of servers) await server[Symbol.asyncDispose]();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

describe('a model that is named', () => {
  const bedrock = (key: string, url: string) => ({
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: url,
    AWS_BEARER_TOKEN_BEDROCK: key,
    AWS_REGION: 'eu-central-1',
  });
  const compatible = (key: string, url: string) => ({
    OPENAI_COMPATIBLE_BASE_URL: url,
    OPENAI_COMPATIBLE_API_KEY: key,
  });
  test.each<[string, number, string, (key: string, url: string) => Record<string, string>]>([
    ['openai/gpt-5', 0, 'openai', (key, url) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: key })],
    [
      'anthropic/claude-sonnet-4-5',
      1,
      'anthropic',
      (key, url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
    ],
    ['openai-compatible/qwen3', 2, 'compatible', compatible],
    ['bedrock/openai.gpt-oss-20b-1:0', 3, 'bedrock', bedrock],
    ['amazon-bedrock/amazon.nova-lite-v1:0', 3, 'bedrock', bedrock],
  ])(
    '%s is asked through its package, found by the environment [model.aiSdk.named]',
    async (name, index, owner, variables) => {
      const server = servers[index] as WireServer;
      server.reset(({ model }) => ({ text: `I am ${model}` }));
      Object.assign(process.env, variables(`test-key-of-${owner}`, server.url));
      const model = LLMRegistry.newLlm(name);
      expect(model).toBeInstanceOf(AiSdkModel);
      expect(model.model).toBe(name);
      const [response] = await ask(model);
      expect(response?.content?.parts).toMatchObject([{ text: `I am ${name.split('/')[1]}` }]);
      expect(server.refusals).toEqual([]);
    },
  );

  test.each([
    ['whole', false, 200, { kind: 'bad_request', retryable: false }],
    ['as a stream', true, 200, { kind: 'bad_request', retryable: false }],
    ['with an error', false, 503, { kind: 'unavailable', retryable: true }],
  ])(
    'and answers %s without end fills no memory: its connection is closed [model.aiSdk.bounds]',
    async (_how, stream, status, expected) => {
      // Comments of a stream, and JSON that never ends: neither has a character of an answer.
      const filler = Buffer.from(`${':'.repeat(1024 * 1024 - 1)}\n`);
      await using server = await startRawServer(async (response) => {
        const type = stream ? 'text/event-stream' : 'application/json';
        response.writeHead(status, { 'content-type': type });
        const closed = once(response, 'close');
        while (!response.destroyed)
          if (!response.write(filler)) await Promise.race([once(response, 'drain'), closed]);
      });
      process.env.OPENAI_COMPATIBLE_BASE_URL = server.url;
      const { error } = await failure(LLMRegistry.newLlm('openai-compatible/qwen3'), undefined, { stream });
      expect(error).toMatchObject(expected);
      if (status === 200) expect(error.message).toBe("The model's answer has more than 134217728 bytes.");
      await server.hangUp;
    },
  );

  test('without a key is told so, and a wrong key is not shown [model.aiSdk.secrets]', async () => {
    delete process.env.OPENAI_API_KEY;
    const { error } = await failure(LLMRegistry.newLlm('openai/gpt-5'));
    expect(error).toMatchObject({
      kind: 'authentication',
      retryable: false,
      wasSent: false,
      message: expect.stringMatching(/was not asked.*OPENAI_API_KEY/),
    });
    process.env.OPENAI_BASE_URL = servers[0]?.url;
    process.env.OPENAI_API_KEY = 'a-wrong-key-that-nobody-sees';
    const refused = await failure(LLMRegistry.newLlm('openai/gpt-5'));
    expect(refused.error).toMatchObject({ kind: 'authentication', status: 401 });
    expect(refused.error.message).toContain('[removed]');
    expect(refused.error.message).not.toContain('a-wrong-key');
  });

  test.each([
    ['mistral/mistral-large', 'MISTRAL_API_KEY'],
    ['bedrock/amazon.nova-lite-v1:0', 'AWS_BEARER_TOKEN_BEDROCK'],
  ])('%s without a key is told so [model.aiSdk.secrets]', async (name, variable) => {
    for (const each of Object.keys(process.env)) if (/^(AWS|MISTRAL)_/.test(each)) delete process.env[each];
    process.env.AWS_REGION = 'eu-central-1';
    const { error } = await failure(LLMRegistry.newLlm(name));
    expect(error).toMatchObject({
      kind: 'authentication',
      retryable: false,
      message: expect.stringContaining(variable),
    });
  });

  test.each([
    'openrouter/meta/llama',
    'azure/gpt-5',
    'deepseek/x',
    'groq/x',
    'xai/x',
    'google/x',
    'google-vertex/x',
  ])('%s without its package: the error says what to install [model.aiSdk.package]', (name) => {
    expect(() => LLMRegistry.newLlm(name)).toThrow(DefinitionError);
    expect(() => LLMRegistry.newLlm(name)).toThrow(/which is not installed: npm install @[\w-]+\/[\w-]+$/);
  });

  test("on a server of one's own is sent the schema of its answer [model.aiSdk.schema]", () => {
    process.env.OPENAI_COMPATIBLE_BASE_URL = 'http://127.0.0.1:11434/v1';
    expect(PROVIDER_PACKAGES['openai-compatible']?.options?.()).toMatchObject({
      baseURL: 'http://127.0.0.1:11434/v1',
      supportsStructuredOutputs: true,
    });
  });

  test('of no known provider is unknown [model.aiSdk.package]', () => {
    for (const name of ['nobody/gpt-5', 'openai/', '/gpt-5', 'constructor/x', '__proto__/x']) {
      expect(() => LLMRegistry.newLlm(name)).toThrow(UnknownModelError);
    }
  });

  test("its package is found in the program's folder as well [model.aiSdk.package]", async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'models-')));
    folders.push(folder);
    const place = join(folder, 'node_modules/@ai-sdk/cohere');
    mkdirSync(place, { recursive: true });
    writeFileSync(
      join(place, 'package.json'),
      '{"name":"@ai-sdk/cohere","type":"module","exports":"./index.js"}',
    );
    writeFileSync(join(place, 'index.js'), 'export const other = 1;');
    process.chdir(folder);
    const model = LLMRegistry.newLlm('cohere/command-a');
    const { error } = await failure(model);
    expect(error.message).toMatch(/has no createCohere: npm install @ai-sdk\/cohere@latest/);
  });
});

test('a worker with a schema that the provider refuses does not start [model.aiSdk.schemas]', () => {
  const parameters = { type: 'object', properties: { list: { type: 'array' } } };
  const look = tool({ name: 'look', description: 'looks', parameters, execute: () => ({}) });
  const agent = (model: string) => new LlmAgent({ name: 'clerk', model, tools: [look] });
  expect(() => deploy({ agents: [agent('openai/gpt-5')] })).toThrow(
    /agent "clerk", tool "look".*at properties\.list: OpenAI takes no list without "items"/,
  );
  expect(() => deploy({ agents: [agent('anthropic/claude-sonnet-4-5')] })).not.toThrow();
  const choice = { type: 'object', properties: { 'a b': { type: 'string' } } };
  const pick = tool({ name: 'pick', description: 'picks', parameters: choice, execute: () => ({}) });
  const picking = (model: AiSdkModel | string) => new LlmAgent({ name: 'clerk', model, tools: [pick] });
  const claude = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
  const made = new AiSdkModel({ model: createAmazonBedrock({ region: 'eu-west-1', apiKey: 'key' })(claude) });
  for (const model of [`bedrock/${claude}`, `amazon-bedrock/${claude}`, made])
    expect(() => deploy({ agents: [picking(model)] })).toThrow(
      /at properties\["a b"\]: Anthropic takes names/,
    );
  expect(() => deploy({ agents: [picking('bedrock/amazon.nova-lite-v1:0')] })).not.toThrow();
  expect(() => deploy({ agents: [agent('groq/llama')] })).toThrow(/npm install @ai-sdk\/groq/);
  const answering = new LlmAgent({
    name: 'lister',
    model: 'openai/gpt-5',
    outputSchema: { type: 'array', items: {} },
  });
  expect(() => deploy({ agents: [answering] })).toThrow(/agent "lister", outputSchema.*type "object"/);
});
