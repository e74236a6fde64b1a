import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import { GATEWAY_ISSUER, gatewayKey } from '../../src/approvals/gateway-issuer.ts';
import { type Issuer, publicHalf } from '../../src/approvals/issuer.ts';
import { signMessage } from '../../src/approvals/message-attestation.ts';
import { verifyAudits } from '../../src/client/approvals/audit-of-tree.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { type CredentialKeys, credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { AuditEntry, VerifyDecisionInput } from '../../src/protocol/gate.ts';
import { sha256Digest } from '../../src/protocol/identity.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import { VERIFY_DECISION } from '../../src/protocol/names.ts';
import type { PublicJwk } from '../../src/protocol/public-jwk.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { GarbageAnswers } from '../setup/garbage-answers.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Which tools have run, and with what. */
let ran: unknown[] = [];
const parameters = z.object({ amount: z.number() });
const base = {
  description: 'd',
  parameters,
  execute: (args: Record<string, unknown>) => {
    ran.push(args.amount);
    return { paid: args.amount };
  },
} as const;
const gated = { ...base, requireConfirmation: true } as const;
const tools = [
  tool({ ...gated, name: 'pay', approval: { approvers: ['mira', 'otto'], allowEdit: true } }),
  tool({ ...gated, name: 'two', approval: { quorum: 2, notRequester: true } }),
  tool({
    ...gated,
    name: 'late',
    approval: { approvers: ['mira'], escalateTo: ['zoe'], escalateAfter: '2 hours' },
  }),
  tool({ ...gated, name: 'plain' }),
  tool({
    ...base,
    name: 'editable',
    approval: { allowEdit: true },
    requireConfirmation: ({ amount }) =>
      amount > 100 ? { approval: { approvers: ['mira'] } } : { approval: { allowEdit: true } },
  }),
  tool({
    ...base,
    name: 'over_100',
    requireConfirmation: ({ amount }) => amount > 100,
    approval: { approvers: ['mira'] },
  }),
];
const answers = new GarbageAnswers();
const keys = new Map<string, ApproverKey>();
const warnings: string[] = [];
let environment: TurnEnvironment;
let foreigner: ForeignWorker;

beforeAll(async () => {
  const issuers: Issuer[] = [];
  for (const name of ['mira', 'otto', 'zoe', 'ada']) {
    const { key, issuer } = await createApproverKey(name);
    keys.set(name, key);
    issuers.push(issuer);
  }
  const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools });
  const app = new App({ name: 'till', rootAgent, durable: { approval: { issuers } } });
  environment = await openTurnEnvironment({
    apps: [app],
    workerOptions: { interceptors: { activity: [answers.interceptors] } },
    logger: { warn: (message, more) => void warnings.push(`${message} ${JSON.stringify(more)}`) },
  });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});
beforeEach(() => {
  ran = [];
  warnings.length = 0;
});

async function asks(name: string, amount = 41): Promise<[AskingTurn, ApprovalRow]> {
  environment.gemini.reset(stepCalls([[{ name, args: { amount } }]]));
  const names = { app: 'till', userId: 'ada', sessionId: crypto.randomUUID(), messageId: 'm1' };
  const { issuer, privateKey } = keys.get('ada') as ApproverKey;
  const claims = { issuer, principal: 'ada', ...names, messageDigest: messageDigest('pay') };
  const attestation = await signMessage(claims, privateKey);
  const turn = await AskingTurn.start(environment, { ...names, message: 'pay', attestation });
  const [request] = await turn.pending();
  return [turn, request as ApprovalRow];
}

async function by(name: string, request: ApprovalRow, given: Confirm): Promise<Confirm> {
  const { issuer, privateKey } = keys.get(name) as ApproverKey;
  const { session, requestId, argsDigest } = request;
  const edited = given.args === undefined ? {} : { editedArgsDigest: digestOf(given.args) };
  const decided = { session, requestId, argsDigest, decision: decisionOf(given), ...edited };
  const claims = { issuer, approver: name, ...decided, channel: 'test' };
  return { requestId, ...given, attestation: await signDecision(claims, privateKey) };
}

const digestIn = ({ attestation = '' }: Confirm) =>
  sha256Digest(attestation.slice(0, attestation.lastIndexOf('.')));

