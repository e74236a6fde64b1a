import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { decisionOf, signDecision } from '../../src/approvals/decision-attestation.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { OwnModel } from '../setup/own-model.ts';
import { until } from '../setup/until.ts';
import { ActivityScene, type AskedCall } from './activity-scene.ts';

let store: OpenedStore;
let scene: ActivityScene;
const keys = new Map<string, ApproverKey>();

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ to: z.string(), amount: z.number().max(1_000) }),
  requireConfirmation: true,
  execute: () => ({ paid: true }),
});

/** Answers calls of 13, and halves those of 500. */
class Meddling extends BasePlugin {
  override async beforeToolCallback({ toolArgs }: { toolArgs: Record<string, unknown> }) {
    if (toolArgs.amount === 13) return { result: 'no' };
    if (toolArgs.amount === 14) throw new Error('S3CRET of the callback');
    if (toolArgs.amount === 500) toolArgs.amount = 250;
    return undefined;
  }
}

function appWith(issuers: Issuer[], trustTemporal = false): App {
  return new App({
    name: 'shop',
    rootAgent: new LlmAgent({ name: 'clerk', model: new OwnModel(), tools: [pay] }),
    plugins: [new Meddling('meddling')],
    durable: { approval: { issuers, trustTemporal } },
  });
}

const issuers: Issuer[] = [];

beforeAll(async () => {
  store = await openStore(await databaseWithStore());
  for (const name of ['mira', 'otto', 'ada', 'zoe']) {
    const { key, issuer } = await createApproverKey(name);
    keys.set(name, key);
    issuers.push(issuer);
  }
  scene = new ActivityScene(store, appWith(issuers));
});
afterAll(() => store.close());

/** A decision with an attestation of whoever says so. */
async function signed(who: string, call: AskedCall, given: Confirm): Promise<Confirm> {
  const key = keys.get(who) as ApproverKey;
  const { requestId, argsDigest } = call.request;
  const decision = decisionOf(given);
  const attestation = await signDecision(
    {
      issuer: key.issuer,
      approver: who,
      session: call.turn.session,
      requestId,
      argsDigest,
      decision,
      channel: 'cli',
      ...(given.args === undefined ? {} : { editedArgsDigest: digestOf(given.args) }),
      ...(given.payload === undefined ? {} : { payloadDigest: digestOf(given.payload) }),
    },
    key.privateKey,
  );
  return { ...given, attestation };
}

const APPROVE: Confirm = { confirmed: true };
const REJECT: Confirm = { confirmed: false };

