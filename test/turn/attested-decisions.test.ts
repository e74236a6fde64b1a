import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import { type Issuer, publicHalf } from '../../src/approvals/issuer.ts';
import { signMessage } from '../../src/approvals/message-attestation.ts';
import type { Confirm, DecisionReceipt } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { AS_SHOWN } from '../../src/protocol/gate.ts';
import { sha256Digest } from '../../src/protocol/identity.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import { INTERRUPT, STATUS_QUERY } from '../../src/protocol/names.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { textOf } from '../setup/history-facts.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const SECRET = 'sk-S3CRET-4711';
const credentialKeys = parseCredentialKeys(`k1:${randomBytes(32).toString('base64')}`);

/** With which arguments, or which secret, tools have run. */
let ran: unknown[] = [];
const told: string[] = [];

const parameters = z.object({ amount: z.number().max(1_000) });
const run = (args: Record<string, unknown>) => {
  ran.push(args);
  return { paid: args.amount };
};
const base = { description: 'd', parameters, execute: run, requireConfirmation: true } as const;
const tools = [
  tool({ ...base, name: 'approved', approval: { approvers: ['mira', 'otto'], allowEdit: true } }),
  tool({ ...base, name: 'two', approval: { approvers: ['mira', 'otto', 'zoe'], quorum: 2 } }),
  tool({ ...base, name: 'other_eyes', approval: { notRequester: true } }),
  tool({
    name: 'order',
    description: 'd',
    authConfig: { credentialKey: 'orders', authScheme: { type: 'apiKey', in: 'header', name: 'x-key' } },
    execute: (_args, { authCredential }) => {
      ran.push(authCredential);
      return { ordered: true };
    },
  }),
];

const keys = new Map<string, ApproverKey>();
let environment: TurnEnvironment;
let vault: CredentialVault;

beforeAll(async () => {
  const issuers: Issuer[] = [];
  for (const name of ['mira', 'otto', 'zoe', 'ada', 'eve']) {
    const { key, issuer } = await createApproverKey(name);
    keys.set(name, key);
    issuers.push(issuer);
  }
  const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools });
  const notifier = {
    name: 'test',
    notify: async (requests: readonly { requestId: string }[]) =>
      void told.push(...requests.map(({ requestId }) => requestId)),
  };
  const app = new App({
    name: 'attested',
    rootAgent,
    durable: { approval: { issuers }, notifiers: [notifier] },
  });
  environment = await openTurnEnvironment({ apps: [app], workerOptions: { credentialKeys } });
  vault = new CredentialVault(environment.store.credentials, credentialKeys);
});
afterAll(() => environment.close());
beforeEach(() => {
  ran = [];
});

const asks = async (name: string, more: object = {}): Promise<[AskingTurn, ApprovalRow]> => {
  environment.gemini.reset(stepCalls([[{ name, args: name === 'order' ? {} : { amount: 40 } }]]));
  const turn = await AskingTurn.start(environment, { app: 'attested', ...more });
  const [request] = await turn.pending();
  // Who answers before the workflow knows of it is told only that the answer is kept.
  await expect
    .poll(async () => (await turn.handle.query<TurnStatus>(STATUS_QUERY)).waiting ?? [])
    .toHaveLength(1);
  return [turn, request as ApprovalRow];
};

const statusOf = ({ handle }: AskingTurn) => handle.query<TurnStatus>(STATUS_QUERY);

/** A turn whose workflow is terminated behind what people do, and whose message is then sent again. */
async function terminated(
  name: string,
  people: (asked: [AskingTurn, ApprovalRow]) => Promise<unknown>,
): Promise<AskingTurn> {
  const messageId = randomUUID();
  const [turn, request] = await asks(name, { messageId });
  await people([turn, request]);
  await turn.handle.terminate();
  await turn.send({ messageId });
  return turn;
}

/** A decision that somebody has signed. */
async function by(name: string, request: ApprovalRow, given: Confirm): Promise<Confirm> {
  const { issuer, privateKey } = keys.get(name) as ApproverKey;
  const { session, requestId, argsDigest } = request;
  const edited = given.args === undefined ? {} : { editedArgsDigest: digestOf(given.args) };
  const decided = { session, requestId, argsDigest, decision: decisionOf(given), ...edited };
  const claims = { issuer, approver: name, ...decided };
  return { requestId, ...given, attestation: await signDecision({ ...claims, channel: 'test' }, privateKey) };
}

const reasonsOf = ({ history }: ApprovalRow) =>
  history.map(({ kind, reason }) => [kind, reason].join(' ').trim());

