import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { exportJWK, generateKeyPair } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import type { Attested } from '../../src/approvals/attestation.ts';
import { signDecision, verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import type { Issuer, PrivateJwk } from '../../src/approvals/issuer.ts';
import { signMessage } from '../../src/approvals/message-attestation.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { inTier } from '../setup/tier.ts';
import { claimsOf, EXPECTED, forged, NOW, part } from './signed.ts';

let mira: ApproverKey;
let otto: ApproverKey;
let issuers: Issuer[];

beforeAll(async () => {
  const [one, two] = [await createApproverKey('mira'), await createApproverKey('otto')];
  mira = one.key;
  otto = two.key;
  issuers = [one.issuer, two.issuer];
});

const verify = (
  jws: string,
  more: Partial<Parameters<typeof verifyDecisionAttestation>[1]> = {},
  now = NOW,
) => verifyDecisionAttestation(jws, { ...EXPECTED, ...more }, issuers, now);

const signed = (more: Partial<Parameters<typeof signDecision>[0]> = {}, now = NOW, lifetime = 600_000) =>
  signDecision(
    { issuer: mira.issuer, approver: 'mira', ...EXPECTED, channel: 'cli', ...more },
    mira.privateKey,
    { now, lifetime },
  );

const reasonOf = (attested: Attested) => (attested.ok ? 'ok' : attested.reason);

describe('an attestation of a decision', () => {
  test('holds for exactly what was signed, and says who has', async () => {
    const jws = await signed();
    const attested = await verify(jws);
    const { kty, crv, x, kid } = mira.privateKey;
    expect(attested).toEqual({
      ok: true,
      by: {
        principal: 'mira',
        verified: true,
        channel: 'cli',
        attestation: expect.stringMatching(/^[\w-]{43}$/),
      },
      signature: { jws, key: { kty, crv, x, kid } },
    });
  });

  test('two of one decision are two attestations', async () => {
    const [one, other] = [await verify(await signed()), await verify(await signed())];
    expect(one.by?.attestation).not.toBe(other.by?.attestation);
  });

  test.each<[string, Parameters<typeof verify>[1], string]>([
    ['a request of another session', { session: 's-2' }, 'for a request of another session'],
    ['another request', { requestId: 'rq-e-1.1.0.2' }, 'for another request'],
    ['other arguments', { argsDigest: digestOf({ amount: 4_000 }) }, 'for other arguments'],
    ['another decision', { decision: 'reject' }, 'for another decision'],
    ['a vote that is taken back', { decision: 'withdraw' }, 'for another decision'],
    ['edited arguments', { editedArgsDigest: digestOf({ amount: 4 }) }, 'for other edited arguments'],
    ['a payload', { payloadDigest: digestOf('now') }, 'for another payload'],
    ['a response', { responseDigest: digestOf('now') }, 'for another response'],
  ])('does not hold for %s', async (_what, expected, reason) => {
    const attested = await verify(await signed(), expected);
    expect(reasonOf(attested)).toBe(`the attestation is ${reason}`);
    expect(attested.by?.principal).toBe('mira');
  });

  test('does not hold without what was signed beside the decision', async () => {
    const editedArgsDigest = digestOf({ amount: 4 });
    expect(reasonOf(await verify(await signed({ editedArgsDigest })))).toMatch('other edited arguments');
    expect(reasonOf(await verify(await signed({ payloadDigest: digestOf(1) })))).toMatch('another payload');
    expect((await verify(await signed({ editedArgsDigest }), { editedArgsDigest })).ok).toBe(true);
  });

  test('is good for its time, with a minute for clocks that differ', async () => {
    const jws = await signed();
    for (const seconds of [-59, 0, 600, 659]) {
      expect([seconds, reasonOf(await verify(jws, {}, NOW + seconds * 1_000))]).toEqual([seconds, 'ok']);
    }
    expect(reasonOf(await verify(jws, {}, NOW - 61_000))).toMatch('not yet valid');
    expect(reasonOf(await verify(jws, {}, NOW + 661_000))).toBe('the attestation has expired');
  });

  test('may not be valid for longer than a day', async () => {
    expect((await verify(await signed({}, NOW, 86_400_000))).ok).toBe(true);
    expect(reasonOf(await verify(await signed({}, NOW, 86_401_000)))).toMatch('longer than 24 hours');
    expect(reasonOf(await verify(await signed({}, NOW, 0)))).toMatch('longer than 24 hours, or never');
  });

  test('of P-256 holds, once however its signature is written', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const key = (await exportJWK(privateKey)) as PrivateJwk;
    const { d: _d, ...publicKey } = key;
    issuers.push({ issuer: 'gateway', key: publicKey });
    const jws = await signDecision(
      { issuer: 'gateway', approver: 'mira', ...EXPECTED, channel: 'http' },
      key,
      {
        now: NOW,
      },
    );
    const attested = await verify(jws);
    expect(attested).toMatchObject({ ok: true, by: { principal: 'mira', channel: 'http' } });
    const twin = await verify(withOtherS(jws));
    expect(twin.ok && twin.by.attestation).toBe(attested.by?.attestation);
  });
});