describe('who may decide [approval.approvers]', () => {
  test('an approver who has signed, and nobody by claiming to be one', async () => {
    const call = await scene.asked({ terms: { approvers: ['mira'] } });
    const plain = {
      ...APPROVE,
      approver: 'mira',
      principal: 'mira',
      by: { principal: 'mira', verified: true },
    };
    expect(await call.confirm(plain as Confirm)).toMatchObject({
      counts: false,
      reason: 'only decisions with an attestation count for this request, and this one has none',
      by: { principal: 'unverified', verified: false },
    });
    expect(await call.confirm(await signed('otto', call, APPROVE))).toMatchObject({
      counts: false,
      reason: 'this person may not decide the request',
      by: { principal: 'otto', verified: true },
    });
    expect(await call.confirm(await signed('mira', call, APPROVE))).toMatchObject({
      counts: true,
      by: { principal: 'mira', verified: true, channel: 'cli' },
    });
    expect(await call.history()).toEqual([
      'refused unverified true only decisions with an attestation count for this request, and this one has none',
      'refused otto true this person may not decide the request',
      'voted mira true',
    ]);
    expect((await call.row()).votes).toMatchObject([{ by: { principal: 'mira' }, confirmed: true }]);
  });

  test('not by the attestation of another request, decision or other arguments', async () => {
    const call = await scene.asked({ terms: { approvers: ['mira'] } });
    const other = await scene.asked({ terms: { approvers: ['mira'] } });
    const ofOther = await signed('mira', other, APPROVE);
    expect(await call.confirm(ofOther)).toMatchObject({ counts: false, reason: /for another request/ });
    const { attestation } = await signed('mira', call, APPROVE);
    expect(await call.confirm({ ...REJECT, attestation: attestation ?? '' })).toMatchObject({
      counts: false,
      reason: expect.stringContaining('for another decision'),
    });
    expect(
      await call.confirm({ ...APPROVE, attestation: attestation ?? '', payload: { urgent: true } }),
    ).toMatchObject({
      counts: false,
      reason: expect.stringContaining('for another payload'),
    });
    const kinds = (await call.row()).history.map(({ kind, by }) => `${kind} ${by?.principal}`);
    expect(kinds).toEqual(['refused mira', 'refused mira', 'refused mira']);
  });

  test('not by the attestation of a session that was deleted and made again: its requests have the same ids', async () => {
    const terms = { approvers: ['mira'] };
    const first = await scene.asked({ terms });
    const decision = await signed('mira', first, APPROVE);
    expect(await first.confirm(decision)).toMatchObject({ counts: true });
    const { names, messageId } = first.turn;
    await store.sessions.delete(names);
    const again = await scene.asked({ terms }, {}, { names, messageId });
    expect(again.request.requestId).toBe(first.request.requestId);
    expect(again.request.argsDigest).toBe(first.request.argsDigest);
    expect(await again.confirm(decision)).toMatchObject({
      counts: false,
      reason: 'the attestation is for a request of another session',
    });
    expect(await again.confirm(await signed('mira', again, APPROVE))).toMatchObject({ counts: true });
  });

  test('nobody by a signature that fails, also where a plain decision would do', async () => {
    const call = await scene.asked();
    expect(await call.confirm({ ...APPROVE, attestation: 'a.b.c' })).toMatchObject({
      counts: false,
      reason: 'the attestation is no compact JWS',
    });
    expect(await call.confirm({ ...APPROVE, withdraw: true })).toMatchObject({ counts: false });
  });

  test('by a key that was good when the decision came, however long nobody was there to look', async () => {
    const call = await scene.asked({ terms: { approvers: ['mira'] } });
    const decision = await signed('mira', call, APPROVE);
    const day = 86_400_000;
    expect(await call.confirm(decision, { at: Date.now() + day + 120_000 })).toMatchObject({
      counts: false,
      reason: 'the attestation has expired',
    });
    expect(await call.confirm(decision, { at: Date.now() + day - 120_000 })).toMatchObject({ counts: true });
  });

  test('those who are asked next from then on', async () => {
    const terms = { approvers: ['mira'], escalateTo: ['zoe'] };
    const later = await scene.asked({ terms: { ...terms, escalateAfter: 600_000 } });
    // Whatever the workflow says: the store knows since when the request waits.
    expect(await later.confirm(await signed('zoe', later, APPROVE), { escalated: true })).toMatchObject({
      counts: false,
    });
    for (const ends of [{ escalateAfter: 1 }, { expiresIn: 1, onExpiry: 'escalate' as const }]) {
      const call = await scene.asked({ terms: { ...terms, ...ends } });
      await until(async () => {
        const { now, requests } = await store.approvals.findEvidence(call.turn.session, call.request.callKey);
        if (now < (requests[0]?.since ?? 0) + 1) throw new Error('it has not escalated yet');
      });
      expect(await call.confirm(await signed('zoe', call, APPROVE))).toMatchObject({
        counts: true,
        by: { principal: 'zoe' },
      });
    }
  });

  test('not whoever has asked for the call, and nobody where that is unknown', async () => {
    const terms = { notRequester: true };
    const call = await scene.asked({ terms }, { requester: 'ada' });
    expect(await call.confirm(await signed('ada', call, APPROVE))).toMatchObject({
      counts: false,
      reason: 'the requester of the call may not decide',
    });
    expect(await call.confirm(APPROVE)).toMatchObject({ counts: false });
    expect(await call.confirm(await signed('mira', call, APPROVE))).toMatchObject({ counts: true });
    const unknown = await scene.asked({ terms });
    expect(await unknown.confirm(await signed('mira', unknown, APPROVE))).toMatchObject({
      counts: false,
      reason: expect.stringContaining('no attestation says who that was'),
    });
  });

  test('whoever can send signals, as one person, where the app trusts them', async () => {
    const trusting = new ActivityScene(store, appWith(issuers, true));
    const terms = { approvers: ['mira', 'otto'], quorum: 2, notRequester: true };
    const call = await trusting.asked({ terms });
    expect(await call.confirm(APPROVE)).toMatchObject({
      counts: true,
      by: { principal: 'unverified', verified: false },
    });
    expect(await call.confirm(APPROVE)).toMatchObject({ counts: false, duplicate: true });
    expect(await call.confirm(await signed('zoe', call, APPROVE))).toMatchObject({ counts: false });
    expect(await call.confirm(await signed('otto', call, APPROVE))).toMatchObject({ counts: true });
    expect((await call.row()).votes).toHaveLength(2);
  });
});

