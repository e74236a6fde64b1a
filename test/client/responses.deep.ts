import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Content, LlmAgent, LongRunningFunctionTool } from '../../src/index.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { calls, type TestEnvironment, text } from '../../src/testing/index.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';

let env: TestEnvironment;
beforeAll(async () => {
  const order = new LongRunningFunctionTool({
    name: 'order',
    description: 'Orders a thing.',
    execute: () => undefined,
  });
  env = await openPlacedEnvironment({
    agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [order] })],
    script: ({ contents = [] }) => {
      const parts = contents.at(-1)?.parts ?? [];
      const told = parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []);
      if (told.length > 0)
        return text(`told of ${told.map((response) => Object.keys(response as object)).join()}`);
      return calls((parts.at(-1)?.text ?? '').split(' ').map((id) => ({ id, name: 'order', args: {} })));
    },
  });
});
afterAll(() => env.close());

const LARGE = 'x'.repeat(100_000);

async function begin(ids: string) {
  const names: SessionNames = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const turn = await env.send({ ...names, message: ids });
  const count = ids.split(' ').length;
  await expect
    .poll(async () => (await env.client.status(names).catch(() => undefined))?.jobs?.length)
    .toBe(count);
  const jobs = await env.client.jobs.list(names);
  return { names, turn, jobs };
}

const responseOf = (id: string, response: Record<string, unknown>): Content => ({
  role: 'user',
  parts: [{ functionResponse: { id, name: 'order', response } }],
});

describe.each([
  ['one that travels', 'x'],
  ['one that is too large to travel', LARGE],
])('a response to a call: %s', (_size, filling) => {
  test('begins a turn where the one that waited was terminated [job.message]', async () => {
    const { names, turn } = await begin('c1');
    await env.temporal.workflow.getHandle(turn.workflowId).terminate('by a test');
    const late = await env.client.sendMessage({ ...names, message: responseOf('c1', { late: filling }) });
    expect(late.invocationId).not.toBe(turn.invocationId);
    expect(await late.result()).toMatchObject({ status: 'completed', text: 'told of late' });
  });

  test('that waits carries no state, which nobody would keep [job.message]', async () => {
    const { names, turn, jobs } = await begin('c1');
    const message = { ...names, message: responseOf('c1', { filling }) };
    await expect(env.client.sendMessage({ ...message, stateDelta: { plan: 'gold' } })).rejects.toThrow(
      /sendMessage: stateDelta: .*message of its own/,
    );
    expect(await env.client.jobs.get(jobs[0]?.jobId ?? '')).toMatchObject({ status: 'running' });
    expect(await env.store.messages.readInbox(names)).toEqual([]);
    await env.client.sendMessage(message);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'told of filling' });
  });
});