describe('a forged attestation does not count [approval.approvers]', () => {
  const sent = async (claims: Record<string, unknown>, header = {}, key: ApproverKey = mira) =>
    reasonOf(await verify(await forged({ ...claimsOf(mira), ...claims }, key, header)));

  test('by another key, whichever it says it is', async () => {
    expect(await sent({}, { kid: mira.privateKey.kid }, otto)).toMatch(
      'signature of the attestation does not fit',
    );
    expect(await sent({}, {}, otto)).toBe(
      'the key of the attestation is none that the app lists for its issuer',
    );
    expect(await sent({}, { kid: 'other' })).toMatch('none that the app lists for its issuer');
    const { key: stranger } = await createApproverKey('mira');
    expect(await sent({}, {}, stranger)).toMatch('none that the app lists for its issuer');
  });

  test('by nobody that the app lists', async () => {
    expect(await sent({ iss: 'somebody' })).toBe('the issuer of the attestation is none that the app lists');
    const jws = await signed();
    expect(reasonOf(await verifyDecisionAttestation(jws, EXPECTED, [], NOW))).toMatch(
      'none that the app lists',
    );
  });

  test('for a person that the key may not speak for', async () => {
    expect(await sent({ sub: 'otto' })).toBe(
      'the key of the attestation may not speak for the person that it names',
    );
    expect(await sent({ sub: 'unverified' })).toBe('the attestation names nobody');
  });

  test('from a channel that the key may not speak for', async () => {
    const [own] = issuers as [Issuer];
    const bound = [{ ...own, channels: ['slack'] }];
    expect(reasonOf(await verifyDecisionAttestation(await signed(), EXPECTED, bound, NOW))).toMatch(
      'its channel',
    );
    const slack = await signed({ channel: 'slack' });
    expect((await verifyDecisionAttestation(slack, EXPECTED, bound, NOW)).ok).toBe(true);
  });

  test('without a signature, or by one of a shared secret', async () => {
    const header = { typ: 'holdfast-decision+jwt', kid: mira.privateKey.kid };
    const claims = part(claimsOf(mira));
    for (const alg of ['none', 'None', 'HS256', 'HS512', 'RS256', 'ES384', 'Ed25519', undefined]) {
      const head = part({ ...header, alg });
      // The public key as a shared secret: who verifies with whatever the header says would take it.
      const mac = createHmac('sha256', mira.privateKey.x).update(`${head}.${claims}`).digest('base64url');
      const text = `${head}.${claims}.${mac}`;
      expect([alg, reasonOf(await verify(text))]).toEqual([
        alg,
        'the attestation is not signed by EdDSA or ES256',
      ]);
    }
    const bare = `${part({ ...header, alg: 'none' })}.${claims}.`;
    expect(reasonOf(await verify(bare))).toBe('the attestation is no compact JWS');
  });

  test('by an algorithm that the key is not for', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const key = { ...((await exportJWK(privateKey)) as PrivateJwk), kid: mira.privateKey.kid ?? '' };
    expect(await sent({}, {}, { ...mira, privateKey: key })).toBe(
      'the key of the attestation is not one for ES256',
    );
  });

  test('of another type, as one over a message is', async () => {
    expect(await sent({}, { typ: 'JWT' })).toBe('the attestation is no holdfast-decision+jwt');
    const message = { app: 'a', userId: 'u', sessionId: 's', messageId: 'm', messageDigest: 'd' };
    const jws = await signMessage({ issuer: mira.issuer, principal: 'mira', ...message }, mira.privateKey, {
      now: NOW,
    });
    expect(reasonOf(await verify(jws))).toBe('the attestation is no holdfast-decision+jwt');
  });

  test('with a key of its own, or with extensions', async () => {
    const { d: _d, ...jwk } = otto.privateKey;
    expect(await sent({}, { jwk, kid: otto.privateKey.kid }, otto)).toMatch('none that the app lists');
    const [, claims, signature] = (await signed()).split('.');
    const head = part({
      alg: 'EdDSA',
      typ: 'holdfast-decision+jwt',
      kid: mira.privateKey.kid,
      crit: ['b64'],
      b64: false,
    });
    expect(reasonOf(await verify(`${head}.${claims}.${signature}`))).toMatch('extensions');
  });

  test.each(['iss', 'sub', 'jti', 'iat', 'exp', 'channel', 'requestId', 'argsDigest', 'decision'])(
    'without the claim %s',
    async (claim) => {
      const wrong = claim === 'iat' || claim === 'exp' ? 'soon' : 7;
      expect(await sent({ [claim]: undefined })).toBe(`the attestation has no valid claim \`${claim}\``);
      expect(await sent({ [claim]: wrong })).toBe(`the attestation has no valid claim \`${claim}\``);
    },
  );

  test('by a key that the app lists and that is none', async () => {
    const [own] = issuers as [Issuer];
    const broken = [{ ...own, key: { ...own.key, x: 'AAAA' } }];
    expect(reasonOf(await verifyDecisionAttestation(await signed(), EXPECTED, broken, NOW))).toMatch(
      /no valid key/,
    );
  });

  test.each([
    ['nothing', ''],
    ['text', 'approve'],
    ['two parts', 'a.b'],
    ['four parts', 'a.b.c.d'],
    ['no JSON', 'bm9uZQ.bm9uZQ.bm9uZQ'],
    ['a list', `${part([])}.${part([])}.AAAA`],
    ['a megabyte', 'a'.repeat(1_000_000)],
  ])('that is %s', async (_what, text) => {
    expect(reasonOf(await verify(text))).toBe('the attestation is no compact JWS');
  });

  test('no change of any byte goes unnoticed', async () => {
    const jws = await signed();
    await fc.assert(
      fc.asyncProperty(fc.nat(jws.length - 1), fc.nat(255), async (at, code) => {
        const changed = jws.slice(0, at) + String.fromCharCode(code) + jws.slice(at + 1);
        fc.pre(changed !== jws);
        expect((await verify(changed)).ok).toBe(false);
      }),
      { numRuns: inTier(40, 400) },
    );
    expect((await verify(jws)).ok).toBe(true);
  });

  test('no claim of another value counts as this decision', async () => {
    const claims = claimsOf(mira);
    const named = fc.constantFrom(
      ...Object.keys(claims),
      'editedArgsDigest',
      'payloadDigest',
      'responseDigest',
      'nbf',
    );
    await fc.assert(
      fc.asyncProperty(named, fc.jsonValue(), async (name, value) => {
        const isOther = JSON.stringify(claims[name]) !== JSON.stringify(value);
        // Any name will do for these, and any time that is near for those.
        fc.pre(isOther && name !== 'jti' && name !== 'channel' && typeof value !== 'number');
        expect((await verify(await forged({ ...claims, [name]: value }, mira))).ok).toBe(false);
      }),
      { numRuns: inTier(20, 200) },
    );
  });

  test('and no reason quotes it', async () => {
    const secret = 'S3CRET-claim';
    const texts = await Promise.all([
      forged({ ...claimsOf(mira), iss: secret }, mira),
      forged({ ...claimsOf(mira), sub: secret }, mira),
      forged({ ...claimsOf(mira), requestId: secret }, mira),
      forged({ ...claimsOf(mira), iat: secret }, mira),
      forged(claimsOf(mira), mira, { typ: secret }),
      forged(claimsOf(mira), mira, { kid: secret }),
    ]);
    for (const jws of texts) {
      const reason = reasonOf(await verify(jws));
      expect(reason).not.toContain(secret);
      for (const quoted of jws.split('.')) expect(reason).not.toContain(quoted.slice(0, 12));
    }
  });
});

/** The same ECDSA signature with n - s for s, which verifies as well. */
function withOtherS(jws: string): string {
  const [head, claims, signature = ''] = jws.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const order = BigInt('0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551');
  const other = (order - BigInt(`0x${bytes.subarray(32).toString('hex')}`)).toString(16).padStart(64, '0');
  const twin = Buffer.concat([bytes.subarray(0, 32), Buffer.from(other, 'hex')]).toString('base64url');
  return `${head}.${claims}.${twin}`;
}