/** What somebody makes up. */
function approval(request: ApprovalRow, principal: string, more: Partial<AuditEntry> = {}): AuditEntry {
  const { requestId } = request;
  const by = { principal, verified: true, channel: 'cli', attestation: 'forged' };
  return { entryId: `${requestId}/9`, requestId, kind: 'approved', at: Date.now(), by, ...more };
}

/** As the workflow would schedule the tool once people have approved its call. */
function start(
  request: ApprovalRow,
  entries: AuditEntry[],
  more: Partial<ToolCallInput> = {},
): ToolCallInput {
  const { session, runKey, callKey, callId, requestId, args } = request;
  return {
    ...{ v: 1, session, runKey, callKey, callId, agent: 'cashier', prepared: true },
    args: { value: args },
    answered: { requestId, entries },
    ...more,
  };
}

const REFUSED = { refused: 'HOLDFAST_APPROVAL_NOT_PROVEN' };

/** All that could have changed. */
async function stored({ session, requestId, callKey }: ApprovalRow) {
  const { store } = environment;
  return {
    row: await store.approvals.findRequest(session, requestId),
    call: await store.turns.findCall({ session, callKey }),
    audit: await store.sessions.readAudit(session),
  };
}

/** The request still waits for those who may decide it, and they can. */
async function stillWaits(turn: AskingTurn, request: ApprovalRow, voters: string[]): Promise<void> {
  expect(ran).toEqual([]);
  expect(await environment.store.approvals.findRequest(request.session, request.requestId)).toMatchObject({
    status: 'pending',
  });
  for (const voter of voters) await turn.confirm(await by(voter, request, { confirmed: true }));
  await turn.result();
  expect(ran).toEqual([request.args.amount]);
  expect(await environment.client.approvals.verifyAudit(turn.names)).toMatchObject({ ok: true });
}

/** A decision as a store would have it whose rows somebody has written. */
const planted = (request: ApprovalRow, jws: string, digest: string, key: PublicJwk) => ({
  session: request.session,
  signed: {
    ...{ requestId: request.requestId, digest, principal: 'mira', jws, says: 'refused' as const },
    ...{ key, cameAt: Date.now() },
  },
});

