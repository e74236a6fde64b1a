import { describe, expect, test } from 'vitest';
import {
  createApproverKey,
  digestOf,
  messageDigest,
  signDecision,
  signMessage,
  verifyDecisionAttestation,
  verifyMessageAttestation,
} from '../../src/index.ts';

const { key, issuer } = await createApproverKey('mira');
const { privateKey } = key;

describe('a program that signs for people has all it needs from the package [approval.approvers]', () => {
  test('for decisions, over edited arguments and a payload', async () => {
    const decision = {
      session: 's-1',
      requestId: 'rq-e-1.1.0.1',
      argsDigest: digestOf({ to: 'ada', amount: 40 }),
      decision: 'approve',
      editedArgsDigest: digestOf({ amount: 30, to: 'ada' }),
      payloadDigest: digestOf({ note: 'less' }),
    } as const;
    const claims = { issuer: key.issuer, approver: 'mira', channel: 'slack', ...decision };
    const jws = await signDecision(claims, privateKey);
    expect(await verifyDecisionAttestation(jws, decision, [issuer], Date.now())).toMatchObject({
      ok: true,
      by: { principal: 'mira', verified: true, channel: 'slack' },
    });
    const other = { ...decision, editedArgsDigest: digestOf({ to: 'ada', amount: 31 }) };
    expect(await verifyDecisionAttestation(jws, other, [issuer], Date.now())).toMatchObject({ ok: false });
  });

  test('for messages, however they are written', async () => {
    const message = { app: 'shop', userId: 'ada', sessionId: 's1', messageId: 'm1' };
    const digest = messageDigest('refund A-1');
    const claims = { issuer: key.issuer, principal: 'mira', ...message, messageDigest: digest };
    const jws = await signMessage(claims, privateKey);
    const same = messageDigest({ role: 'user', parts: [{ text: 'refund A-1' }] });
    const expected = { ...message, messageDigest: same };
    expect((await verifyMessageAttestation(jws, expected, [issuer], Date.now())).ok).toBe(true);
    const other = { ...message, messageDigest: messageDigest('refund A-1', { rush: true }) };
    expect((await verifyMessageAttestation(jws, other, [issuer], Date.now())).ok).toBe(false);
  });
});