describe('votes [approval.quorum]', () => {
  const terms = { approvers: ['mira', 'otto', 'zoe'], quorum: 2 };

  test('are of different people: one who votes twice has one', async () => {
    const call = await scene.asked({ terms });
    expect(await call.confirm(await signed('mira', call, APPROVE))).toMatchObject({ counts: true });
    const again = await signed('mira', call, APPROVE);
    expect(await call.confirm(again)).toMatchObject({ counts: false, duplicate: true });
    expect(await call.confirm(await signed('otto', call, APPROVE))).toMatchObject({ counts: true });
    expect((await call.row()).votes.map(({ by }) => by.principal)).toEqual(['mira', 'otto']);
  });

  test('are taken back before they are changed', async () => {
    const call = await scene.asked({ terms });
    await call.confirm(await signed('mira', call, APPROVE));
    expect(await call.confirm(await signed('mira', call, REJECT))).toMatchObject({
      counts: false,
      reason: 'this person has decided otherwise: that vote is to be withdrawn first',
    });
    const withdrawal = await signed('mira', call, { confirmed: true, withdraw: true });
    expect(await call.confirm(withdrawal)).toMatchObject({ counts: true });
    expect((await call.row()).votes).toEqual([]);
    expect(await call.confirm(await signed('mira', call, REJECT))).toMatchObject({ counts: true });
    expect(await call.history()).toEqual([
      'voted mira true',
      'refused mira false this person has decided otherwise: that vote is to be withdrawn first',
      'withdrawn mira true',
      'voted mira false',
    ]);
  });

  test('that were taken back do not come again by their attestation, nor does its withdrawal', async () => {
    const call = await scene.asked({ terms });
    const vote = await signed('mira', call, APPROVE);
    const withdrawal = await signed('mira', call, { confirmed: true, withdraw: true });
    await call.confirm(vote);
    await call.confirm(withdrawal);
    expect(await call.confirm(vote)).toMatchObject({
      counts: false,
      reason: 'the attestation has been used before, for a vote that was taken back',
    });
    expect((await call.row()).votes).toEqual([]);
    await call.confirm(await signed('mira', call, APPROVE));
    expect(await call.confirm(withdrawal)).toMatchObject({
      counts: false,
      reason: 'the attestation has been used before',
    });
    expect((await call.row()).votes).toHaveLength(1);
  });

  test('of others are not taken back, nor those that nobody gave', async () => {
    const call = await scene.asked({ terms });
    await call.confirm(await signed('mira', call, APPROVE));
    const ofOtto = await signed('otto', call, { confirmed: true, withdraw: true });
    expect(await call.confirm(ofOtto)).toMatchObject({ counts: false, reason: /no vote of this person/ });
    const asRejection = await signed('mira', call, { confirmed: false, withdraw: true });
    expect(await call.confirm(asRejection)).toMatchObject({ counts: false, reason: /is an approval/ });
    expect((await call.row()).votes).toHaveLength(1);
  });

  test('an attempt that recorded and died is answered the same', async () => {
    const call = await scene.asked({ terms });
    const vote = call.input({ confirm: await signed('mira', call, APPROVE) });
    const first = await call.verify(vote);
    expect(await call.verify(vote)).toEqual(first);
    const taken = call.input({ confirm: await signed('mira', call, { confirmed: true, withdraw: true }) });
    const withdrawn = await call.verify(taken);
    expect(await call.verify(taken)).toEqual(withdrawn);
    const late = call.input({ confirm: await signed('otto', call, { confirmed: true, withdraw: true }) });
    expect(await call.verify(late)).toEqual(await call.verify(late));
    expect(await call.history()).toHaveLength(3);
    // Of the first vote, which was withdrawn since, a lost attempt's word is too late.
    expect(await call.verify(vote)).toMatchObject({ counts: false });
  });

  test('count as a model of them does, in any order, with every decision tried twice', async () => {
    const people = ['mira', 'otto', 'zoe', 'ada'];
    const action = fc.record({
      who: fc.constantFrom(...people),
      what: fc.constantFrom<Confirm>(
        APPROVE,
        REJECT,
        { confirmed: true, withdraw: true },
        { confirmed: false, withdraw: true },
      ),
      replay: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 8 }), async (actions) => {
        const call = await scene.asked({ terms });
        const votes = new Map<string, boolean>();
        const used = new Map<string, Confirm>();
        for (const { who, what, replay } of actions) {
          const key = `${who} ${JSON.stringify(what)}`;
          const old = replay ? used.get(key) : undefined;
          const confirm = old ?? (await signed(who, call, what));
          const input = call.input({ confirm });
          const verdict = await call.verify(input);
          expect(await call.verify(input)).toEqual(verdict);
          const may = who !== 'ada' && old === undefined;
          const expected = what.withdraw ? votes.get(who) === what.confirmed : !votes.has(who);
          expect([key, verdict.counts]).toEqual([key, may && expected]);
          if (!verdict.counts) continue;
          used.set(key, confirm);
          if (what.withdraw) votes.delete(who);
          else votes.set(who, what.confirmed);
        }
        const recorded = (await call.row()).votes.map(({ by, confirmed }) => [by.principal, confirmed]);
        expect(new Map(recorded as [string, boolean][])).toEqual(votes);
      }),
      { numRuns: 25 },
    );
  });
});