describe('through a real server, a call that waits for approvers', () => {
  test('has the votes of before where its turn is terminated and sent again [approval.quorum] [confirm.answered]', async () => {
    const turn = await terminated('two', async ([voting, request]) => {
      expect(await voting.confirm(await by('mira', request, { confirmed: true }))).toMatchObject({
        status: 'counted',
      });
      expect((await statusOf(voting)).waiting?.[0]?.votes).toEqual({ approvals: 1, quorum: 2 });
    });
    const [request] = (await turn.pending()) as [ApprovalRow];
    expect(request.votes.map((vote) => vote.by.principal)).toEqual(['mira']);
    await expect
      .poll(async () => (await statusOf(turn)).waiting?.[0]?.votes)
      .toEqual({ approvals: 1, quorum: 2 });
    expect(await turn.confirm(await by('mira', request, { confirmed: true }))).toMatchObject({
      status: 'duplicate',
    });
    expect(await turn.confirm(await by('otto', request, { confirmed: true }))).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    expect(ran).toEqual([{ amount: 40 }]);
  });

  test('has votes of before that can be taken back where its turn is terminated and sent again [approval.quorum]', async () => {
    const turn = await terminated('two', async ([voting, request]) => {
      await voting.confirm(await by('mira', request, { confirmed: true }));
    });
    const [request] = (await turn.pending()) as [ApprovalRow];
    await expect.poll(async () => (await statusOf(turn)).waiting ?? []).toHaveLength(1);
    const taken = await by('mira', request, { confirmed: true, withdraw: true });
    expect(await turn.confirm(taken)).toMatchObject({ status: 'withdrawn' });
    for (const [name, status] of [
      ['otto', 'counted'],
      ['zoe', 'approved'],
    ] as const) {
      expect(await turn.confirm(await by(name, request, { confirmed: true }))).toMatchObject({ status });
    }
    await turn.result();
    expect(ran).toEqual([{ amount: 40 }]);
  });

  test('runs by the votes alone where its turn was terminated behind the last one, and is sent again [approval.quorum] [confirm.answered]', async () => {
    const { store } = environment;
    const turn = await terminated('two', async ([_voting, request]) => {
      const { session, requestId } = request;
      // As `holdfast.verifyDecision` records them, just before the workflow would hear of it.
      for (const [index, principal] of ['mira', 'otto'].entries()) {
        const { attestation: jws = '' } = await by(principal, request, { confirmed: true });
        const digest = sha256Digest(jws.slice(0, jws.lastIndexOf('.')));
        const { privateKey } = keys.get(principal) as ApproverKey;
        const at = Date.now();
        await store.approvals.recordSigned({
          session,
          signed: {
            ...{ requestId, digest, principal, jws, says: 'approve', cameAt: at },
            key: publicHalf(privateKey),
          },
          entry: {
            ...{ entryId: `${requestId}/${index + 1}`, requestId, kind: 'voted', at, confirmed: true },
            by: { principal, verified: true, attestation: digest },
            of: AS_SHOWN,
          },
        });
      }
    });
    await turn.result();
    expect(ran).toEqual([{ amount: 40 }]);
    const [row] = await turn.requests();
    expect(row).toMatchObject({ status: 'approved' });
    expect(await store.approvals.verifyAudit(row?.session ?? '')).toMatchObject({ ok: true });
  });

  test('runs when one of them has signed, and by nothing else [approval.approvers]', async () => {
    const [turn, request] = await asks('approved');
    const [other, theirs] = await asks('approved');
    const { requestId } = request;
    const refused: DecisionReceipt[] = [];
    refused.push(await turn.confirm({ requestId, confirmed: true, approver: 'mira' } as Confirm));
    refused.push(await turn.confirm(await by('eve', request, { confirmed: true })));
    refused.push(await turn.confirm({ ...(await by('mira', theirs, { confirmed: true })), requestId }));
    const { attestation } = await by('mira', request, { confirmed: true });
    refused.push(
      await turn.confirm({ requestId, confirmed: true, args: { amount: 4 }, attestation: attestation ?? '' }),
    );
    refused.push(await turn.confirm({ requestId, confirmed: true, attestation: `${attestation}x` }));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 'refused'));
    expect(ran).toEqual([]);
    expect(await turn.confirm(await by('mira', request, { confirmed: true }))).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    expect(ran).toEqual([{ amount: 40 }]);
    const [row] = await turn.requests();
    expect(row).toMatchObject({
      status: 'approved',
      votes: [{ by: { principal: 'mira', channel: 'test' } }],
    });
    expect(reasonsOf(row as ApprovalRow)).toEqual([
      expect.stringMatching(/^refused only decisions with an attestation/),
      'refused this person may not decide the request',
      'refused the attestation is for another request',
      'refused the attestation is for other edited arguments',
      expect.stringMatching(/^refused the attestation/),
      'voted',
      'approved',
    ]);
    expect(told).toEqual(expect.arrayContaining([requestId, theirs.requestId]));
    await other.confirm(await by('otto', theirs, { confirmed: false, reason: 'not today' }));
    await other.result();
    expect(ran).toHaveLength(1);
  });

  test('runs with the arguments that were signed in place of its own, once they are valid [approval.edit]', async () => {
    const [turn, request] = await asks('approved');
    const tooMuch = await by('mira', request, { confirmed: true, args: { amount: 1_001 } });
    expect(await turn.confirm(tooMuch)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('amount'),
    });
    const edited = await by('mira', request, { confirmed: true, args: { amount: 4 } });
    expect(await turn.confirm(edited)).toMatchObject({ status: 'approved' });
    await turn.result();
    expect(ran).toEqual([{ amount: 4 }]);
    expect((await turn.requests())[0]).toMatchObject({ args: { amount: 40 }, editedArgs: { amount: 4 } });
  });

  test('takes two of three, the same person once, and no vote that comes again [approval.quorum]', async () => {
    const [turn, request] = await asks('two');
    const first = await by('mira', request, { confirmed: true });
    expect(await turn.confirm(first)).toMatchObject({ status: 'counted', approvals: 1, quorum: 2 });
    expect(await turn.confirm(await by('mira', request, { confirmed: true }))).toMatchObject({
      status: 'duplicate',
    });
    const opposite = await turn.confirm(await by('mira', request, { confirmed: false }));
    expect(opposite).toMatchObject({ status: 'refused', reason: expect.stringContaining('withdrawn first') });
    const withdrawal = await by('mira', request, { confirmed: true, withdraw: true });
    expect(await turn.confirm(withdrawal)).toMatchObject({ status: 'withdrawn' });
    expect(await turn.confirm(first)).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('taken back'),
    });
    expect(await turn.confirm(await by('otto', request, { confirmed: true }))).toMatchObject({
      status: 'counted',
    });
    expect(ran).toEqual([]);
    expect(await turn.confirm(await by('zoe', request, { confirmed: true }))).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    expect(ran).toEqual([{ amount: 40 }]);
    expect((await environment.client.approvals.verifyAudit(turn.names)).ok).toBe(true);
  });

  test('is not decided by whoever has sent the message, as its attestation proves [approval.approvers]', async () => {
    const names = { app: 'attested', userId: 'ada', sessionId: 'by-ada', messageId: 'm1' };
    const { issuer, privateKey } = keys.get('ada') as ApproverKey;
    const attestation = await signMessage(
      { issuer, principal: 'ada', ...names, messageDigest: messageDigest('pay 40') },
      privateKey,
    );
    const [turn, request] = await asks('other_eyes', { ...names, message: 'pay 40', attestation });
    expect(request.requester).toBe('ada');
    expect(await turn.confirm(await by('ada', request, { confirmed: true }))).toMatchObject({
      status: 'refused',
      reason: 'the requester of the call may not decide',
    });
    expect(await turn.confirm(await by('eve', request, { confirmed: true }))).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    const [unsigned, theirs] = await asks('other_eyes');
    expect(await unsigned.confirm(await by('eve', theirs, { confirmed: true }))).toMatchObject({
      status: 'refused',
    });
    expect(await unsigned.confirm({ confirmed: true })).toMatchObject({ status: 'refused' });
    await unsigned.handle.signal(INTERRUPT, { reason: 'nobody may decide' });
    expect(await unsigned.result()).toMatchObject({ status: 'interrupted' });
    expect(ran).toHaveLength(1);
  });
});

test('a secret reaches the tool, and no history [credential.secret]', async () => {
  const [turn, request] = await asks('order');
  expect(request).toMatchObject({ kind: 'credential', authConfig: { credentialKey: 'orders' } });
  const place = { app: 'attested', userId: turn.names.userId, credentialKey: 'orders' };
  const ofOther = await vault.put({
    ...place,
    userId: 'bob',
    credential: { authType: 'apiKey', apiKey: 'of bob' },
  });
  expect(await turn.credential(ofOther.credentialRef)).toMatchObject({ status: 'refused' });
  const { credentialRef } = await vault.put({ ...place, credential: { authType: 'apiKey', apiKey: SECRET } });
  expect(await turn.credential(credentialRef)).toMatchObject({ status: 'answered' });
  await turn.result();
  expect(ran).toEqual([{ authType: 'apiKey', apiKey: SECRET }]);
  const said = textOf(await turn.handle.fetchHistory());
  expect(said).toContain(credentialRef);
  expect(said).not.toContain(SECRET);
  // It is there for the next call.
  const result = await environment.run({ app: 'attested', message: 'again', userId: turn.names.userId });
  expect(result.result.status).toBe('completed');
  expect(ran).toHaveLength(2);
});
