import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { Speaking } from '../tree/speaking.ts';
import { OwnWorker, replayed } from './own-worker.ts';

let environment: TurnEnvironment | undefined;
let own: OwnWorker | undefined;
afterEach(async () => {
  await own?.stop();
  await environment?.close();
  own = undefined;
  environment = undefined;
});

async function open(...agents: BaseAgent[]) {
  const opened = await openTurnEnvironment({ agents });
  environment = opened;
  own = new OwnWorker(opened);
  await own.start();
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  return { ...opened, own, names };
}

test('a turn is a child of a workflow of the user’s, whose answer it gets [flow.workflow]', async () => {
  const speaking = new Speaking('root', ['hello']);
  const { own, names, store, temporal } = await open(speaking.agent);
  const handle = await own.begin('asks', { ...names, message: 'hi', content: true });
  const answer = await handle.result();
  expect(answer).toMatchObject({
    status: 'completed',
    text: 'hello',
    content: { role: 'model', parts: [{ text: 'hello' }] },
    usage: { modelCalls: 1 },
  });
  const events = await store.readEvents(names);
  expect(events.map(({ event }) => [event.author, event.invocationId])).toEqual([
    ['user', answer.invocationId],
    ['root', answer.invocationId],
  ]);
  const run = await temporal.workflow.getHandle(`test/ada/${names.sessionId}`).describe();
  expect(run.raw.workflowExecutionInfo?.parentExecution?.workflowId).toBe(handle.workflowId);
  expect(run.searchAttributes.HoldfastSession).toEqual([names.sessionId]);
  await replayed(handle);
});
