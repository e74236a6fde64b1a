import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { SaveFilesAsArtifactsPlugin } from '../../src/plugins/save-files-as-artifacts-plugin.ts';
import type { PostgresStore } from '../../src/store/postgres-store.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { LoadArtifactsTool } from '../../src/tools/built-in/load-artifacts-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { expireBlobs } from '../store/suite/artifacts/blobs.ts';

let begun = Promise.withResolvers<void>();
let attempts = 0;

const write = tool({
  name: 'write',
  description: 'Writes files.',
  parameters: z.object({ names: z.array(z.string()), fails: z.boolean().optional() }),
  idempotent: true,
  execute: async ({ names, fails }, context) => {
    attempts += 1;
    const versions: number[] = [];
    for (const name of names) {
      versions.push(await context.saveArtifact(name, { text: `attempt ${context.attempt} of ${name}` }));
    }
    begun.resolve();
    if (fails && context.attempt === 1) await new Promise(() => undefined);
    return { versions, sees: await context.listArtifacts() };
  },
});
const read = tool({
  name: 'read',
  description: 'Reads a file.',
  parameters: z.object({ name: z.string(), version: z.number().optional() }),
  execute: async ({ name, version }, context) => ({
    part: (await context.loadArtifact(name, version)) ?? 'none',
  }),
});
const tardy = tool({
  name: 'tardy',
  description: 'Saves, and takes longer than bytes that nobody uses are kept.',
  parameters: z.object({}),
  execute: async (_args, context) => {
    await context.saveArtifact('late', { text: 'late' });
    await expireBlobs(env.store as PostgresStore, 'shop');
    await env.store.blobs.giveUp(100);
    return { saved: true };
  },
});
const refuse = tool({
  name: 'refuse',
  description: 'Saves, and fails.',
  parameters: z.object({}),
  execute: async (_args, context) => {
    await context.saveArtifact('lost', { text: 'lost' });
    throw new Error('no');
  },
});
const writer = new LlmAgent({
  name: 'writer',
  model: 'gemini-2.5-flash',
  description: 'Writes.',
  tools: [write],
});
const reader = new LlmAgent({
  name: 'reader',
  model: 'gemini-2.5-flash',
  tools: [new LoadArtifactsTool({ preload: ['brief/*.txt', 'user:profile.json'] })],
});
const desk = new LlmAgent({
  name: 'desk',
  subAgents: [reader],
  model: 'gemini-2.5-flash',
  tools: [write, read, tardy, refuse, new AgentTool({ agent: writer })],
  beforeAgentCallback: async (context) => {
    if (context.state.get('notes') === true) await context.saveArtifact('notes.txt', { text: 'noted' });
    return undefined;
  },
});

let env: TestEnvironment;
beforeAll(async () => {
  env = await createTestEnvironment({
    apps: [new App({ name: 'shop', rootAgent: desk, plugins: [new SaveFilesAsArtifactsPlugin()] })],
  });
});
afterAll(() => env.close());
beforeEach(() => {
  begun = Promise.withResolvers();
  attempts = 0;
});

const deltasOf = (turn: Awaited<ReturnType<TestEnvironment['run']>>) =>
  turn.events
    .map(({ event }) => event.actions?.artifactDelta ?? {})
    .filter((delta) => Object.keys(delta).length > 0);

