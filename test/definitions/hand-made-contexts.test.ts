import * as adk from '@google/adk';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as ours from '../../src/index.ts';

/** One program for both packages: their classes have private members, so that their types differ. */
type Package = typeof ours;

/** As the tests of ADK make them: over a map, without the names of the session. */
function artifactsInMap() {
  const versions = new Map<string, ours.Part[]>();
  return {
    async saveArtifact({ filename, artifact }: { filename: string; artifact: ours.Part }) {
      versions.set(filename, [...(versions.get(filename) ?? []), artifact]);
      return (versions.get(filename)?.length ?? 0) - 1;
    },
    loadArtifact: async ({ filename, version }: { filename: string; version?: number }) =>
      versions.get(filename)?.at(version ?? -1),
    listArtifactKeys: async () => [...versions.keys()].sort(),
  };
}

function invocationOf(
  { InvocationContext, PluginManager, createEvent, createSession, LlmAgent }: Package,
  more: Partial<ours.InvocationContextParams> = {},
) {
  const said = (text: string, promptTokenCount: number) =>
    createEvent({
      author: 'user',
      content: { role: 'user', parts: [{ text }] },
      usageMetadata: { promptTokenCount },
    });
  const session = createSession({
    ...{ id: 's1', appName: 'shop', userId: 'ada', lastUpdateTime: 1 },
    state: { city: 'Graz' },
    events: ['one', 'two', 'three', 'four'].map((text, index) => said(text, 5 * (index + 1))),
  });
  return new InvocationContext({
    invocationId: 'e-1',
    agent: new LlmAgent({ name: 'support', model: 'gemini-2.5-flash' }),
    userContent: { role: 'user', parts: [{ text: 'tea' }] },
    session,
    pluginManager: new PluginManager([]),
    artifactService: artifactsInMap(),
    memoryService: {
      addSessionToMemory: async () => undefined,
      searchMemory: async ({ appName, userId, query }: ours.SearchMemoryRequest) => ({
        memories: [{ content: { parts: [{ text: `${appName} ${userId} ${query}` }] } }],
      }),
    },
    ...more,
  } as never);
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

/** What the model is told, without declarations and names of ids: each package has a dialect of its own. */
async function told(tool: ours.BaseTool, toolContext: ours.Context, contents: ours.Content[] = []) {
  const llmRequest = { contents, config: {}, toolsDict: {}, liveConnectConfig: {} } as ours.LlmRequest;
  await tool.processLlmRequest({ toolContext, llmRequest });
  return [llmRequest.config?.systemInstruction, llmRequest.contents];
}

const PROGRAMS: Record<string, (from: Package) => Promise<unknown>> = {
  async 'a tool, with state, artifacts and memory'(from) {
    const invocationContext = invocationOf(from);
    const toolContext = new from.Context({ invocationContext, functionCallId: 'call-1' });
    const tool = new from.FunctionTool({
      name: 'order',
      description: '',
      parameters: z.object({ what: z.string() }),
      execute: async ({ what }, context) => {
        context?.state.set('last', [what]);
        context?.state.update({ 'user:plan': 'pro' });
        await context?.saveArtifact('note.txt', { text: what });
        const version = await context?.saveArtifact('note.txt', { text: `${what}!` });
        const loaded = [await context?.loadArtifact('note.txt', 0), await context?.loadArtifact('note.txt')];
        return [version, loaded, await context?.listArtifacts(), await context?.searchMemory(what)];
      },
    });
    const result = await tool.runAsync({ args: { what: 'tea' }, toolContext });
    await expect(tool.runAsync({ args: {}, toolContext })).rejects.toThrow();
    const later = new from.Context({ invocationContext });
    return [
      result,
      toolContext.actions,
      later.agentName,
      later.state.toRecord(),
      invocationContext.session.state,
    ];
  },
  async 'a tool that waits for an approval, and runs after it'(from) {
    const invocationContext = invocationOf(from);
    const tool = new from.FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      execute: async (_, context) => context?.toolConfirmation?.payload,
    });
    const decided = (confirmed: boolean) => ({
      toolConfirmation: new from.ToolConfirmation({ hint: '', confirmed, payload: { n: 1 } }),
    });
    const outcomes = [{}, decided(false), decided(true)].map(async (decision) => {
      const toolContext = new from.Context({ invocationContext, functionCallId: 'call-1', ...decision });
      const result = await tool.runAsync({ args: {}, toolContext });
      const { requestedToolConfirmations, skipSummarization } = toolContext.actions;
      return [result, requestedToolConfirmations, skipSummarization];
    });
    return await Promise.all(outcomes);
  },
  async 'a toolset, an instruction and a filter'(from) {
    const context = new from.ReadonlyContext(invocationOf(from));
    const named = (name: string) => new from.FunctionTool({ name, description: '', execute: () => name });
    class Shelf extends from.BaseToolset {
      override async getTools(seen: ours.ReadonlyContext) {
        return [named('a'), named('b')].filter((tool) => this.isToolSelected(tool, seen));
      }
      override async close() {}
    }
    const toolset = new Shelf((tool, { state }) => tool.name === 'b' && state.get('city') === 'Graz');
    return [(await toolset.getTools(context)).map(({ name }) => name), context.userContent];
  },
  async 'tools that change a request'(from) {
    const invocationContext = invocationOf(from);
    const toolContext = new from.Context({ invocationContext });
    await toolContext.saveArtifact('a.txt', { text: 'A' });
    const response = { name: 'load_artifacts', response: { artifact_names: ['a.txt'] } };
    return [
      await told(new from.PreloadMemoryTool(), toolContext),
      await told(new from.LoadMemoryTool(), toolContext),
      await told(new from.LoadArtifactsTool(), toolContext, [
        { role: 'user', parts: [{ functionResponse: response }] },
      ]),
      await new from.LoadMemoryTool().runAsync({ args: { query: 'tea' }, toolContext }),
    ];
  },
  async 'objects in place of contexts'(from) {
    const listed = { listArtifacts: async () => ['a.txt'], loadArtifact: async () => ({ text: 'A' }) };
    const stub = { ...listed, invocationContext: { artifactService: {} } } as unknown as ours.Context;
    const without = { ...listed, invocationContext: {} } as unknown as ours.Context;
    const foreign = { invocationId: 'e-2', session: { id: 's', appName: 'a', userId: 'u', state: { n: 1 } } };
    const context = new from.Context({ invocationContext: foreign as unknown as ours.InvocationContext });
    context.state.set('n', 2);
    const gated = new from.FunctionTool({
      name: 'pay',
      description: '',
      requireConfirmation: async () => false,
      execute: () => 'paid',
    });
    return [
      await told(new from.LoadArtifactsTool(), stub),
      await told(new from.LoadArtifactsTool(), without),
      [context.invocationId, context.sessionId, context.state.get('n'), context.actions.stateDelta],
      await gated.runAsync({ args: {}, toolContext: {} as ours.Context }),
    ];
  },
  async compactors(from) {
    const summarizer: ours.BaseSummarizer = {
      summarize: async (events) => ({
        ...from.createEvent({ author: 'system', id: 'summary' }),
        ...{ isCompacted: true, startTime: 0, endTime: 0, compactedContent: `${events.length} events` },
      }),
    };
    const limits = { tokenThreshold: 10, eventRetentionSize: 2, summarizer };
    const compactors = [
      new from.TokenBasedContextCompactor(limits),
      new from.TokenBasedContextCompactor({ ...limits, tokenThreshold: 99 }),
      new from.TruncatingContextCompactor({ threshold: 1 }),
    ];
    const outcomes = compactors.map(async (compactor) => {
      const context = invocationOf(from);
      const wanted = await compactor.shouldCompact(context);
      await compactor.compact(context);
      const { events } = context.session;
      const shown = (event: ours.Event) =>
        'compactedContent' in event ? event.compactedContent : event.content?.parts?.[0]?.text;
      return [wanted, events.map(shown)];
    });
    return await Promise.all(outcomes);
  },
};

