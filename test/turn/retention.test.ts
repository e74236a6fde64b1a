import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { retentionId } from '../../src/protocol/retention.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { DELETE_SOON } from '../setup/delete-soon.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool()] });
const names = (app: string, sessionId: string) => ({ app, userId: 'ada', sessionId });

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    serverConfig: DELETE_SOON,
    apps: [
      new App({ name: 'forgets', rootAgent, durable: { retention: 1 } }),
      new App({ name: 'keeps', rootAgent, durable: { retention: '30 days' } }),
    ],
  });
});
afterAll(() => environment.close());

async function runs(app: string, sessionId: string): Promise<number> {
  const query = `WorkflowId = '${app}/ada/${sessionId}'`;
  return (await environment.temporal.workflow.count(query)).count;
}

test('sessions are deleted by their age, with their histories; those whose turns run stay [session.retention]', async () => {
  environment.gemini.reset([text('hi'), text('hi'), call('hold'), text('held')]);
  for (const app of ['forgets', 'keeps']) {
    await (await environment.client.sendMessage({ ...names(app, 's'), message: 'hi' })).result();
    await expect.poll(() => runs(app, 's')).toBe(1);
  }
  const running = await environment.client.sendMessage({ ...names('forgets', 'runs'), message: 'go' });
  await held.begun();
  for (const app of ['forgets', 'keeps']) {
    await environment.temporal.schedule.getHandle(retentionId(app)).trigger();
  }
  const { store } = environment;
  await expect.poll(() => store.sessions.find(names('forgets', 's'))).toBeUndefined();
  await expect.poll(() => runs('forgets', 's')).toBe(0);
  held.release();
  expect(await running.result()).toMatchObject({ status: 'completed', text: 'held' });
  expect(await store.sessions.find(names('keeps', 's'))).toMatchObject({ seq: 2 });
  expect(await runs('keeps', 's')).toBe(1);
});

test('a worker that starts again changes the schedule rather than making another [session.retention]', async () => {
  await environment.restartWorker();
  const { spec } = await environment.temporal.schedule.getHandle(retentionId('keeps')).describe();
  expect(spec.intervals?.map(({ every }) => every)).toEqual([24 * 60 * 60 * 1000]);
});