describe('artifacts in turns', () => {
  test('a tool saves versions, which its event names, and a later turn loads [artifact.service]', async () => {
    env.gemini.reset([
      call('write', { names: ['a.txt', 'a.txt', 'user:b.txt'] }),
      text('done'),
      call('read', { name: 'a.txt' }),
      call('read', { name: 'a.txt', version: 0 }),
      call('read', { name: 'user:b.txt' }),
      call('read', { name: 'c.txt' }),
      text('read'),
    ]);
    const first = await env.run('write');
    const { userId, sessionId } = first;
    expect(first.calls[0]?.response).toEqual({ versions: [0, 1, 0], sees: ['a.txt', 'user:b.txt'] });
    expect(deltasOf(first)).toEqual([{ 'a.txt': 1, 'user:b.txt': 0 }]);
    const second = await env.run({ userId, sessionId, message: 'read' });
    expect(second.calls.map(({ response }) => response)).toEqual([
      { part: { text: 'attempt 1 of a.txt' } },
      { part: { text: 'attempt 1 of a.txt' } },
      { part: { text: 'attempt 1 of user:b.txt' } },
      { part: 'none' },
    ]);
  });

  test('a call that is tried again makes no second version [artifact.durable]', async () => {
    env.gemini.reset([call('write', { names: ['again.txt'], fails: true }), text('done')]);
    const handle = await env.send('write');
    await begun.promise;
    await env.restartWorker();
    const turn = await env.turnOf(handle);
    expect(attempts).toBe(2);
    expect(turn.calls[0]?.response).toMatchObject({ versions: [0] });
    const { app, userId, sessionId } = turn;
    const versions = await env.store.artifacts.versions({ app, userId, sessionId }, 'again.txt');
    expect(versions.map(({ version }) => version)).toEqual([0]);
    const read = await env.store.blobs.read({
      id: (versions[0] as { content: { blob: string } }).content.blob,
      nth: 0,
    });
    expect(Buffer.from(read ?? []).toString()).toBe('attempt 2 of again.txt');
  });

  test('a call whose bytes were collected says so at once, and that it has run [artifact.garbage]', async () => {
    env.gemini.reset([call('tardy', {}), text('done')]);
    const { calls } = await env.run('go');
    expect(calls[0]?.response).toEqual({
      error: "Error in tool 'tardy': its result can't be stored; it has run",
    });
  });

  test('a failed call leaves no artifact, as it leaves no state [artifact.durable]', async () => {
    env.gemini.reset([call('refuse'), text('sorry')]);
    const { app, userId, sessionId, calls } = await env.run('refuse');
    expect(calls[0]?.response).toMatchObject({ error: expect.stringContaining('no') });
    expect(await env.store.artifacts.names({ app, userId, sessionId })).not.toContain('lost');
  });

  test('callbacks save with their step [artifact.service]', async () => {
    env.gemini.reset([text('hello')]);
    const turn = await env.run({ message: 'hello', stateDelta: { notes: true } });
    const { app, userId, sessionId } = turn;
    expect(await env.store.artifacts.versions({ app, userId, sessionId }, 'notes.txt')).toHaveLength(1);
    expect(deltasOf(turn)).toEqual([{ 'notes.txt': 0 }]);
  });

  test('an agent that a tool calls shares the artifacts of the session [artifact.scope]', async () => {
    env.gemini.reset([
      call('writer', { request: 'write' }),
      call('write', { names: ['below.txt'] }),
      text('written'),
      call('read', { name: 'below.txt' }),
      text('done'),
    ]);
    const turn = await env.run('delegate');
    expect(turn.calls.at(-1)?.response).toEqual({ part: { text: 'attempt 1 of below.txt' } });
  });

  test('files of a message are saved, and named in its text [artifact.inputs]', async () => {
    env.gemini.reset([text('seen')]);
    const image = {
      inlineData: {
        data: Buffer.from('an image').toString('base64'),
        mimeType: 'image/png',
        displayName: 'cat.png',
      },
    };
    const turn = await env.run({ message: { role: 'user', parts: [{ text: 'look' }, image] } });
    expect(turn.events[0]?.event.content?.parts).toEqual([
      { text: 'look' },
      { text: '[Uploaded Artifact: "cat.png"]' },
    ]);
    const { app, userId, sessionId } = turn;
    const [saved] = await env.store.artifacts.versions({ app, userId, sessionId }, 'cat.png');
    expect(saved).toMatchObject({
      version: 0,
      content: { kind: 'inline', mimeType: 'image/png', displayName: 'cat.png' },
    });
  });

  test('a script that loads artifacts until it has them sees that it has [artifact.load]', async () => {
    env.gemini.reset([text('hello')]);
    const { app, userId, sessionId } = await env.run('hello');
    const names = { app, userId, sessionId };
    await env.client.artifacts.put({
      ...names,
      name: 'a.txt',
      bytes: Buffer.from('x'),
      mimeType: 'text/plain',
    });
    env.gemini.reset((_request, { functionResponses, userText, index }) => {
      const isLoaded = functionResponses.some(({ name }) => name === 'load_artifacts');
      return isLoaded || index > 2
        ? text(`${userText} ${index}`)
        : call('load_artifacts', { artifact_names: ['a.txt'] });
    });
    expect((await env.run({ ...names, message: 'read', agent: 'reader' })).text).toBe('read 1');
  });

  test('the model gets preloaded artifacts with each request and those it loads with the next one [artifact.load]', async () => {
    env.gemini.reset([text('hello')]);
    const { app, userId, sessionId } = await env.run('hello');
    const names = { app, userId, sessionId };
    const put = async (name: string, bytes: string, mimeType = 'text/plain') =>
      await env.client.artifacts.put({ ...names, name, bytes: Buffer.from(bytes), mimeType });
    await put('brief/a.txt', 'the brief');
    await put('brief/deep/b.txt', 'too deep');
    await put('user:profile.json', '{"of":"Ada"}', 'application/json');
    await put('other.txt', 'an odd text');
    env.gemini.reset([call('load_artifacts', { artifact_names: ['other.txt', '../x'] }), text('read')]);
    await env.run({ ...names, message: 'read', agent: 'reader' });
    const shown = env.gemini.requests.map(({ body }) => JSON.stringify(body));
    expect(shown).toHaveLength(2);
    for (const request of shown) {
      for (const part of [
        'Artifact brief/a.txt is:',
        'the brief',
        'Artifact user:profile.json is:',
        '{\\"of\\":\\"Ada\\"}',
      ]) {
        expect(request).toContain(part);
      }
      expect(request).not.toContain('too deep');
    }
    expect(shown[0]).not.toContain('an odd text');
    expect(shown[1]).toContain('Artifact other.txt is:');
    expect(shown[1]).toContain('an odd text');
  });
});
