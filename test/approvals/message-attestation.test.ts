import { beforeAll, describe, expect, test } from 'vitest';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import { signMessage, verifyMessageAttestation } from '../../src/approvals/message-attestation.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import { forged, NOW } from './signed.ts';

const MESSAGE = {
  app: 'shop',
  userId: 'ada',
  sessionId: 's1',
  messageId: 'm1',
  messageDigest: messageDigest('refund FH-12529'),
};

let key: ApproverKey;
let issuer: Issuer;

beforeAll(async () => {
  ({ key, issuer } = await createApproverKey('ada'));
});

const signed = () =>
  signMessage({ issuer: key.issuer, principal: 'ada', ...MESSAGE }, key.privateKey, { now: NOW });

describe('an attestation of a message', () => {
  test('says who has sent it [approval.approvers]', async () => {
    expect(await verifyMessageAttestation(await signed(), MESSAGE, [issuer], NOW)).toMatchObject({
      ok: true,
      by: { principal: 'ada', verified: true },
    });
  });

  test.each<[keyof typeof MESSAGE, string]>([
    ['app', 'another session'],
    ['userId', 'another session'],
    ['sessionId', 'another session'],
    ['messageId', 'another message'],
    ['messageDigest', 'another content'],
  ])('does not hold for another %s', async (field, what) => {
    const attested = await verifyMessageAttestation(
      await signed(),
      { ...MESSAGE, [field]: 'x' },
      [issuer],
      NOW,
    );
    expect(attested).toMatchObject({ ok: false, reason: `the attestation is for ${what}` });
  });

  test('needs all claims, and its own type', async () => {
    const iat = NOW / 1_000;
    const claims = { iss: key.issuer, sub: 'ada', ...MESSAGE, iat, exp: iat + 60, jti: 'j' };
    const typ = 'holdfast-message+jwt';
    for (const name of Object.keys(claims)) {
      const attested = await verifyMessageAttestation(
        await forged({ ...claims, [name]: undefined }, key, { typ }),
        MESSAGE,
        [issuer],
        NOW,
      );
      expect(attested).toMatchObject({ ok: false, reason: `the attestation has no valid claim \`${name}\`` });
    }
    const decision = await forged(claims, key);
    expect(await verifyMessageAttestation(decision, MESSAGE, [issuer], NOW)).toMatchObject({ ok: false });
  });

  test('is not for keys of some channels only', async () => {
    const bound = [{ ...issuer, channels: ['slack'] }];
    expect(await verifyMessageAttestation(await signed(), MESSAGE, bound, NOW)).toMatchObject({
      ok: false,
      reason: 'the key of the attestation may not speak for messages',
    });
  });
});
