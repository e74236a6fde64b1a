import { createHmac, generateKeyPairSync, hkdfSync } from 'node:crypto';
import * as fc from 'fast-check';
import { CompactSign, compactVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { CredentialKeyRing } from '../../src/credentials/credential-keys.ts';
import { signJobToken, verifyJobToken } from '../../src/jobs/job-token.ts';
import type { JobTokenRefused } from '../../src/jobs/job-token-refused.ts';
import type { JobClaims } from '../../src/store/jobs/job-store.ts';

const NOW = Date.UTC(2026, 9, 5);
const WEEK = 7 * 86_400_000;

const keyOf = (id: string, fill: number) => ({ id, bytes: Buffer.alloc(32, fill) });
const first = keyOf('k1', 1);
const second = keyOf('k2', 2);
const keys = new CredentialKeyRing([first]);

const claims: JobClaims = {
  jobId: 'job-Vq3',
  session: '0190a7c2-0000-7000-8000-000000000001',
  runKey: 'r1',
  callKey: 'r1.1.0',
  callId: 'call_1',
  tool: 'order_report',
  agent: 'desk',
  until: NOW + WEEK,
};
const token = signJobToken(keys, claims);

const secretOf = ({ bytes }: { bytes: Buffer }) =>
  new Uint8Array(hkdfSync('sha256', bytes, '', 'holdfast job tokens', 32));
const partsOf = (jws: string) => jws.split('.') as [string, string, string];
const [HEADER, PAYLOAD, SIGNATURE] = partsOf(token);
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());

/** Signed with the right secret, whatever it says. */
function signed(header: object, payload: unknown, secret: Uint8Array = secretOf(first)): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

interface Against {
  job?: string;
  ring?: CredentialKeyRing | undefined;
  now?: number;
}

async function refusal(given: unknown, against: Against = {}) {
  const { job, ring, now } = { job: claims.jobId, ring: keys, now: NOW, ...against };
  return await verifyJobToken(ring, given as string, job, now).then(
    () => {
      throw new Error('was accepted');
    },
    (error: JobTokenRefused) => {
      expect(error).toMatchObject({ code: 'HOLDFAST_JOB_TOKEN_REFUSED', name: 'JobTokenRefused' });
      return error;
    },
  );
}
const problem = async (...given: Parameters<typeof refusal>) => (await refusal(...given)).problem;

describe('a token is good for its job [job.token]', () => {
  test('what was signed is read', async () => {
    expect(await verifyJobToken(keys, token, claims.jobId, NOW)).toEqual(claims);
  });

  test('the same in every attempt', () => {
    expect(signJobToken(keys, { ...claims })).toBe(token);
  });

  test('short enough for a header, and by any JOSE library', async () => {
    expect(token.length).toBeLessThan(512);
    const { protectedHeader } = await compactVerify(token, secretOf(first));
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'holdfast-job+jwt', kid: 'k1' });
    const theirs = await new CompactSign(Buffer.from(PAYLOAD, 'base64url'))
      .setProtectedHeader({ alg: 'HS256', typ: 'holdfast-job+jwt', kid: 'k1' })
      .sign(secretOf(first));
    expect(await verifyJobToken(keys, theirs, claims.jobId, NOW)).toEqual(claims);
  });

  test('any claims survive', async () => {
    const text = fc.string({ minLength: 1, maxLength: 64, unit: 'grapheme' });
    const any = fc.record({
      jobId: text,
      session: text,
      runKey: text,
      callKey: text,
      callId: fc.string({ maxLength: 64, unit: 'grapheme' }),
      tool: text,
      agent: text,
      until: fc.integer({ min: NOW, max: NOW + 520 * WEEK }),
    });
    await fc.assert(
      fc.asyncProperty(any, async (given) => {
        expect(await verifyJobToken(keys, signJobToken(keys, given), given.jobId, NOW)).toEqual(given);
      }),
    );
  });

  test('after the key was changed, while the old one is there', async () => {
    const rolled = new CredentialKeyRing([second, first]);
    expect(await verifyJobToken(rolled, token, claims.jobId, NOW)).toEqual(claims);
    expect(decoded(partsOf(signJobToken(rolled, claims))[0])).toMatchObject({ kid: 'k2' });
  });

  test('until a week after the deadline', async () => {
    const end = claims.until + WEEK;
    expect(await verifyJobToken(keys, token, claims.jobId, end - 1)).toEqual(claims);
    expect((await refusal(token, { now: end })).message).toContain('it has expired');
  });
});

