import { expect, test } from 'vitest';
import { z } from 'zod';
import { TokenBasedContextCompactor } from '../../src/agents/compaction/context-compactors.ts';
import { LlmSummarizer } from '../../src/agents/compaction/llm-summarizer.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { isCompactedEvent } from '../../src/events/compacted-event.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import type { ModelRequest } from '../../src/models/llm-request.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { createTestEnvironment } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';

const STEPS = 2_000;
const STEPS_OF_TURN = 100;
const WINDOW = 100_000;

/** Calls a tool in each step but the last of a turn, and tells the size of each request. */
class Reader extends BaseLlm {
  readonly tokens: number[] = [];
  readonly times: number[] = [];

  constructor() {
    super({ model: 'reader' });
  }

  override async *generateContentAsync({ contents }: ModelRequest): AsyncGenerator<LlmResponse, void, void> {
    const promptTokenCount = Math.ceil(JSON.stringify(contents).length / 4);
    this.tokens.push(promptTokenCount);
    this.times.push(performance.now());
    const step = this.tokens.length;
    const isLast = step % STEPS_OF_TURN === 0;
    const part = isLast
      ? { text: 'done' }
      : { functionCall: { id: `c${step}`, name: 'read', args: { page: step } } };
    yield {
      content: { role: 'model', parts: [part] },
      usageMetadata: { promptTokenCount, candidatesTokenCount: 10, totalTokenCount: promptTokenCount + 10 },
    };
  }
}

class Summaries extends BaseLlm {
  constructor() {
    super({ model: 'summaries' });
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    yield { content: { role: 'model', parts: [{ text: 'They read pages. '.repeat(100) }] } };
  }
}

test('2,000 steps of one session stay inside of a window of 100,000 tokens, at a flat cost of a step [compaction.flat]', async () => {
  const model = new Reader();
  const clerk = new LlmAgent({
    name: 'clerk',
    model,
    tools: [
      tool({
        name: 'read',
        description: 'Reads a page.',
        parameters: z.object({ page: z.number() }),
        execute: ({ page }) => ({ text: `page ${page} `.repeat(600) }),
      }),
    ],
    contextCompactors: [
      new TokenBasedContextCompactor({
        tokenThreshold: 80_000,
        eventRetentionSize: 10,
        summarizer: new LlmSummarizer({ llm: new Summaries() }),
      }),
    ],
  });
  const env = await createTestEnvironment({ apps: [new App({ name: 'library', rootAgent: clerk })] });
  try {
    let place: { userId?: string; sessionId?: string } = {};
    for (let turn = 0; turn < STEPS / STEPS_OF_TURN; turn += 1) {
      const { userId, sessionId } = await env.run({
        ...place,
        message: `turn ${turn}`,
      });
      place = { userId, sessionId };
    }
    expect(model.tokens).toHaveLength(STEPS);
    expect(Math.max(...model.tokens)).toBeLessThan(WINDOW);
    const { app, userId, sessionId } = { app: 'library', ...place } as Record<
      'app' | 'userId' | 'sessionId',
      string
    >;
    const events = await env.store.sessions.readEvents({ app, userId, sessionId, limit: 10_000 });
    expect(events.filter(({ event }) => isCompactedEvent(event)).length).toBeGreaterThan(20);
    // Nothing is lost: two events of each step but the last of a turn, the messages and the answers.
    expect(events.filter(({ kind }) => kind === 'responses')).toHaveLength(STEPS - STEPS / STEPS_OF_TURN);
    const medianOf = (from: number, to: number) => {
      const each = model.times
        .slice(from, to)
        .map((time, index) => time - (model.times[from + index - 1] ?? time));
      return each.toSorted((a, b) => a - b)[Math.floor(each.length / 2)] ?? 0;
    };
    const [early, late] = [medianOf(200, 600), medianOf(1_600, 2_000)];
    console.log(`a step: ${early.toFixed(1)} ms at 200 to 600, ${late.toFixed(1)} ms at 1,600 to 2,000`);
    expect(late / early).toBeLessThan(1.5);
  } finally {
    await env.close();
  }
}, 900_000);
