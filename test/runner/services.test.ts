import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  App,
  type Context,
  InMemoryArtifactService,
  InMemoryMemoryService,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  Runner,
  setLogger,
  tool,
} from '../../src/index.ts';
import { call, type GeminiScript, startMockGemini, text } from '../../src/testing/index.ts';

const gemini = await startMockGemini({ script: [] });
Object.assign(process.env, gemini.env);

const appName = 'shop';
const userId = 'ada';
const newMessage = { role: 'user', parts: [{ text: 'I like pears.' }] };
const script: GeminiScript = ({ contents = [] }) =>
  contents.at(-1)?.parts?.[0]?.functionResponse === undefined ? call('note', {}) : text('Noted.');
const part = (said: string) => ({ text: said });

const service = new InMemorySessionService();

beforeAll(() => void setLogger(null));
beforeEach(() => gemini.reset(script));
afterAll(async () => {
  await service.close();
  await gemini.close();
});

/** An agent whose tool and callback save by ADK's services; the tool fails once after that. */
function noting(seen: unknown[] = []): LlmAgent {
  let attempts = 0;
  const save = async (context: Context, filename: string) => {
    const { artifactService, memoryService, session } = context.invocationContext;
    seen.push(
      await artifactService?.saveArtifact({ filename, artifact: part(filename), customMetadata: { by: 1 } }),
    );
    await memoryService?.addSessionToMemory(session);
    await memoryService?.addMemory?.({
      appName,
      userId,
      memories: [{ content: { parts: [part(`Kept as ${filename}`)] }, author: 'user' }],
    });
  };
  return new LlmAgent({
    name: 'noter',
    model: 'gemini-2.5-flash',
    tools: [
      tool({
        name: 'note',
        description: 'takes a note',
        needsTranscript: true,
        execute: async (_args, context) => {
          attempts += 1;
          await save(context, 'tool.txt');
          if (attempts === 1) throw new Error('once more');
          return { attempts };
        },
      }),
    ],
    afterAgentCallback: async (context) => {
      await save(context, 'callback.txt');
      return undefined;
    },
  });
}

async function runOn(runner: Runner): Promise<string> {
  const { id: sessionId } = await runner.sessionService.createSession({ appName, userId });
  for await (const event of runner.runAsync({ userId, sessionId, newMessage })) {
    expect(event.errorMessage).toBeUndefined();
  }
  return sessionId;
}

async function memoriesOf({ memoryService }: Runner, query: string): Promise<unknown[]> {
  const { memories = [] } = (await memoryService?.searchMemory({ appName, userId, query })) ?? {};
  return memories.map(({ content }) => content.parts?.[0]?.text);
}

describe('artifactService and memoryService', () => {
  test('the same options are the same settings: a runner finds the worker again that its waiting turns have [adk.services]', () => {
    const rootAgent = noting();
    const durable = { memory: { service: new InMemoryMemoryService() } };
    const settings = () => new App({ name: appName, rootAgent, durable }).durable;
    expect(isDeepStrictEqual(settings(), settings())).toBe(true);
  });

  test('of a context save once, and a runner reads what they saved [adk.services]', async () => {
    const seen: unknown[] = [];
    const rootAgent = noting(seen);
    const app = new App({ name: appName, rootAgent, durable: { memory: { index: 'never' } } });
    const runner = new Runner({ app, sessionService: service });
    const sessionId = await runOn(runner);

    const { artifactService } = runner;
    const key = { appName, userId, sessionId };
    expect(seen).toEqual([0, 0, 0]);
    expect(await artifactService.listArtifactKeys(key)).toEqual(['callback.txt', 'tool.txt']);
    const tools = { ...key, filename: 'tool.txt' };
    expect(await artifactService.listArtifactVersions(tools)).toEqual([
      { version: 0, customMetadata: { by: 1 } },
    ]);
    expect(await artifactService.loadArtifact(tools)).toEqual(part('tool.txt'));
    const fileData = { fileUri: 'gs://notes/a.pdf', mimeType: 'application/pdf' };
    expect(await artifactService.saveArtifact({ ...tools, artifact: { fileData } })).toBe(1);
    expect(await artifactService.listVersions(tools)).toEqual([0, 1]);
    expect(await artifactService.getArtifactVersion(tools)).toEqual({
      version: 1,
      mimeType: 'application/pdf',
      canonicalUri: 'gs://notes/a.pdf',
    });
    await artifactService.deleteArtifact(tools);
    expect(await artifactService.loadArtifact(tools)).toBeUndefined();

    expect(await memoriesOf(runner, 'pears')).toEqual(['I like pears.']);
    expect((await memoriesOf(runner, 'kept')).toSorted()).toEqual([
      'Kept as callback.txt',
      'Kept as tool.txt',
    ]);
    const unknown = { id: 'none', appName, userId, events: [] };
    await expect(runner.memoryService?.addSessionToMemory(unknown)).rejects.toThrow(
      'the store has no session none',
    );
  });

  test('are those that a runner was given, also where two runners differ in them only [adk.services]', async () => {
    const agent = noting();
    for (const _runner of ['first', 'second']) {
      const artifactService = new InMemoryArtifactService();
      const memoryService = new InMemoryMemoryService();
      const runner = new Runner({ appName, agent, sessionService: service, artifactService, memoryService });
      const sessionId = await runOn(runner);
      expect(runner).toMatchObject({ artifactService, memoryService });
      const key = { appName, userId, sessionId };
      expect(await artifactService.listArtifactKeys(key)).toEqual(['callback.txt', 'tool.txt']);
      expect(await memoriesOf(runner, 'pears')).toEqual(['I like pears.']);
    }
  });

  test('are undefined where the app has no memory; an InMemoryRunner has one [adk.services]', async () => {
    const agent = noting();
    expect(new Runner({ appName, agent, sessionService: service }).memoryService).toBeUndefined();
    expect(new InMemoryRunner({ agent, appName: 'no name for an app' }).memoryService).toBeUndefined();
    await using runner = new InMemoryRunner({ agent, appName });
    await runOn(runner);
    expect(await memoriesOf(runner, 'pears')).toEqual(['I like pears.']);
  });
});