describe('is refused [job.token]', () => {
  test('for another job', async () => {
    expect(await problem(token, { job: 'job-other' })).toBe('other job');
    expect(await problem(token, { job: '' })).toBe('other job');
  });

  test('with a key that is not there, and with another one of the same name', async () => {
    const others = new CredentialKeyRing([second]);
    const { message, problem: what } = await refusal(token, { ring: others });
    expect([what, message]).toEqual(['unknown key', expect.stringContaining('signed by an unknown key')]);
    expect(await problem(token, { ring: undefined })).toBe('unknown key');
    const renamed = new CredentialKeyRing([{ ...second, id: 'k1' }]);
    expect(await problem(token, { ring: renamed })).toBe('forged');
  });

  test('the key of credentials itself signs no tokens', async () => {
    expect(await problem(signed(decoded(HEADER), decoded(PAYLOAD), new Uint8Array(first.bytes)))).toBe(
      'forged',
    );
  });

  test.each(['none', 'None', 'HS384', 'HS512', 'RS256', 'ES256', 'EdDSA', '', undefined, null, ['HS256']])(
    'alg %j, whatever the signature',
    async (alg) => {
      expect(await problem(signed({ ...decoded(HEADER), alg }, decoded(PAYLOAD)))).toBe('malformed');
      expect(await problem(`${encoded({ ...decoded(HEADER), alg })}.${PAYLOAD}.`)).toBe('malformed');
    },
  );

  test('signed by a key pair whose public half would be the secret', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const theirs = await new CompactSign(Buffer.from(PAYLOAD, 'base64url'))
      .setProtectedHeader({ ...decoded(HEADER), alg: 'ES256' })
      .sign(privateKey);
    expect(await problem(theirs)).toBe('malformed');
    const pem = new TextEncoder().encode(publicKey.export({ type: 'spki', format: 'pem' }).toString());
    expect(await problem(signed(decoded(HEADER), decoded(PAYLOAD), pem))).toBe('forged');
  });

  test.each([
    { typ: 'JWT' },
    { typ: 'holdfast-decision+jwt' },
    { typ: 'holdfast-message+jwt' },
    { typ: undefined },
    { kid: undefined },
    { kid: 1 },
    { kid: ['k1'] },
    { crit: ['b64'], b64: false },
    { jwk: { kty: 'oct', k: 'AA' } },
    { jku: 'https://example.com/keys' },
    { zip: 'DEF' },
  ])('with the header %j', async (header) => {
    expect(await problem(signed({ ...decoded(HEADER), ...header }, decoded(PAYLOAD)))).toBe('malformed');
  });

  test.each(['__proto__', 'constructor', 'toString', '../k1', ''])('with the key id %j', async (kid) => {
    expect(await problem(signed({ ...decoded(HEADER), kid }, decoded(PAYLOAD)))).toBe('unknown key');
  });

  test('changed anywhere', async () => {
    const said = decoded(PAYLOAD);
    for (const name of Object.keys(said)) {
      const other = `${HEADER}.${encoded({ ...said, [name]: typeof said[name] === 'number' ? said[name] + 1 : 'x' })}`;
      expect(await problem(`${other}.${SIGNATURE}`)).toBe('forged');
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.base64String({ minLength: 1 }), async (at, char) => {
        fc.pre(token[at] !== char[0]);
        const changed = token.slice(0, at) + char[0] + token.slice(at + 1);
        expect(['malformed', 'unknown key', 'forged']).toContain(await problem(changed));
      }),
    );
  });

  test('cut short, and with more behind it', async () => {
    for (let length = 0; length < token.length; length += 1) {
      expect(['malformed', 'forged']).toContain(await problem(token.slice(0, length)));
    }
    for (const more of ['.', '.x', ' ', '\n', '=', 'A', `.${SIGNATURE}`]) {
      expect(['malformed', 'forged']).toContain(await problem(token + more));
    }
    expect(await problem(` ${token}`)).toBe('malformed');
    expect(await problem(token.repeat(20))).toBe('malformed');
  });

  test.each([undefined, null, 1, {}, '', '..', 'Bearer x', 'a.b.c', `${'x'.repeat(100_000)}.y.z`])(
    'what is none: %j',
    async (given) => {
      expect(await problem(given)).toBe('malformed');
    },
  );

  test('well signed, and says something else', async () => {
    const said = decoded(PAYLOAD);
    const payloads: unknown[] = [
      null,
      [],
      'text',
      {},
      ...Object.keys(said).flatMap((name) => [
        { ...said, [name]: undefined },
        { ...said, [name]: null },
        { ...said, [name]: {} },
        { ...said, [name]: typeof said[name] === 'number' ? String(said[name]) : 1 },
      ]),
      { ...said, exp: -1 },
      { ...said, until: -1 },
      { ...said, sub: '' },
    ];
    for (const payload of payloads) expect(await problem(signed(decoded(HEADER), payload))).toBe('malformed');
  });

  test('without quoting it', async () => {
    const bad = [token.slice(0, -1), signed({ ...decoded(HEADER), kid: 'secret-kid' }, { a: 1 }), 'tok-3141'];
    for (const given of bad) {
      const { message } = await refusal(given);
      for (const part of [...given.split('.'), 'secret-kid', claims.jobId])
        expect(message).not.toContain(part);
    }
  });
});