describe('edited arguments [approval.edit]', () => {
  const terms = { allowEdit: true };
  const edited = (args: unknown): Confirm => ({ confirmed: true, args: args as Record<string, unknown> });

  test('are checked by the tool, given on as they are, and recorded', async () => {
    const call = await scene.asked({ terms });
    expect(await call.confirm(edited({ to: 'ada', amount: 4 }))).toMatchObject({
      counts: true,
      args: { value: { to: 'ada', amount: 4 } },
    });
    expect((await call.row()).history).toMatchObject([{ kind: 'voted', confirmed: true }]);
  });

  test.each<[string, unknown, string]>([
    ['of another kind', { to: 'ada', amount: '4' }, 'args: .*amount'],
    ['out of range', { to: 'ada', amount: 1_001 }, 'args: .*amount'],
    ['left out', { to: 'ada' }, 'args: [^]*amount'],
    ['as a list', [], 'args: expected an object'],
    [
      'that a callback answers',
      { to: 'ada', amount: 13 },
      'args: a before-tool callback answers such a call itself',
    ],
    [
      'that a callback rewrites',
      { to: 'ada', amount: 500 },
      'args: a before-tool callback would change them',
    ],
    ['that a callback fails on', { to: 'ada', amount: 14 }, 'args: they could not be checked'],
    ['too large to travel', { to: 'a'.repeat(40_000), amount: 4 }, 'args: \\d+ bytes of JSON'],
  ])('%s are refused, and change nothing', async (_what, args, problem) => {
    const call = await scene.asked({ terms });
    const verdict = await call.confirm(edited(args));
    expect(verdict).toMatchObject({ counts: false, reason: expect.stringMatching(problem) });
    expect(JSON.stringify(verdict)).not.toContain('S3CRET');
    expect((await call.row()).votes).toEqual([]);
    expect(await call.history()).toHaveLength(1);
  });

  test('are refused where the request takes none, and without a signature over them', async () => {
    const fixed = await scene.asked();
    expect(await fixed.confirm(edited({ to: 'ada', amount: 4 }))).toMatchObject({
      counts: false,
      reason: 'args: this request does not let arguments be changed',
    });
    const call = await scene.asked({ terms: { ...terms, approvers: ['mira'] } });
    const { attestation } = await signed('mira', call, APPROVE);
    const args = { to: 'ada', amount: 4 };
    expect(await call.confirm({ ...APPROVE, args, attestation: attestation ?? '' })).toMatchObject({
      counts: false,
      reason: 'the attestation is for other edited arguments',
    });
    expect(await call.confirm(await signed('mira', call, edited(args)))).toMatchObject({ counts: true });
  });

  test('of a sensitive tool are refused without a word of them', async () => {
    const secretive = tool({ ...SECRETIVE });
    const app = new App({
      name: 'shop',
      rootAgent: new LlmAgent({ name: 'clerk', model: new OwnModel(), tools: [secretive] }),
    });
    const call = await new ActivityScene(store, app).asked({ terms });
    expect(await call.confirm(edited({ pin: '4711' }))).toMatchObject({
      counts: false,
      reason: 'args: the tool refuses them',
    });
  });
});

