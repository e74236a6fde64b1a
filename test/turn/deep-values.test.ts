import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { BaseLlm } from '../../src/models/base-llm.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);

let said: LlmResponse[] = [];
const seen: unknown[] = [];
const ran: unknown[] = [];

class Scripted extends BaseLlm {
  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    seen.push(structuredClone(request.contents));
    yield said.shift() ?? { content: { role: 'model', parts: [{ text: 'done' }] } };
  }
}

const calling = (args: Record<string, unknown>): LlmResponse => ({
  content: { role: 'model', parts: [{ functionCall: { name: 'ship', args } }] },
});

const agent = new LlmAgent({
  name: 'clerk',
  model: new Scripted({ model: 'scripted' }),
  // User code must be able to walk what it is shown.
  afterModelCallback: ({ response }) => void structuredClone(response),
  tools: [
    tool({
      name: 'ship',
      description: 'd',
      parameters: { type: 'object', properties: { to: {} } },
      execute: (args) => {
        ran.push(args);
        return { shipped: true };
      },
    }),
    tool({ name: 'look', description: 'd', execute: () => ({ found: nested(3_000) }) }),
  ],
});

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({ agents: [agent] });
});
beforeEach(() => {
  ran.length = 0;
  seen.length = 0;
});
afterAll(() => environment.close());

describe('values that are nested too deeply', () => {
  test.each([101, 3_000, 100_000])(
    "arguments of %i levels are their call's error, and the model calls again [tool.deep]",
    async (levels) => {
      said = [calling({ to: nested(levels) }), calling({ to: 'Oslo' })];
      const turn = await AskingTurn.start(environment);
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(await turn.responses()).toEqual([
        {
          error:
            "Error in tool 'ship': invalid arguments: objects and lists are nested in more than 100 levels: call it again with flatter ones",
        },
        { shipped: true },
      ]);
      expect(ran).toEqual([{ to: 'Oslo' }]);
      expect(JSON.stringify(seen[1])).toContain('(arguments left out)');
    },
  );

  test('arguments of 99 levels run [tool.deep]', async () => {
    said = [calling({ to: nested(99) })];
    const turn = await AskingTurn.start(environment);
    expect(await turn.responses()).toEqual([{ shipped: true }]);
    expect(ran).toEqual([{ to: nested(99) }]);
  });

  test("a result is its call's error [tool.deep]", async () => {
    said = [{ content: { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] } }];
    const turn = await AskingTurn.start(environment);
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(await turn.responses()).toMatchObject([
      { error: expect.stringContaining('nested in more than 200 levels') },
    ]);
  });

  test("anything else of a response is the model's failure, not the provider's refusal [tool.deep]", async () => {
    const part = { functionResponse: { name: 'x', response: { found: nested(3_000) } } };
    said = [{ content: { role: 'model', parts: [part] } }];
    const turn = await AskingTurn.start(environment);
    expect(await turn.result()).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_MODEL_RESPONSE',
        message: expect.stringContaining('nested in more than 100 levels'),
      },
    });
  });

  test('start arguments of any client are refused by their workflow [tool.deep]', async () => {
    const sessionId = 'deep';
    const start = environment.temporal.workflow.execute('agentTurn', {
      workflowId: `test/ada/${sessionId}`,
      taskQueue: 'holdfast',
      args: [
        {
          ...{ app: 'test', userId: 'ada', sessionId, message: 'hi' },
          ownCall: { tool: 'ship', args: { to: nested(3_000) } },
        },
      ],
    });
    await expect(start).rejects.toMatchObject({
      cause: {
        type: 'InvalidStart',
        message: expect.stringContaining('nested in more than 100 levels'),
      },
    });
  });

  test('nobody but a run that goes on in a new one carries a state along [payload.hostile]', async () => {
    const sessionId = 'carried';
    const start = environment.temporal.workflow.execute('agentTurn', {
      workflowId: `test/ada/${sessionId}`,
      taskQueue: 'holdfast',
      args: [{ app: 'test', userId: 'ada', sessionId, message: 'hi' }, { withdrawn: {} }],
    });
    await expect(start).rejects.toMatchObject({
      cause: { type: 'InvalidStart', message: expect.stringContaining('leave it out') },
    });
  });
});
