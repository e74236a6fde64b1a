import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const HOUR = 60 * 60 * 1000;
const names = { app: 'test', userId: 'ada', sessionId: 's' };
const add = tool({ name: 'add', description: 'adds', execute: () => ({ sum: 2 }) });

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [add] })],
  });
});
afterAll(() => environment.close());

test('a session whose last turn is of tomorrow, since the clock was set back, goes on [store.fence]', async () => {
  const { store, gemini } = environment;
  gemini.reset([text('one')]);
  await environment.run({ ...names, message: 'one' });
  await store.db
    .updateTable('holdfast.sessions')
    .set({ fence_started_at: Date.now() + 24 * HOUR })
    .execute();
  for (const message of ['two', 'three']) {
    gemini.reset([call('add'), text(`answer to ${message}`)]);
    const { result } = await environment.run({ ...names, message });
    expect(result).toMatchObject({ status: 'completed', text: `answer to ${message}` });
  }
});

test('a late attempt of a run that Temporal has closed stays out, whatever its clock says [store.fence]', async () => {
  const { store } = environment;
  const opened = store.turns.openStep({
    identity: { ...names, messageId: 'late' },
    invocationId: 'e-late',
    runKey: 'e-late',
    step: 1,
    fence: { startedAt: 1, invocation: 1 },
    seq: 0,
  });
  await expect(opened).rejects.toMatchObject({ code: 'HOLDFAST_FENCED' });
});