const SECRETIVE = {
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({
    pin: z.string().refine(() => false, { error: ({ input }) => `not ${String(input)}` }),
  }),
  requireConfirmation: true,
  sensitive: ['pin'],
  execute: () => ({ paid: true }),
};

describe('input that is given [input.request]', () => {
  const responseSchema = {
    type: 'object',
    properties: { size: { type: 'string', enum: ['S', 'L'] }, count: { type: 'integer' } },
    required: ['size'],
    additionalProperties: false,
  };
  const answer = async (schema: unknown, response: unknown, isText = false) => {
    const call = await scene.asked({
      kind: 'input',
      ...(schema === undefined ? {} : { responseSchema: schema }),
    });
    const verdict = await call.verify(
      call.input({ input: { response }, ...(isText ? { isText: true } : {}) }),
    );
    return { verdict, history: await call.history() };
  };

  test('counts where the schema takes it, and is recorded by the call that then runs', async () => {
    const { verdict, history } = await answer(responseSchema, { size: 'L' });
    expect(verdict).toMatchObject({ counts: true, by: { principal: 'unverified', verified: false } });
    expect(history).toEqual([]);
    expect((await answer(undefined, null)).verdict).toMatchObject({ counts: true });
  });

  test.each([
    [{ size: 'XL' }, 'response: size: expected one of "S", "L"'],
    [{}, 'response: size: required'],
    [{ size: 'L', count: 1.5 }, 'response: count: expected integer, got number'],
    ['L', 'response: expected object, got string'],
    [undefined, 'response: required'],
    [{ size: 'L'.repeat(70_000) }, 'bytes of JSON'],
  ])('is refused with the place that is wrong: %#', async (response, problem) => {
    const { verdict, history } = await answer(responseSchema, response);
    expect(verdict).toMatchObject({ counts: false, reason: expect.stringContaining(problem) });
    expect(history).toHaveLength(1);
  });

  test('as text stands for its JSON, unless text is what was asked for', async () => {
    expect((await answer(responseSchema, '{"size":"L"}', true)).verdict).toMatchObject({
      response: { size: 'L' },
    });
    expect((await answer(responseSchema, '{"size":"L"}')).verdict).toMatchObject({ counts: false });
    expect((await answer({ type: 'string' }, '42', true)).verdict).not.toHaveProperty('response');
    expect((await answer({ type: 'integer' }, '42', true)).verdict).toMatchObject({ response: 42 });
    expect((await answer(undefined, '42', true)).verdict).toMatchObject({ response: 42 });
    expect((await answer(undefined, 'forty-two', true)).verdict).toMatchObject({ counts: true });
    expect((await answer({ type: 'integer' }, 'forty-two', true)).verdict).toMatchObject({ counts: false });
  });

  test('is a choice of what was offered [input.choice]', async () => {
    const choice = { type: 'string', enum: ['keep', 'refund'] };
    expect((await answer(choice, 'refund')).verdict).toMatchObject({ counts: true });
    for (const wrapped of [{ choice: 'refund' }, { result: 'refund' }]) {
      expect((await answer(choice, wrapped)).verdict).toMatchObject({ counts: true, response: 'refund' });
    }
    for (const odd of [
      { choice: 'burn' },
      { pick: 'refund' },
      { choice: 'refund', result: 'refund' },
      ['refund'],
    ]) {
      expect((await answer(choice, odd)).verdict).toMatchObject({ counts: false });
    }
    const ofObject = { type: 'object', properties: { choice: { type: 'string' } }, required: ['choice'] };
    expect((await answer(ofObject, { choice: 'refund' })).verdict).not.toHaveProperty('response');
    expect((await answer(undefined, { choice: 'refund' })).verdict).not.toHaveProperty('response');
    expect((await answer(choice, 'burn')).verdict).toMatchObject({
      counts: false,
      reason: 'response: expected one of "keep", "refund"',
    });
  });

  test('does not answer a request for something else', async () => {
    const call = await scene.asked();
    expect(await call.verify(call.input({ input: { response: 'yes' } }))).toMatchObject({
      counts: false,
      reason: 'the request is for a confirmation',
    });
  });
});

