import { createHmac, hkdfSync } from 'node:crypto';
import * as fc from 'fast-check';
import { compactVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import {
  type ApprovalLink,
  linkUrl,
  signApprovalLink,
  verifyApprovalLink,
} from '../../src/approvals/approval-link.ts';
import { CredentialKeyRing } from '../../src/credentials/credential-keys.ts';
import { signJobToken } from '../../src/jobs/job-token.ts';

const NOW = Date.UTC(2026, 9, 5);
const DAY = 86_400_000;

const keyOf = (id: string, fill: number) => ({ id, bytes: Buffer.alloc(32, fill) });
const first = keyOf('k1', 1);
const second = keyOf('k2', 2);
const keys = new CredentialKeyRing([first]);

const terms = {
  session: '0190a7c2-0000-7000-8000-000000000001',
  requestId: 'rq-r1.1.0.1',
  approver: 'mira',
  expiresAt: NOW + DAY,
};
const token = signApprovalLink(keys, terms, NOW);

const secretOf = ({ bytes }: { bytes: Buffer }, use = 'holdfast approval links') =>
  new Uint8Array(hkdfSync('sha256', bytes, '', use, 32));
const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
const [HEADER, PAYLOAD, SIGNATURE] = token.split('.') as [string, string, string];

function signed(header: object, payload: unknown, secret: Uint8Array = secretOf(first)): string {
  const text = `${encoded(header)}.${encoded(payload)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}

async function linkOf(given: string, now = NOW): Promise<ApprovalLink> {
  const link = await verifyApprovalLink(keys, given, now);
  if (typeof link === 'string') throw new Error(link);
  return link;
}
const problem = async (given: string, ring: CredentialKeyRing | undefined = keys) =>
  await verifyApprovalLink(ring, given, NOW);

describe('a link is good for its request and its person [link.signed]', () => {
  test('what was signed is read, with an id of its own', async () => {
    expect(await linkOf(token)).toEqual({ ...terms, id: expect.stringMatching(/^[\w-]{22}$/) });
    const ids = await Promise.all(
      Array.from({ length: 50 }, async () => (await linkOf(signApprovalLink(keys, terms, NOW))).id),
    );
    expect(new Set(ids).size).toBe(50);
  });

  test('any names survive, in a part of a URL', async () => {
    const text = fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' });
    const any = fc.record({ session: text, requestId: text, approver: text });
    await fc.assert(
      fc.asyncProperty(any, async (given) => {
        const made = signApprovalLink(keys, { ...given, expiresAt: NOW + DAY }, NOW);
        expect(encodeURIComponent(made)).toBe(made);
        expect(await linkOf(made)).toMatchObject(given);
      }),
    );
  });

  test('until it expires, a week at most', async () => {
    expect(await linkOf(token, NOW + DAY - 1)).toMatchObject(terms);
    expect(await verifyApprovalLink(keys, token, NOW + DAY)).toBe('expired');
    for (const expiresAt of [undefined, NOW + 8 * DAY, NOW + 5_000 * DAY]) {
      const long = await linkOf(signApprovalLink(keys, { ...terms, expiresAt }, NOW));
      expect(long.expiresAt).toBe(NOW + 7 * DAY);
    }
    expect(await problem(signApprovalLink(keys, { ...terms, expiresAt: NOW - 1 }, NOW))).toBe('expired');
  });

  test('by any JOSE library, and after the key was changed while the old one is there', async () => {
    const { protectedHeader } = await compactVerify(token, secretOf(first));
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'holdfast-link+jwt', kid: 'k1' });
    expect(await problem(token, new CredentialKeyRing([second, first]))).toMatchObject(terms);
  });

  test('its URL', () => {
    expect(linkUrl('https://agents.example/', 'a.b.c')).toBe('https://agents.example/a/a.b.c');
    expect(linkUrl('https://agents.example/below', 'a.b.c')).toBe('https://agents.example/below/a/a.b.c');
  });
});

describe('is refused [link.forged]', () => {
  test('with a key that is not there, and with another one of the same name', async () => {
    expect(await problem(token, new CredentialKeyRing([second]))).toBe('unknown key');
    expect(await verifyApprovalLink(undefined, token, NOW)).toBe('unknown key');
    expect(await problem(token, new CredentialKeyRing([{ ...second, id: 'k1' }]))).toBe('forged');
  });

  test('by the keys of other uses, and as a token of another use', async () => {
    for (const secret of [
      new Uint8Array(first.bytes),
      secretOf(first, 'holdfast job tokens'),
      secretOf(first, 'holdfast gateway attestations'),
    ]) {
      expect(await problem(signed(decoded(HEADER), decoded(PAYLOAD), secret))).toBe('forged');
    }
    const job = signJobToken(keys, {
      ...{ jobId: 'job-1', session: terms.session, runKey: 'r1', callKey: 'r1.1.0', callId: 'call_1' },
      ...{ tool: 'order_report', agent: 'desk', until: NOW + DAY },
    });
    expect(await problem(job)).toBe('malformed');
  });

  test.each([
    { alg: 'none' },
    { alg: 'HS512' },
    { alg: 'EdDSA' },
    { typ: 'JWT' },
    { typ: 'holdfast-job+jwt' },
    { typ: undefined },
    { kid: undefined },
    { kid: ['k1'] },
    { crit: ['b64'], b64: false },
    { jwk: { kty: 'oct', k: 'AA' } },
    { jku: 'https://example.com/keys' },
  ])('with the header %j, whatever the signature', async (header) => {
    expect(await problem(signed({ ...decoded(HEADER), ...header }, decoded(PAYLOAD)))).toBe('malformed');
    expect(await problem(`${encoded({ ...decoded(HEADER), ...header })}.${PAYLOAD}.`)).toBe('malformed');
  });

  test('changed anywhere, cut short, and with more behind it', async () => {
    for (const [name, value] of Object.entries(decoded(PAYLOAD))) {
      const other = encoded({
        ...decoded(PAYLOAD),
        [name]: typeof value === 'number' ? value + DAY : `${value}x`,
      });
      expect(await problem(`${HEADER}.${other}.${SIGNATURE}`)).toBe('forged');
    }
    for (let length = 0; length < token.length; length += 1) {
      expect(['malformed', 'forged']).toContain(await problem(token.slice(0, length)));
    }
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), fc.base64String({ minLength: 1 }), async (at, char) => {
        fc.pre(token[at] !== char[0]);
        const changed = token.slice(0, at) + char[0] + token.slice(at + 1);
        expect(['malformed', 'unknown key', 'forged']).toContain(await problem(changed));
      }),
    );
    for (const more of ['.', '.x', ' ', '\n', '=', 'A', '/', `.${SIGNATURE}`]) {
      expect(['malformed', 'forged']).toContain(await problem(token + more));
    }
  });

  test('well signed, and without what it needs', async () => {
    const said = decoded(PAYLOAD);
    for (const name of Object.keys(said)) {
      for (const value of [undefined, null, {}, '', typeof said[name] === 'number' ? '9' : 9]) {
        expect(await problem(signed(decoded(HEADER), { ...said, [name]: value }))).toBe('malformed');
      }
    }
    for (const none of [null, [], 'text', {}]) {
      expect(await problem(signed(decoded(HEADER), none))).toBe('malformed');
    }
  });

  test('any text that is none', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ maxLength: 300, unit: 'binary' }), async (text) => {
        expect(await problem(text)).toBe('malformed');
      }),
    );
  });
});
