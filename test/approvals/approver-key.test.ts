import { describe, expect, test } from 'vitest';
import {
  createApproverKey,
  InvalidApproverKey,
  issuerOf,
  parseApproverKey,
} from '../../src/approvals/approver-key.ts';
import { signDecision, verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { EXPECTED, NOW } from './signed.ts';

describe('the key of an approver', () => {
  test('signs what the app believes by its public half, also when it is read again', async () => {
    const { key, issuer } = await createApproverKey('mira');
    expect(JSON.stringify(issuer)).not.toContain(key.privateKey.d);
    expect(issuer).toMatchObject({
      issuer: 'approver:mira',
      approver: 'mira',
      key: { crv: 'Ed25519', alg: 'EdDSA' },
    });
    const read = parseApproverKey(JSON.stringify(key));
    expect(issuerOf(read)).toEqual(issuer);
    const jws = await signDecision(
      { issuer: read.issuer, approver: read.approver, ...EXPECTED, channel: 'cli' },
      read.privateKey,
      { now: NOW },
    );
    expect((await verifyDecisionAttestation(jws, EXPECTED, [issuer], NOW)).ok).toBe(true);
  });

  test.each(['', 'a\nb', 'a'.repeat(257), '\ud800'])(
    'is for a name that people can read, not for %j',
    async (name) => {
      await expect(createApproverKey(name)).rejects.toThrow(InvalidApproverKey);
    },
  );

  test('that is none is refused by the name of the field, and never quoted', async () => {
    const { key } = await createApproverKey('mira');
    const { d } = key.privateKey;
    const { d: _d, ...publicHalf } = key.privateKey;
    for (const [text, problem] of [
      [d, 'is JSON'],
      [JSON.stringify([d]), 'is an object, got array'],
      [JSON.stringify({ ...key, issuer: 7 }), 'issuer: expected a name, got number'],
      [JSON.stringify({ ...key, approver: undefined }), 'approver: expected a name, got undefined'],
      [JSON.stringify({ ...key, privateKey: d }), 'privateKey: expected a JWK, got string'],
      [JSON.stringify({ ...key, privateKey: publicHalf }), 'privateKey: expected a private JWK'],
      [JSON.stringify({ ...key, privateKey: { ...key.privateKey, kty: 'oct' } }), 'expected a private JWK'],
    ] as const) {
      expect(() => parseApproverKey(text)).toThrow(problem);
      expect(() => parseApproverKey(text)).not.toThrow(d);
    }
  });

  test('of another kind signs nothing', async () => {
    const { key } = await createApproverKey('mira');
    const claims = { issuer: 'i', approver: 'mira', ...EXPECTED, channel: 'cli' };
    await expect(signDecision(claims, { ...key.privateKey, crv: 'X25519' })).rejects.toThrow(TypeError);
  });
});