describe('a credential that is given [credential.request]', () => {
  const authConfig = { authScheme: { type: 'apiKey' }, credentialKey: 'orders' };
  const put = (more: Partial<Parameters<ActivityScene['vault']['put']>[0]> = {}) =>
    scene.vault.put({
      ...{ app: 'shop', userId: 'ada', credentialKey: 'orders' },
      credential: { authType: 'apiKey', apiKey: 'S3CRET' },
      ...more,
    });
  const give = async (credentialRef: string, by = scene) => {
    const call = await by.asked({ kind: 'credential', authConfig });
    return await call.verify(call.input({ credential: { credentialRef } }));
  };

  test('counts where it is one of this user, and the one that was asked for', async () => {
    const { credentialRef } = await put();
    expect(await give(credentialRef)).toMatchObject({ counts: true });
  });

  test('is refused where it is another one, and nothing of it is said', async () => {
    const ofBob = await put({ userId: 'bob' });
    const other = await put({ credentialKey: 'payments' });
    expect(await give(ofBob.credentialRef)).toMatchObject({ counts: false, reason: /no such credential/ });
    expect(await give('cr-none')).toMatchObject({ counts: false, reason: /no such credential/ });
    expect(await give(other.credentialRef)).toMatchObject({ counts: false, reason: /another credentialKey/ });
    const { credentialRef } = await put();
    const keyless = await give(credentialRef, new ActivityScene(store, appWith(issuers)));
    expect(keyless).toMatchObject({ counts: false, reason: expect.stringContaining("can't be decrypted") });
    expect(JSON.stringify(keyless)).not.toContain('S3CRET');
  });
});

test('a decision about a request whose session was deleted does not count', async () => {
  const call = await scene.asked();
  await store.sessions.delete(call.turn.names);
  expect(await call.confirm(APPROVE)).toMatchObject({
    counts: false,
    reason: 'the request is not in the store any more: its session was deleted',
  });
});