describe('contexts that are made by hand [types.handMade]', () => {
  test.each(Object.keys(PROGRAMS))('%s: the same as on ADK', async (name) => {
    const theirs = await PROGRAMS[name]?.(adk as unknown as Package);
    expect(plain(await PROGRAMS[name]?.(ours))).toEqual(plain(theirs));
  });

  test('have a call of their own, whose results every context of it knows', async () => {
    const invocationContext = invocationOf(ours, { endInvocation: true });
    const contextOf = (functionCallId: string) => new ours.Context({ invocationContext, functionCallId });
    const [first, again, other] = ['call-1', 'call-1', 'call-2'].map(contextOf);
    expect(await first?.once('id', () => 1)).toBe(1);
    expect(await again?.once('id', () => 2)).toBe(1);
    expect(await other?.once('id', () => 3)).toBe(3);
    expect([first?.idempotencyKey, first?.attempt, first?.job.id]).toEqual([
      's1.e-1.call-1',
      1,
      'e-1.call-1',
    ]);
    expect(invocationContext.endInvocation).toBe(true);
  });

  test('keep a text as a text, with an address beside it, too', async () => {
    const [artifactService, key] = [new ours.InMemoryArtifactService(), { appName: 'shop', userId: 'ada' }];
    const context = new ours.Context({ invocationContext: invocationOf(ours, { artifactService }) });
    await context.saveArtifact('a', { text: 'hi', fileData: { fileUri: 'gs://b/a', mimeType: 'image/png' } });
    expect(await context.openArtifact('a')).toMatchObject({ version: 0, size: 2 });
    const about = await artifactService.getArtifactVersion({ ...key, sessionId: 's1', filename: 'a' });
    expect(about).toEqual({ version: 0 });
  });

  test('say so where only a turn has what is asked for', async () => {
    const invocationContext = invocationOf(ours);
    expect(() => new ours.ReadonlyContext(invocationContext).turnToolCalls).toThrow(
      'turnToolCalls: a context made by hand has none; run the agent by createTestEnvironment',
    );
    const agent = new ours.LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });
    await expect(agent.runAsync(invocationContext).next()).rejects.toThrow(
      'in tests by createTestEnvironment',
    );
  });
});
