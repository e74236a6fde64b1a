import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import type { MessageReceipt } from '../../src/protocol/message.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const runs = { report: 0, order: 0 };
const report = new LongRunningFunctionTool({
  name: 'report',
  description: 'begins a report',
  execute: () => {
    runs.report += 1;
  },
});
const order = new LongRunningFunctionTool({
  name: 'order',
  description: 'orders',
  execute: () => {
    runs.order += 1;
    return { status: 'pending' };
  },
});
const look = tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) });

const STEPS = ['order', 'report', 'look', 'report', 'look', 'look', 'report'];

/** One step after another; whatever comes behind them is noted. */
const script: GeminiScript = ({ contents = [] }) => {
  const parts = contents.flatMap(({ parts = [] }) => parts);
  const next = STEPS[parts.filter(({ functionCall }) => functionCall !== undefined).length];
  return next === undefined ? text('noted') : call(next);
};

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools: [report, order, look] })],
    script,
    serverConfig: SHORT_RUNS,
  });
});
afterAll(() => environment.close());

test('jobs that are waited for, those that go on, and what was said of them outlive continue-as-new [turn.continueAsNew] [job.detach] [job.message]', async () => {
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  const { workflowId } = await environment.client.sendMessage({ ...names, message: 'go' });
  const handle = environment.temporal.workflow.getHandle(workflowId);
  const { runId: first } = await handle.describe();
  const send = (messageId: string, id: string, said: object) =>
    handle.executeUpdate<MessageReceipt, [object]>('sendMessage', {
      args: [
        {
          messageId,
          message: { parts: [{ functionResponse: { id, name: 'report', response: said } }] },
        },
      ],
    });
  const jobOfStep = async (step: number) => {
    let job: TurnStatus['jobs'][number] | undefined;
    const isThere = async () => {
      job = (await handle.query<TurnStatus>('status')).jobs[0];
      return job?.callKey.endsWith(`.${step}.0`) ?? false;
    };
    await expect.poll(isThere).toBe(true);
    return job as TurnStatus['jobs'][number];
  };
  const answered: string[] = [];
  for (const step of [2, 4, 7]) {
    const job = await jobOfStep(step);
    // The server suggests it by now, and the call waits on.
    for (let n = 0; n < 8; n += 1) {
      const progress = { value: n / 10, at: n };
      await handle.signal('holdfast.progress', { v: 1, jobId: job.jobId, progress });
    }
    for (const earlier of answered) {
      const again = await send(`again-${earlier}-${step}`, earlier, { ok: true });
      expect(again.jobs).toMatchObject([{ status: 'duplicate', job: 'completed' }]);
    }
    expect((await jobOfStep(step)).jobId).toBe(job.jobId);
    const receipt = await send(`outcome-${step}`, job.callId, { ok: true });
    expect(receipt.jobs).toMatchObject([{ status: 'ended', job: 'completed' }]);
    answered.push(job.callId);
  }
  const [ordered] = await environment.store.jobs.list(names);
  expect((await handle.result()).status).toBe('completed');
  expect((await handle.describe()).runId).not.toBe(first);
  expect(ordered).toMatchObject({ tool: 'order', status: 'running', mode: 'detached' });

  await environment.client.jobs.complete(ordered?.jobId ?? '', { result: { shipped: true } });
  await expect
    .poll(async () => {
      const events = await environment.store.sessions.readEvents(names);
      return events.flatMap(({ event }) => getFunctionResponses(event)).at(-1)?.response;
    })
    .toEqual({ shipped: true });
  expect(runs).toEqual({ report: 3, order: 1 });
});
