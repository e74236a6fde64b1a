import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  AgentControlledContextCompactor,
  AnchoredContextCompactor,
  TokenBasedContextCompactor,
  TrajectoryThoughtPruningCompactor,
  TruncatingContextCompactor,
} from '../../src/agents/compaction/context-compactors.ts';
import { LlmSummarizer } from '../../src/agents/compaction/llm-summarizer.ts';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { isCompactedEvent } from '../../src/events/compacted-event.ts';
import type { Content } from '../../src/events/content.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import type { ModelRequest } from '../../src/models/llm-request.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import {
  call,
  createTestEnvironment,
  error,
  type TestEnvironment,
  text,
  thought,
} from '../../src/testing/index.ts';
import { ConsolidateContextTool } from '../../src/tools/built-in/consolidate-context-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { inTier, isDeep } from '../setup/tier.ts';

/** Summarises by counting, and keeps what it was asked. */
class Summaries extends BaseLlm {
  readonly asked: string[] = [];

  constructor() {
    super({ model: 'summaries' });
  }

  override async *generateContentAsync({ contents }: ModelRequest): AsyncGenerator<LlmResponse, void, void> {
    this.asked.push(contents[0]?.parts?.[0]?.text ?? '');
    yield {
      content: { role: 'model', parts: [{ text: `summary ${this.asked.length}` }] },
      usageMetadata: { promptTokenCount: 700, candidatesTokenCount: 7, totalTokenCount: 707 },
    };
  }
}

const llm = new Summaries();
const summarizer = new LlmSummarizer({ llm });
const read = tool({
  name: 'read',
  description: 'Reads a page.',
  parameters: z.object({ page: z.number() }),
  execute: ({ page }) => ({ page, text: `page ${page} `.repeat(40) }),
});
const agentOf = (name: string, config: Partial<LlmAgentConfig>) =>
  new App({
    name,
    rootAgent: new LlmAgent({ name, model: 'gemini-2.5-flash', tools: [read], ...config }),
    plugins: [heard],
  });

class Heard extends BasePlugin {
  readonly lines: string[] = [];
  override async beforeContextCompaction({ trigger }: { trigger: string }) {
    this.lines.push(`before ${trigger}`);
  }
  override async afterContextCompaction({ trigger }: { trigger: string }) {
    this.lines.push(`after ${trigger}`);
  }
}
const heard = new Heard('heard');

let env: TestEnvironment;
beforeAll(async () => {
  const tokens = { tokenThreshold: 1_000, eventRetentionSize: 4, summarizer };
  const eager = { tokenThreshold: 1, eventRetentionSize: 1, summarizer };
  env = await createTestEnvironment({
    apps: [
      agentOf('eager', { contextCompactors: [new TokenBasedContextCompactor(eager)] }),
      agentOf('tokens', { contextCompactors: [new TokenBasedContextCompactor(tokens)] }),
      agentOf('anchored', { contextCompactors: [new AnchoredContextCompactor(tokens)] }),
      agentOf('truncated', {
        contextCompactors: [new TruncatingContextCompactor({ threshold: 5, preserveLeadingEvents: 1 })],
      }),
      agentOf('pruned', {
        contextCompactors: [new TrajectoryThoughtPruningCompactor({ eventRetentionSize: 2 })],
      }),
      agentOf('controlled', {
        contextCompactors: [new AgentControlledContextCompactor({ summarizer })],
        tools: [read, new ConsolidateContextTool()],
      }),
    ],
  });
});
afterAll(() => env.close());
beforeEach(() => {
  llm.asked.length = 0;
  heard.lines.length = 0;
});

/** What each request had, calls and responses as `page`. */
const contentsSent = () => env.gemini.requests.map(({ body }) => (body as { contents: Content[] }).contents);
const bytes = (contents: readonly Content[]) => JSON.stringify(contents).length;
const pages = Array.from({ length: 20 }, (_, page) => call('read', { page }));

/** Each response has its call right before it, and the first content is the user's. */
function assertWhole(contents: readonly Content[]): void {
  expect(contents[0]?.role).toBe('user');
  contents.forEach(({ parts = [] }, index) => {
    const answered = parts.flatMap(({ functionResponse }) => functionResponse?.name ?? []);
    if (answered.length === 0) return;
    const asked = contents[index - 1]?.parts?.flatMap(({ functionCall }) => functionCall?.name ?? []);
    expect(answered).toEqual(asked);
  });
}