describe('the audit names as verified [approval.audit.signed]', () => {
  const problemsOf = async ({ names }: AskingTurn) => {
    const { ok, problems } = await environment.client.approvals.verifyAudit(names);
    expect(ok).toBe(problems.length === 0);
    return problems.map(({ problem }) => problem);
  };

  test('nobody whose signature the store has not, or has of something else', async () => {
    const { store } = environment;
    const [turn, request] = await asks('pay');
    const [, other] = await asks('pay');
    const { privateKey } = keys.get('mira') as ApproverKey;
    const record = (attestation: string, n: number) =>
      store.approvals.recordEntries({
        session: request.session,
        entries: [
          {
            ...approval(request, 'mira', {
              kind: 'voted',
              confirmed: true,
              entryId: `${request.requestId}/${n}`,
            }),
            by: { principal: 'mira', verified: true, attestation },
          },
        ],
      });
    await record('none', 1);
    expect(await problemsOf(turn)).toEqual([
      'it names mira as verified, and the store has no signature that says so',
    ]);
    const theirs = await by('mira', other, { confirmed: true });
    await store.approvals.recordSigned(
      planted(request, theirs.attestation ?? '', digestIn(theirs), publicHalf(privateKey)),
    );
    await record(digestIn(theirs), 2);
    const rejection = await by('mira', request, { confirmed: false });
    await store.approvals.recordSigned(
      planted(request, rejection.attestation ?? '', digestIn(rejection), publicHalf(privateKey)),
    );
    await record(digestIn(rejection), 3);
    const foreign = await by('mira', request, { confirmed: true });
    const { privateKey: zoes } = keys.get('zoe') as ApproverKey;
    const claimed = { ...publicHalf(zoes), kid: privateKey.kid ?? '' };
    await store.approvals.recordSigned(
      planted(request, foreign.attestation ?? '', digestIn(foreign), claimed),
    );
    await record(digestIn(foreign), 4);
    expect((await problemsOf(turn)).slice(1)).toEqual([
      'the signature is forged: it is for another session',
      'the signature is forged: it is for another decision',
      expect.stringMatching(/^the signature is forged: the signature of the attestation does not fit/),
    ]);
    await turn.confirm(await by('otto', request, { confirmed: true }));
    await turn.result();
  });

  test('who has signed, after the session is deleted, and says which gateway key is gone', async () => {
    const old = credentialKeysOf({ k1: randomBytes(32).toString('base64') });
    const [turn, request] = await asks('pay');
    const { session, requestId, argsDigest } = request;
    const key = gatewayKey(old);
    const claims = {
      issuer: GATEWAY_ISSUER,
      approver: 'mira',
      session,
      requestId,
      argsDigest,
      channel: 'http',
    };
    const jws = await signDecision({ ...claims, decision: 'approve' }, key);
    const digest = digestIn({ confirmed: true, attestation: jws });
    const entry = {
      ...approval(request, 'mira', { kind: 'voted', confirmed: true }),
      by: { principal: 'mira', verified: true, attestation: digest },
    };
    await environment.store.approvals.recordSigned({
      ...planted(request, jws, digest, publicHalf(key)),
      entry,
    });
    const audited = (credentialKeys?: CredentialKeys) =>
      verifyAudits(environment.store, [{ id: session }], credentialKeys);
    expect(await audited()).toMatchObject({ ok: true, problems: [] });
    expect(await audited(old)).toMatchObject({ ok: true, problems: [] });
    expect(await audited()).not.toHaveProperty('unchecked');
    const newer = credentialKeysOf({ k2: randomBytes(32).toString('base64') });
    expect(await audited(newer)).toMatchObject({
      ok: true,
      problems: [],
      unchecked: [{ problem: "the signature can't be checked any more: key gateway-k1 is unknown" }],
    });
    const replaced = credentialKeysOf({ k1: randomBytes(32).toString('base64') });
    expect(await audited(replaced)).toMatchObject({
      ok: false,
      problems: [{ problem: expect.stringMatching(/^the signature is forged/) }],
    });
    await turn.confirm(await by('otto', request, { confirmed: true }));
    await turn.result();
    await environment.client.sessions.delete(turn.names);
    expect(await audited(old)).toMatchObject({ ok: true, problems: [] });
  });
});

