import { Readable } from 'node:stream';
import { InMemoryArtifactService as AdkArtifactService } from '@google/adk';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { BaseArtifactService } from '../../src/artifacts/base-artifact-service.ts';
import { bucketOfUrl } from '../../src/artifacts/bucket-of-url.ts';
import { InMemoryArtifactService } from '../../src/artifacts/in-memory-artifact-service.ts';
import { Runner } from '../../src/runner/runner.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { LOAD_ARTIFACTS, LoadArtifactsTool } from '../../src/tools/built-in/load-artifacts-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';

const service = new InMemoryArtifactService();
let breaks = false;
const breakable = new Proxy<BaseArtifactService>(service, {
  get(target, name) {
    const method = target[name as keyof BaseArtifactService] as (given: object) => Promise<unknown>;
    return async (given: object) => {
      if (breaks) throw new Error('the disk is on fire');
      return await method.call(target, given);
    };
  },
});

let begun = Promise.withResolvers<void>();
const save = tool({
  name: 'save',
  description: 'Saves.',
  parameters: z.object({ name: z.string(), fails: z.boolean().optional() }),
  idempotent: true,
  execute: async ({ name, fails }, context) => {
    const version = await context.saveArtifact(name, {
      stream: Readable.from([Buffer.from('a'), Buffer.from('b')]),
      mimeType: 'text/csv',
    });
    begun.resolve();
    if (fails && context.attempt === 1) await new Promise(() => undefined);
    const opened = await context.openArtifact(name);
    return { version, names: await context.listArtifacts(), size: opened?.size };
  },
});
const below = new LlmAgent({
  name: 'below',
  model: 'gemini-2.5-flash',
  description: 'Saves.',
  tools: [save],
});
const desk = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  tools: [save, LOAD_ARTIFACTS, new AgentTool({ agent: below })],
});

let env: TestEnvironment;
beforeAll(async () => {
  env = await createTestEnvironment({
    apps: [new App({ name: 'shop', rootAgent: desk, durable: { artifactService: breakable } })],
  });
});
afterAll(() => env.close());

describe("an app's own artifact service [artifact.own]", () => {
  test('has the artifacts of turns, and of agents that tools call, under the names of the session', async () => {
    env.gemini.reset([
      call('save', { name: 'a.csv' }),
      call('below', { request: 'save' }),
      call('save', { name: 'b.csv' }),
      text('saved'),
      text('done'),
    ]);
    const { userId, sessionId, calls } = await env.run('save');
    expect(calls[0]?.response).toEqual({ version: 0, names: ['a.csv'], size: 2 });
    const key = { appName: 'shop', userId, sessionId };
    expect(await service.listArtifactKeys(key)).toEqual(['a.csv', 'b.csv']);
    expect(await service.loadArtifact({ ...key, filename: 'a.csv' })).toEqual({
      inlineData: { data: Buffer.from('ab').toString('base64'), mimeType: 'text/csv' },
    });
    expect(await env.store.artifacts.names({ app: 'shop', userId, sessionId })).toEqual([]);
  });

  test('is asked once for a save of a call that is tried again', async () => {
    begun = Promise.withResolvers();
    env.gemini.reset([call('save', { name: 'once.csv', fails: true }), text('done')]);
    const handle = await env.send('save');
    await begun.promise;
    await env.restartWorker();
    const { userId, sessionId, calls } = await env.turnOf(handle);
    expect(calls[0]?.response).toMatchObject({ version: 0 });
    expect(await service.listVersions({ appName: 'shop', userId, sessionId, filename: 'once.csv' })).toEqual([
      0,
    ]);
  });

  test('that throws is an error of the call, a line for the model, and never the end of the turn', async () => {
    env.gemini.reset([
      call('save', { name: 'c.csv' }),
      text('saved'),
      call('save', { name: 'd.csv' }),
      text('sorry'),
    ]);
    const first = await env.run('save');
    breaks = true;
    try {
      const turn = await env.run({ userId: first.userId, sessionId: first.sessionId, message: 'again' });
      expect(turn.calls[0]?.response).toMatchObject({
        error: expect.stringContaining('the artifact service failed in saveArtifact: the disk is on fire'),
      });
      expect(turn.text).toBe('sorry');
    } finally {
      breaks = false;
    }
  });

  test('that is none is refused by name', () => {
    const agent = new LlmAgent({ name: 'agent', model: 'gemini-2.5-flash' });
    const half = { saveArtifact: () => 0, loadArtifact: () => undefined } as unknown as BaseArtifactService;
    expect(() => new App({ name: 'shop', rootAgent: agent, durable: { artifactService: half } })).toThrow(
      /durable\.artifactService: expected an artifact service, got object without listArtifactKeys\(\)/,
    );
    const client = env.client;
    expect(() => new Runner({ appName: 'shop', agent, client, artifactService: service })).toThrow(
      /artifactService: the workers of `client` have the service of their app/,
    );
    expect(() => new LoadArtifactsTool({ preload: [''] })).toThrow(/preload/);
  });
});

test('in memory, artifacts are as on ADK in any order of operations [artifact.own]', async () => {
  const key = fc.record({
    appName: fc.constantFrom('a', 'b'),
    userId: fc.constantFrom('u', 'v'),
    sessionId: fc.constantFrom('s', 't'),
    filename: fc.constantFrom('x', 'y/z', 'user:x', 'user:"y"'),
  });
  const operation = fc.oneof(
    fc.record({ do: fc.constant('saveArtifact' as const), key, text: fc.constantFrom('1', '2') }),
    fc.record({
      do: fc.constantFrom(
        'loadArtifact' as const,
        'listVersions' as const,
        'listArtifactKeys' as const,
        'deleteArtifact' as const,
      ),
      key,
      version: fc.option(fc.nat(2), { nil: undefined }),
    }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      const [ours, adk] = [new InMemoryArtifactService(), new AdkArtifactService()];
      for (const each of operations) {
        const given =
          'text' in each
            ? { ...each.key, artifact: { text: each.text } }
            : { ...each.key, version: each.version };
        const [here, there] = await Promise.all([
          ours[each.do](given as never),
          adk[each.do](given as never),
        ]);
        expect(here).toEqual(there);
      }
    }),
  );
});

describe('an address of a bucket [artifact.bucket]', () => {
  test.each([
    ['nonsense', 'expected an address such as s3://'],
    ['https://bucket/x', 'got one of https:'],
    ['s3://key:secret@bucket/x', 'has no user and no password'],
    ['s3:///x', 'names no bucket'],
    ['s3://bucket/x?region=eu', 'unknown parameter "region"; known: endpoint, pathStyle'],
  ])('%s is refused', (address, problem) => {
    expect(() => bucketOfUrl(address)).toThrow(problem);
    try {
      bucketOfUrl(address);
    } catch (error) {
      expect(String(error)).not.toContain('secret');
    }
  });

  test('names the bucket and its prefix, as a folder', () => {
    expect(bucketOfUrl('s3://bucket').url).toBe('s3://bucket/');
    expect(bucketOfUrl('gs://bucket/a/b?endpoint=http://127.0.0.1:1').url).toBe('gs://bucket/a/b/');
  });
});
