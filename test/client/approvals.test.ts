import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  AmbiguousRequest,
  DecisionRefused,
  GatewayClient,
  type HoldfastApi,
  HoldfastClient,
  InvalidTurn,
  RequestNotFound,
  RequestNotPending,
  StoreNeeded,
} from '../../src/client/index.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { SessionNotFound } from '../../src/store/store-errors.ts';
import { call, calls, type GeminiScript, type TestEnvironment, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { checkedFetch, DocumentCheck, fetchDocument } from '../gateway/document-check.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import { inTier } from '../setup/tier.ts';

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
let check: DocumentCheck;

beforeAll(async () => {
  env = await openPlacedEnvironment({
    agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [pay] })],
    script,
  });
  check = new DocumentCheck(await fetchDocument(env.gateway.url));
  gateway = new GatewayClient({ ...env.gateway, fetch: checkedFetch(check) });
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

/** Through the gateway both are asked. */
const CLIENTS: [string, () => HoldfastApi][] = [
  ['HoldfastClient', () => env.client],
  ['GatewayClient', () => gateway],
];

describe.each(CLIENTS.slice(inTier(1, 0)))('requests by %s', (_name, apiOf) => {
  test('a request is listed and shown, approved, and listed no more [approval.list]', async () => {
    const { approvals } = apiOf();
    const { names, requestId, turn, order } = await asking(5);
    const [listed, ...others] = await approvals.list(names);
    expect(others).toEqual([]);
    expect(listed).toMatchObject({
      ...names,
      requestId,
      kind: 'confirmation',
      status: 'pending',
      tool: 'pay',
      agent: 'desk',
      args: { order, amount: 5 },
      callKey: `${turn.invocationId}.1.0`,
      invocationId: turn.invocationId,
      votes: [],
    });
    expect(await approvals.get({ requestId })).toEqual(listed);
    expect(await approvals.get({ ...names, callId: listed?.callId ?? '' })).toEqual(listed);
    expect(await approvals.get({ ...names, callKey: listed?.callKey ?? '' })).toEqual(listed);
    expect(await approvals.get(names)).toEqual(listed);
    expect(paidFor({ order })).toEqual([]);
    const receipt = await approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
    expect(receipt).toMatchObject({ confirmed: true, requestId, status: 'approved' });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(paidFor({ order })).toEqual([5]);
    expect(await approvals.list(names)).toEqual([]);
    expect(await approvals.list({ ...names, status: ['approved', 'rejected'] })).toMatchObject([
      { requestId, status: 'approved' },
    ]);
  });

  test('a rejection is told to the model, with its reason [approval.list]', async () => {
    const { names, requestId, turn, order } = await asking(5);
    const rejection = { ...PATIENT, confirmed: false, reason: 'too old' };
    const receipt = await apiOf().approvals.confirm(names, rejection);
    expect(receipt).toMatchObject({ confirmed: true, requestId, status: 'rejected' });
    const { calls: made } = await env.turnOf(turn);
    expect(made).toMatchObject([{ tool: 'pay', response: { error: 'This tool call is rejected.' } }]);
    expect(JSON.stringify(made[0]?.response)).toContain('too old');
    expect(paidFor({ order })).toEqual([]);
  });

  test('edited arguments run in place of those that were shown [approval.list]', async () => {
    const { requestId, turn, order } = await asking(500);
    const edit = { ...PATIENT, confirmed: true, args: { order, amount: 50 } };
    expect(await apiOf().approvals.confirm({ requestId }, edit)).toMatchObject({ status: 'approved' });
    expect((await env.turnOf(turn)).calls).toMatchObject([{ response: { paid: 50 } }]);
    expect(paidFor({ order })).toEqual([50]);
    expect(await apiOf().approvals.get({ requestId })).toMatchObject({
      args: { order, amount: 500 },
      editedArgs: { order, amount: 50 },
    });
  });

  test('the same answer again is harmless, another one says what became of the request [approval.list]', async () => {
    const { approvals } = apiOf();
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
    const { approvals } = apiOf();
    const { names, requests, turn, order } = await asking(5, 6);
    const ids = requests.map(({ requestId }) => requestId);
    const ambiguous = approvals.confirm(names, { ...PATIENT, confirmed: true });
    await expect(ambiguous).rejects.toThrow(AmbiguousRequest);
    await expect(ambiguous).rejects.toMatchObject({ requestIds: ids });
    await expect(approvals.get(names)).rejects.toThrow(AmbiguousRequest);
    const [first, second] = requests;
    await approvals.confirm({ ...names, callKey: second?.callKey ?? '' }, { ...PATIENT, confirmed: true });
    await approvals.confirm({ ...names, callId: first?.callId ?? '' }, { ...PATIENT, confirmed: false });
    await turn.result();
    expect(paidFor({ order })).toEqual([6]);
  });

  test('what is not there, or another session’s, is not found [approval.list]', async () => {
    const { approvals } = apiOf();
    const { names, requestId, turn } = await asking(5);
    const unknown = { requestId: 'rq-e-nobody.1.0.1' };
    const elsewhere = { ...names, sessionId: 'elsewhere', requestId };
    for (const which of [unknown, elsewhere]) {
      expect(await approvals.get(which)).toBeUndefined();
      const decided = approvals.confirm(which, { confirmed: true });
      await expect(decided).rejects.toThrow(RequestNotFound);
      await expect(decided).rejects.toMatchObject({ code: 'HOLDFAST_REQUEST_NOT_FOUND' });
    }
    await env.reject(turn);
  });

  test('what is malformed is refused by its field, and travels nowhere [approval.list]', async () => {
    const { approvals } = apiOf();
    const { requestId, turn } = await asking(5);
    const refused = async (work: () => Promise<unknown>, problem: RegExp) => {
      await expect(work()).rejects.toThrow(InvalidTurn);
      await expect(work()).rejects.toThrow(problem);
    };
    const confirm = (options: unknown) => () => approvals.confirm({ requestId }, options as never);
    await refused(confirm({}), /approvals.confirm: confirmed: expected true/);
    await refused(confirm({ confirmed: 'yes' }), /confirmed: expected true/);
    await refused(confirm({ confirmed: true, args: [1] }), /args: expected an object/);
    await refused(confirm({ confirmed: false, args: {} }), /args: a rejection changes no arguments/);
    await refused(
      confirm({ confirmed: true, reason: 'x'.repeat(2_001) }),
      /reason: 2001 characters, at most 2000/,
    );
    await refused(confirm({ confirmed: true, payload: 'x'.repeat(40_000) }), /bytes of JSON, at most 32768/);
    await refused(() => approvals.confirm({} as never, { confirmed: true }), /expected a requestId/);
    await refused(
      () => approvals.confirm({ requestId: 'call-1' }, { confirmed: true }),
      /requestId: expected rq-/,
    );
    await refused(() => approvals.provideInput({ requestId }, {} as never), /response: expected JSON/);
    const secret = 'sk-live-secret';
    const raw = approvals.provideCredential({ requestId }, { credentialRef: secret });
    await expect(raw).rejects.toThrow(/credentialRef: expected the credentialRef/);
    await raw.catch((error: Error) => expect(error.message).not.toContain(secret));
    await refused(() => approvals.list({ status: ['open' as never] }), /status\[0\]: expected 'pending'/);
    const attestation = 'x'.repeat(8_193);
    await refused(confirm({ confirmed: true, attestation }), /attestation: 8193 characters, at most 8192/);
    const message = { app: 'test', userId: 'ada', sessionId: 'unsent', message: 'hello', attestation };
    await refused(() => apiOf().sendMessage(message), /attestation: 8193 characters, at most 8192/);
    await refused(() => approvals.list({ limit: 0 }), /limit: expected/);
    await refused(() => approvals.list({ kind: 'vote' as never }), /kind: expected 'confirmation'/);
    expect(await env.reject(turn)).toMatchObject({ status: 'rejected' });
  });

  test('an answer of another kind is refused [approval.list]', async () => {
    const { requestId, turn } = await asking(5);
    const answer = apiOf().approvals.provideInput({ requestId }, { ...PATIENT, response: 'yes' });
    await expect(answer).rejects.toSatisfy(
      (error) => error instanceof DecisionRefused || error instanceof InvalidTurn,
    );
    await env.reject(turn);
  });

  test('a page of requests goes on behind the one before [approval.list]', async () => {
    const { approvals } = apiOf();
    const { names, requests, turn } = await asking(5, 6, 7);
    const first = await approvals.list({ ...names, limit: 2 });
    expect(first.map(({ requestId }) => requestId)).toEqual(
      requests.slice(0, 2).map(({ requestId }) => requestId),
    );
    const { since = 0, requestId = '' } = first.at(-1) ?? {};
    const rest = await approvals.list({ ...names, after: { since, requestId } });
    expect(rest.map((row) => row.requestId)).toEqual([requests[2]?.requestId]);
    expect(await approvals.list({ ...names, kind: 'confirmation' })).toHaveLength(3);
    expect(await approvals.list({ ...names, kind: 'input' })).toEqual([]);
    await env.client.interrupt(names, PATIENT);
    await turn.result();
  });

  test('the audit of a session has its request and answer, and holds, also when it is deleted [approval.audit]', async () => {
    const { approvals, sessions } = apiOf();
    const { names, requestId, turn } = await asking(5);
    const session = (await env.store.sessions.find(names))?.session ?? '';
    await approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
    await turn.result();
    const rows = await approvals.audit(names);
    expect(rows.map(({ n }) => n)).toEqual(rows.map((_row, index) => index + 1));
    expect(JSON.stringify(rows)).toContain(requestId);
    expect(await approvals.verifyAudit(names)).toEqual({ ok: true, rows: rows.length, problems: [] });
    await sessions.delete(names);
    await expect(approvals.audit(names)).rejects.toThrow(SessionNotFound);
    expect(await approvals.verifyAudit({ session })).toMatchObject({ ok: true });
    expect(await approvals.audit({ session })).toHaveLength(rows.length + 1);
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

test('where the turn has ended without an answer, the request says so [approval.list]', async () => {
  const { requestId, names, turn } = await asking(5);
  await env.client.interrupt(names, PATIENT);
  await turn.result();
  const late = env.client.approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
  await expect(late).rejects.toMatchObject({
    name: 'RequestNotPending',
    request: { requestId, status: 'cancelled' },
  });
});

test('a turn that was terminated waits for nobody [approval.list]', async () => {
  const { requestId, turn } = await asking(5);
  await env.temporal.workflow.getHandle(turn.workflowId).terminate('gone');
  const late = env.client.approvals.confirm({ requestId }, { ...PATIENT, confirmed: true });
  await expect(late).rejects.toThrow(RequestNotPending);
  await expect(late).rejects.toThrow(/no turn runs/);
});

test('without a store no request is read or decided [approval.list]', async () => {
  const plain = new HoldfastClient({ temporal: env.temporal });
  const { names, requestId, turn, order } = await asking(5);
  const decision = { confirmed: true };
  for (const asked of [
    plain.approvals.list(),
    plain.approvals.confirm({ requestId }, decision),
    plain.approvals.confirm({ ...names, requestId }, decision),
  ]) {
    await expect(asked).rejects.toThrow(StoreNeeded);
  }
  await env.client.approvals.confirm({ requestId }, { ...PATIENT, confirmed: false });
  await turn.result();
  expect(paidFor({ order })).toEqual([]);
});

test('a request runs out when a test says so [approval.expiry]', async () => {
  const { turn, order, requestId } = await asking(5);
  await env.expire(requestId);
  await turn.result();
  expect(paidFor({ order })).toEqual([]);
  expect(await env.client.approvals.get({ requestId })).toMatchObject({ status: 'expired' });
});

test('what the gateway answered is what its document says [gateway.document]', () => {
  expect(check.unseen('Approvals')).toEqual(['provideInput', 'provideCredential']);
  expect([...check.undocumented]).toEqual([]);
  // Rows of agents below are shown in a tree: called-agents.test.ts.
  expect(check.unanswered('AuditRow')).toEqual(['AuditRow.sessionId']);
});
