import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const held = new HeldTool();
let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool()] })],
    script: ({ contents }) => (contents?.at(-1)?.parts?.[0]?.text === 'hold' ? call('hold') : text('answer')),
  });
});
afterAll(() => environment.close());

test('a message that no worker had seen when its run was terminated is answered, also to a client without a store [message.acknowledged]', async () => {
  const client = new HoldfastClient({ temporal: environment.temporal });
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const { workflowId } = await client.sendMessage({ ...names, message: 'hold', messageId: 'm1' });
  await held.begun();
  await environment.stopWorker();
  const second = await client.sendMessage({ ...names, message: 'two', messageId: 'm2' });
  await environment.temporal.workflow.getHandle(workflowId).terminate();
  await environment.restartWorker();
  expect(await second.result()).toMatchObject({ status: 'completed' });
});
