import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  AmbiguousRequest,
  GatewayClient,
  RequestNotFound,
  RequestNotPending,
} from '../../src/client/index.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, calls, type GeminiScript, type TestEnvironment, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';

/** For answers that a worker gives: on a slow machine the default of 5 s is none that a test may rest on. */
const PATIENT = { timeout: 120_000 };

/** What `pay` has done, by order. */
const paid = new Map<string, number[]>();

const pay = tool({
  name: 'pay',
  description: 'Pays money back.',
  parameters: z.object({ order: z.string(), amount: z.number() }),
  requireConfirmation: true,
  approval: { allowEdit: true },
  execute: ({ order, amount }) => {
    paid.set(order, [...(paid.get(order) ?? []), amount]);
    return { paid: amount };
  },
});

/** "pay N" calls once, "pay N and M" twice, with the session's id as the order. */
const script: GeminiScript = ({ contents }) => {
  if (contents?.at(-1)?.parts?.some(({ functionResponse }) => functionResponse)) return text('done');
  const said = contents?.at(-1)?.parts?.[0]?.text ?? '';
  const [order = '', ...amounts] = said.split(' ');
  const asked = amounts.map((amount) => ({ name: 'pay', args: { order, amount: Number(amount) } }));
  return asked.length === 1 ? call('pay', asked[0]?.args) : calls(asked);
};

let env: TestEnvironment;
let gateway: GatewayClient;

beforeAll(async () => {
  env = await openPlacedEnvironment({
    agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [pay] })],
    script,
  });
  gateway = new GatewayClient(env.gateway);
});
afterAll(() => env.close());

interface Asked {
  names: SessionNames;
  order: string;
}

/** A turn that waits for the approval of payments. */
async function asking(...amounts: number[]) {
  const order = randomUUID();
  const names: SessionNames = { app: 'test', userId: 'ada', sessionId: order };
  const turn = await env.send({ ...names, message: [order, ...amounts].join(' ') });
  const requests = await env.waiting(turn);
  return { names, order, turn, requests, requestId: requests[0]?.requestId ?? '' };
}

const paidFor = ({ order }: Pick<Asked, 'order'>) => paid.get(order) ?? [];

describe('requests', () => {
  test('the same answer again is harmless, another one says what became of the request [approval.list]', async () => {
    const { approvals } = gateway;
    const { names, requestId, turn, order } = await asking(5);
    await approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
    await turn.result();
    expect(await approvals.confirm({ requestId }, { ...PATIENT, confirmed: true })).toMatchObject({
      confirmed: true,
      requestId,
      status: 'duplicate',
    });
    const opposite = approvals.confirm({ ...names, requestId }, { ...PATIENT, confirmed: false });
    await expect(opposite).rejects.toThrow(RequestNotPending);
    await expect(opposite).rejects.toThrow(/was approved by unverified at \d{4}-/);
    await expect(opposite).rejects.toMatchObject({
      code: 'HOLDFAST_REQUEST_NOT_PENDING',
      request: { requestId, status: 'approved', at: expect.any(Number) },
    });
    expect(paidFor({ order })).toEqual([5]);
  });

  test('of several requests one is named, by its id or its call [approval.list]', async () => {
    const { approvals } = gateway;
    const { names, requests, turn, order } = await asking(5, 6);
    const ids = requests.map(({ requestId }) => requestId);
    const ambiguous = approvals.confirm(names, { ...PATIENT, confirmed: true });
    await expect(ambiguous).rejects.toThrow(AmbiguousRequest);
    await expect(ambiguous).rejects.toMatchObject({ requestIds: ids });
    const [{ requestId = '' } = {}] = requests;
    const elsewhere = { ...names, sessionId: 'elsewhere', requestId };
    expect(await approvals.get(elsewhere)).toBeUndefined();
    await expect(approvals.confirm(elsewhere, { confirmed: true })).rejects.toThrow(RequestNotFound);
    const [first, second] = requests;
    await approvals.confirm({ ...names, callKey: second?.callKey ?? '' }, { ...PATIENT, confirmed: true });
    await approvals.confirm({ ...names, callId: first?.callId ?? '' }, { ...PATIENT, confirmed: false });
    await turn.result();
    expect(paidFor({ order })).toEqual([6]);
  });
});

test('with no worker up a decision is kept, is not confirmed, and counts once [approval.list]', async () => {
  const { requestId, turn, order } = await asking(5);
  await env.stopWorker();
  const kept = await env.client.approvals.confirm({ requestId }, { confirmed: true, timeout: 300 });
  expect(kept).toEqual({ confirmed: false, reason: expect.stringContaining('the task queue holdfast') });
  await env.restartWorker();
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(paidFor({ order })).toEqual([5]);
});

test('a turn that was terminated waits for nobody [approval.list]', async () => {
  const { requestId, turn } = await asking(5);
  await env.temporal.workflow.getHandle(turn.workflowId).terminate('gone');
  const late = env.client.approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
  await expect(late).rejects.toThrow(RequestNotPending);
  await expect(late).rejects.toThrow(/no turn runs/);
});