describe('a context', () => {
  test.each(inTier(['tokens'], ['tokens', 'anchored']))(
    'is summarised by %s: requests stay small, the transcript whole, and summaries are counted [compaction.tokens] [compaction.whole]',
    async (app) => {
      env.gemini.reset([...pages, text('done'), text('later')]);
      const turn = await env.run({ app, message: 'read all' });
      const sent = contentsSent();
      sent.forEach(assertWhole);
      expect(sent).toHaveLength(21);
      const largest = Math.max(...sent.map(bytes));
      expect(largest).toBeLessThan(12_000);
      expect(bytes(sent.at(-1) ?? [])).toBeLessThan(largest + 1);
      expect(sent.at(-1)?.[0]?.parts?.[0]?.text).toMatch(/^\[Previous Context Summary\]:\nsummary \d+$/);
      const compacted = turn.events.map(({ event }) => event).filter(isCompactedEvent);
      expect(compacted).toHaveLength(llm.asked.length);
      expect(llm.asked.length).toBeGreaterThan(1);
      expect(compacted.map(({ isScratchpad = false }) => isScratchpad)).toEqual(
        compacted.map(() => app === 'anchored'),
      );
      expect(llm.asked[1]).toContain('summary 1');
      expect(turn.calls).toHaveLength(20);
      expect(turn.text).toBe('done');
      expect(turn.usage.modelCalls).toBe(21 + llm.asked.length);
      expect(heard.lines).toEqual(llm.asked.flatMap(() => ['before Auto', 'after Auto']));
      const { userId, sessionId } = turn;
      await env.run({ app, userId, sessionId, message: 'and now?' });
      expect(bytes(contentsSent().at(-1) ?? [])).toBeLessThan(12_000);
    },
  );

  if (isDeep) {
    test('is summarised once for a step whose model fails, and is asked again [compaction.once]', async () => {
      const failing = [...pages.slice(0, 9), error(500), ...pages.slice(9, 12), text('done')];
      env.gemini.reset(failing);
      const turn = await env.run({ app: 'tokens', message: 'read on' });
      const compacted = turn.events.map(({ event }) => event).filter(isCompactedEvent);
      expect(new Set(llm.asked).size).toBe(llm.asked.length);
      expect(compacted).toHaveLength(llm.asked.length);
    });
  }

  test('is paid for where the model then fails for good [compaction.whole]', async () => {
    env.gemini.reset([...pages.slice(0, 5), error(400)]);
    const turn = await env.run({ app: 'eager', message: 'read on' });
    expect(turn.status).toBe('failed');
    const compacted = turn.events.map(({ event }) => event).filter(isCompactedEvent);
    expect(llm.asked.length).toBeGreaterThan(compacted.length);
    expect(turn.usage.modelCalls).toBe(6 + llm.asked.length);
  });

  test('is truncated, without a call apart from its response, and with its first event [compaction.truncate]', async () => {
    env.gemini.reset([...pages.slice(0, 12), text('done')]);
    const turn = await env.run({ app: 'truncated', message: 'read some' });
    const sent = contentsSent();
    sent.forEach(assertWhole);
    expect(sent.at(-1)?.[0]?.parts?.[0]?.text).toBe('read some');
    expect(Math.max(...sent.map(({ length }) => length))).toBeLessThanOrEqual(8);
    expect(turn.calls).toHaveLength(12);
  });

  test('loses the thoughts of older events, and keeps the signatures of calls [compaction.thoughts]', async () => {
    env.gemini.reset([
      [thought('first'), call('read', { page: 1 }, { thoughtSignature: 'c2lnbmVk' })],
      [thought('second'), call('read', { page: 2 }, { thoughtSignature: 'c2lnbmVk' })],
      text('done'),
    ]);
    await env.run({ app: 'pruned', message: 'think' });
    const last = contentsSent().at(-1) ?? [];
    const thoughts = last.flatMap(({ parts = [] }) =>
      parts.filter((part) => part.thought).map((part) => part.text),
    );
    expect(thoughts).toEqual(['second']);
    const signed = last.flatMap(({ parts = [] }) => parts.filter((part) => part.functionCall));
    expect(signed.every(({ thoughtSignature }) => thoughtSignature !== undefined)).toBe(true);
  });

  test('is summarised when the model asks for it [compaction.agent]', async () => {
    env.gemini.reset([
      ...pages.slice(0, 3),
      call('consolidate_context', { detail: 'the pages' }),
      call('read', { page: 9 }),
      text('done'),
    ]);
    const turn = await env.run({ app: 'controlled', message: 'read, and sum up' });
    expect(llm.asked).toHaveLength(1);
    expect(llm.asked[0]).toContain('Focus especially on: the pages');
    const sent = contentsSent();
    sent.forEach(assertWhole);
    const after = sent[4] ?? [];
    expect(
      after.map(({ parts }) => Object.keys(parts?.[0] ?? {}).find((key) => key !== 'thoughtSignature')),
    ).toEqual(['text', 'functionCall', 'functionResponse']);
    expect(after[0]?.parts?.[0]?.text).toBe('[Previous Context Summary]:\nsummary 1');
    expect(heard.lines).toEqual(['before AgentControlled', 'after AgentControlled']);
    expect(turn.events.filter(({ event }) => isCompactedEvent(event))).toHaveLength(1);
  });
});