describe('whoever has Temporal alone [approval.proven]', () => {
  test('runs no call by a made-up approval, and changes nothing', async () => {
    const [turn, request] = await asks('pay');
    const before = await stored(request);
    const unsigned = { principal: 'mira', verified: false };
    for (const input of [
      start(request, [approval(request, 'mira')]),
      start(request, [approval(request, 'mira', { args: { amount: 1_000_000 } })]),
      start(request, [approval(request, 'mira')], { args: { value: { amount: 1_000_000 } } }),
      start(request, [approval(request, 'mira', { by: unsigned })]),
      start(request, [{ ...approval(request, 'mira'), kind: 'voted' }, approval(request, 'mira')]),
    ]) {
      expect(await foreigner.schedule('pay', input)).toMatchObject(REFUSED);
    }
    expect(await stored(request)).toEqual(before);
    expect(warnings.join()).toContain('a call was not begun');
    await stillWaits(turn, request, ['mira']);
  });

  test('runs none whose input says that it was proven', async () => {
    const [, request] = await asks('pay');
    const { session, callKey, requestId, status } = request;
    const { stamp } = await environment.store.approvals.findEvidence(session, callKey);
    // Whoever reads the history can reckon it.
    expect(stamp).toBe(`${requestId}/${status}/0`);
    const entries = [approval(request, 'mira')];
    const answered = { requestId, entries, proven: stamp, closes: true, token: crypto.randomUUID() };
    expect(await foreigner.schedule('pay', start(request, entries, { answered }))).toMatchObject(REFUSED);
    const rejected = [approval(request, 'mira', { kind: 'rejected' })];
    const closing = { ...start(request, rejected), tool: 'pay', why: 'rejected' };
    await foreigner.schedule('holdfast.closeCall', {
      ...closing,
      answered: { ...answered, entries: rejected },
    });
    expect(ran).toEqual([]);
    const { audit } = await stored(request);
    expect(audit.filter(({ facts }) => facts.by === 'mira' || facts.verified === true)).toEqual([]);
  });

  test('runs none that takes two people, nor by one signature of two', async () => {
    const [turn, request] = await asks('two');
    const before = await stored(request);
    const made = ['mira', 'otto'].map((name, n) =>
      approval(request, name, { entryId: `${request.requestId}/${n}` }),
    );
    expect(await foreigner.schedule('two', start(request, made))).toMatchObject(REFUSED);
    expect(await stored(request)).toEqual(before);
    const mira = await by('mira', request, { confirmed: true });
    expect(await turn.confirm(mira)).toMatchObject({ status: 'counted' });
    const voted = await stored(request);
    const real = { principal: 'mira', verified: true, attestation: digestIn(mira) };
    const entries = [approval(request, 'mira', { by: real }), approval(request, 'otto')];
    expect(await foreigner.schedule('two', start(request, entries))).toMatchObject(REFUSED);
    // Who has asked for the call is none of them, whoever schedules the check.
    const { session, callKey, callId, requestId } = request;
    const ada = await by('ada', request, { confirmed: true });
    const check: VerifyDecisionInput = {
      ...{
        v: 1,
        session,
        agent: 'cashier',
        invocationId: request.invocationId,
        callKey,
        callId,
        tool: 'two',
      },
      ...{ requestId, kind: 'confirmation', entryId: `${requestId}/50`, at: Date.now(), escalated: true },
      confirm: ada,
    };
    expect(await foreigner.schedule('holdfast.verifyDecision', check)).toMatchObject({
      result: { counts: false },
    });
    expect(await foreigner.schedule('two', start(request, entries))).toMatchObject(REFUSED);
    expect((await stored(request)).call).toEqual(voted.call);
    await stillWaits(turn, request, ['otto']);
  });

  test('makes nothing approved by recording it, and names nobody', async () => {
    const [turn, request] = await asks('pay');
    const { session, requestId } = request;
    for (const kind of ['approved', 'voted', 'withdrawn', 'refused', 'escalated'] as const) {
      const entries = [approval(request, 'mira', { kind, confirmed: true, entryId: `${requestId}/${kind}` })];
      expect(await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries })).toEqual({});
    }
    const { row, audit } = await stored(request);
    expect(row).toMatchObject({ status: 'pending', votes: [] });
    expect(audit.filter(({ facts }) => facts.by === 'mira' || facts.verified === true)).toEqual([]);
    await stillWaits(turn, request, ['mira']);
  });

  test('closes no call with an approval, and rejects in nobody’s name', async () => {
    const [, request] = await asks('pay');
    const before = await stored(request);
    const close = (entries: AuditEntry[]) =>
      foreigner.schedule('holdfast.closeCall', { ...start(request, entries), tool: 'pay', why: 'rejected' });
    expect(await close([approval(request, 'mira')])).toMatchObject(REFUSED);
    expect(await stored(request)).toEqual(before);
    expect(await close([approval(request, 'mira', { kind: 'rejected' })])).toHaveProperty('result');
    const { row, audit } = await stored(request);
    expect(row).toMatchObject({ status: 'rejected' });
    expect(audit.at(-1)).toMatchObject({ kind: 'rejected', facts: { by: 'unverified', verified: false } });
    expect(ran).toEqual([]);
  });

  test('gains nothing by what genuine approvals have sent, moved to another call or sent again', async () => {
    const [done, approved] = await asks('pay');
    const decision = await by('mira', approved, { confirmed: true });
    await done.confirm(decision);
    await done.result();
    expect(ran).toEqual([41]);
    ran = [];
    const real = { principal: 'mira', verified: true, channel: 'test', attestation: digestIn(decision) };
    const [turn, request] = await asks('pay');
    const { requestId, session } = request;
    const moved = approval(request, 'mira', { by: real });
    const theirs = approval(approved, 'mira', { by: real });
    for (const input of [
      start(request, [moved]),
      start(request, [theirs]),
      start(request, [], { answered: { requestId: approved.requestId, entries: [theirs] } }),
      { ...start(approved, []), callKey: request.callKey },
    ]) {
      expect(await foreigner.schedule('pay', input)).toMatchObject(REFUSED);
    }
    for (const input of [
      start(request, [moved], { session: approved.session }),
      { ...start(approved, [theirs]), session },
    ]) {
      expect(await foreigner.schedule('pay', input)).toHaveProperty('refused');
    }
    // Its own call is settled, and not run again.
    expect(await foreigner.schedule('pay', start(approved, [theirs]))).toHaveProperty('result');
    const check: Partial<VerifyDecisionInput> = {
      ...{ v: 1, session, agent: 'cashier', invocationId: request.invocationId, callKey: request.callKey },
      ...{ callId: request.callId, tool: 'pay', requestId, kind: 'confirmation', at: Date.now() },
      ...{ entryId: `${requestId}/50`, escalated: true, confirm: { ...decision, requestId } },
    };
    expect(await foreigner.schedule('holdfast.verifyDecision', check)).toMatchObject({
      result: { counts: false },
    });
    expect(await foreigner.schedule('pay', start(request, [moved]))).toMatchObject(REFUSED);
    await stillWaits(turn, request, ['otto']);
  });

  if (isDeep) {
    test('gains nothing by a vote that was taken back', async () => {
      const [turn, request] = await asks('two');
      const votes = new Map<string, Confirm>();
      for (const name of ['mira', 'otto']) votes.set(name, await by(name, request, { confirmed: true }));
      const mira = votes.get('mira') as Confirm;
      await turn.confirm(mira);
      await turn.confirm(await by('mira', request, { confirmed: true, withdraw: true }));
      await turn.confirm(votes.get('otto') as Confirm);
      const entries = ['mira', 'otto'].map((principal, n) =>
        approval(request, principal, {
          entryId: `${request.requestId}/${20 + n}`,
          by: { principal, verified: true, attestation: digestIn(votes.get(principal) as Confirm) },
        }),
      );
      expect(await foreigner.schedule('two', start(request, entries))).toMatchObject(REFUSED);
      const { session, requestId } = request;
      await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries });
      expect(await environment.store.approvals.findRequest(session, requestId)).toMatchObject({
        status: 'pending',
      });
      expect(await foreigner.schedule('two', start(request, entries))).toMatchObject(REFUSED);
      await stillWaits(turn, request, ['zoe']);
    });
  }

  test('runs no arguments but those that were signed', async () => {
    const [turn, request] = await asks('pay');
    // The workflow never hears of it: it waits while the vote is in the store.
    const decision = await by('mira', request, { confirmed: true, args: { amount: 4 } });
    const { session, callKey, callId, requestId, invocationId } = request;
    const checked = await foreigner.schedule('holdfast.verifyDecision', {
      ...{ v: 1, session, agent: 'cashier', invocationId, callKey, callId, tool: 'pay', requestId },
      ...{
        kind: 'confirmation',
        entryId: `${requestId}/1`,
        at: Date.now(),
        escalated: false,
        confirm: decision,
      },
    });
    expect(checked).toMatchObject({ result: { counts: true } });
    const real = { principal: 'mira', verified: true, attestation: digestIn(decision) };
    for (const args of [undefined, { amount: 5 }, { amount: 4, more: 1 }]) {
      const entry = approval(request, 'mira', { by: real, ...(args === undefined ? {} : { args }) });
      expect(await foreigner.schedule('pay', start(request, [entry]))).toMatchObject(REFUSED);
    }
    expect(ran).toEqual([]);
    expect(await turn.confirm(await by('otto', request, { confirmed: true }))).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    expect(ran).toEqual([41]);
  });

  test('does not bring forward when others may decide', async () => {
    const [turn, request] = await asks('late');
    const zoe = await by('zoe', request, { confirmed: true });
    const { session, callKey, callId, requestId, invocationId } = request;
    const entries = [approval(request, 'nobody', { kind: 'escalated' })];
    await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries });
    const checked = await foreigner.schedule('holdfast.verifyDecision', {
      ...{ v: 1, session, agent: 'cashier', invocationId, callKey, callId, tool: 'late', requestId },
      ...{ kind: 'confirmation', entryId: `${requestId}/7`, at: Date.now(), escalated: true, confirm: zoe },
    });
    expect(checked).toMatchObject({ result: { counts: false } });
    const real = { principal: 'zoe', verified: true, attestation: digestIn(zoe) };
    const start_ = start(request, [approval(request, 'zoe', { by: real })]);
    expect(await foreigner.schedule('late', start_)).toMatchObject(REFUSED);
    await stillWaits(turn, request, ['mira']);
  });

  test('says of no arguments that nobody had to be asked about them', async () => {
    const [turn, request] = await asks('over_100', 500);
    const { answered: _answered, ...unasked } = start(request, []);
    await foreigner.schedule('over_100', unasked);
    expect(ran).toEqual([]);
    await turn.confirm(await by('mira', request, { confirmed: true }));
    await turn.result();
    expect(ran).toEqual([500]);
    // One that passed, with other arguments, while its turn is under way.
    ran = [];
    environment.gemini.reset(
      stepCalls([
        [
          { name: 'over_100', args: { amount: 7 } },
          { name: 'plain', args: { amount: 1 } },
        ],
      ]),
    );
    const waiting = await AskingTurn.start(environment, { app: 'till' });
    const [other] = (await waiting.pending()) as [ApprovalRow];
    await expect.poll(() => ran).toEqual([7]);
    const callKey = other.callKey.replace(/1$/, '0');
    const fresh = {
      ...start(other, []),
      callKey: callKey.replace(/0$/, '9'),
      args: { value: { amount: 501 } },
    };
    const { answered: _none, ...more } = fresh;
    await foreigner.schedule('over_100', more);
    expect(ran).toEqual([7]);
    await waiting.confirm({ requestId: other.requestId, confirmed: true });
    await waiting.result();
  });

  test('changes no arguments of a plain request but by a vote that was checked', async () => {
    const [turn, request] = await asks('editable');
    const { session, requestId } = request;
    const edited = approval(request, 'mira', { args: { amount: 1_000_000 } });
    for (const args of [{ amount: 1_000_000 }, { amount: 5 }]) {
      const entry = approval(request, 'mira', { args });
      expect(await foreigner.schedule('editable', start(request, [entry]))).toMatchObject(REFUSED);
    }
    await foreigner.schedule('holdfast.recordEntries', { v: 1, session, entries: [edited] });
    expect(await environment.store.approvals.findRequest(session, requestId)).toMatchObject({
      status: 'pending',
    });
    expect(await turn.confirm({ requestId, confirmed: true, args: { amount: 1_000_000 } })).toMatchObject({
      status: 'refused',
    });
    expect(await turn.confirm({ requestId, confirmed: true, args: { amount: 5 } })).toMatchObject({
      status: 'approved',
    });
    await turn.result();
    expect(ran).toEqual([5]);
  });

  test('is believed of plain requests, and in nobody’s name', async () => {
    const [turn, request] = await asks('plain');
    const entry = approval(request, 'mira');
    expect(await foreigner.schedule('plain', start(request, [entry]))).toHaveProperty('result');
    expect(ran).toEqual([41]);
    const { audit } = await stored(request);
    expect(audit.find(({ kind }) => kind === 'approved')?.facts).toMatchObject({
      by: 'unverified',
      verified: false,
    });
    await turn.confirm({ confirmed: true, requestId: request.requestId }).catch(() => undefined);
    await turn.result();
    expect(ran).toEqual([41]);
  });

  test('has the call end with an error where it answers the check itself', async () => {
    const by = { principal: 'mira', verified: true, channel: 'cli', attestation: crypto.randomUUID() };
    answers.plant(VERIFY_DECISION, { v: 1, counts: true, by });
    const [turn, request] = await asks('pay');
    const { requestId } = request;
    await turn.handle.signal('confirm', { requestId, confirmed: true, attestation: crypto.randomUUID() });
    const [response] = await turn.responses();
    expect(answers.given).toBe(1);
    expect(response).toHaveProperty('error');
    expect(ran).toEqual([]);
    const { row, audit } = await stored(request);
    expect(row?.status).not.toBe('approved');
    expect(audit.filter(({ facts }) => facts.verified === true)).toEqual([]);
    expect(await environment.client.approvals.verifyAudit(turn.names)).toMatchObject({ ok: true });
  });
});
