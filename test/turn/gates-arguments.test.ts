import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

let told: string[] = [];
const base = { description: 'd', parameters: z.object({ text: z.string() }) } as const;
const tell = tool({
  ...base,
  name: 'tell',
  requireConfirmation: true,
  approval: { allowEdit: true },
  execute: ({ text }) => {
    told.push(text);
    return { told: true };
  },
});
const asks = tool({
  ...base,
  name: 'asks',
  execute: ({ text }, context) => {
    if (context.toolConfirmation === undefined) return context.requestConfirmation({ hint: 'really?' });
    told.push(text);
    return { told: true };
  },
});

let environment: TurnEnvironment;
beforeAll(async () => {
  const agents = [new LlmAgent({ name: 'crier', model: 'gemini-2.5-flash', tools: [tell, asks] })];
  environment = await openTurnEnvironment({ agents });
});
afterAll(() => environment.close());
beforeEach(() => {
  told = [];
});

async function asked(name: string, text: string): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name, args: { text } }]]));
  return await AskingTurn.start(environment);
}

/** No database keeps them, and so nobody can be shown them. */
const UNKEPT = 'a\0b\ud800c';
const KEPT = 'a\ufffdb\ufffdc';

describe('arguments that no database keeps', () => {
  test.for(['tell', 'asks'])('are shown as they will run: %s [confirm.once]', async (name) => {
    const turn = await asked(name, UNKEPT);
    const [request] = await turn.pending();
    expect(request?.args).toEqual({ text: KEPT });
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([{ told: true }]);
    expect(told).toEqual([KEPT]);
  });

  test('are no edit [approval.edit]', async () => {
    const turn = await asked('tell', 'hello');
    const [request] = await turn.pending();
    const { requestId = '' } = request ?? {};
    await turn.signal({ requestId, confirmed: true, args: { text: UNKEPT } });
    const reasons = async () =>
      (await turn.requests()).flatMap(({ history }) => history.map((one) => one.reason));
    await expect.poll(reasons).toEqual([expect.stringContaining('NUL')]);
    await turn.confirm({ requestId, confirmed: true, args: { text: 'bye' } });
    expect(await turn.responses()).toEqual([{ told: true }]);
    expect(told).toEqual(['bye']);
  });
});
