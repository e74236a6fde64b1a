import { createHmac, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
/** Seconds by which a sender's clock, and the way, may differ. */
const TOLERANCE = 5 * 60;
/** More of them are no rotation of secrets. */
const MOST_SIGNATURES = 32;
const LONGEST_ID = 256;

/** Headers of a request, in lower case; those that came more than once as a list. */
export type SignedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Why a signature isn't one. For logs: its sender is told nothing. */
export type SignatureFlaw = 'missing header' | 'repeated header' | 'malformed' | 'stale' | 'forged';

/**
 * A secret's bytes: those in base64 after `whsec_`, else those of the text.
 *
 * @throws RangeError for fewer than 16 bytes, which could be guessed.
 */
export function webhookSecret(secret: string): Buffer {
  const bytes = secret.startsWith(PREFIX)
    ? Buffer.from(secret.slice(PREFIX.length), 'base64')
    : Buffer.from(secret);
  if (bytes.length < 16) throw new RangeError('a secret has at least 16 bytes');
  return bytes;
}

/**
 * Signs as Standard Webhooks 1.0.0 has it, with each of the secrets: a receiver that knows one of them trusts it.
 *
 * @param timestamp seconds since the epoch.
 */
export function signWebhook(
  secrets: readonly Buffer[],
  { id, timestamp, body }: { id: string; timestamp: number; body: string | Uint8Array },
): { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string } {
  const signatures = secrets.map(
    (secret) => `v1,${standardDigest(secret, id, String(timestamp), body).toString('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/**
 * Whether one of these secrets has signed a request as Standard Webhooks 1.0.0 has it.
 *
 * @param now milliseconds since the epoch.
 * @returns its id, or the problem.
 */
export function verifyWebhook(
  secrets: readonly Buffer[],
  headers: SignedHeaders,
  body: Uint8Array,
  now: number = Date.now(),
): { id: string } | SignatureFlaw {
  const read = singleHeaders(headers, ['webhook-id', 'webhook-timestamp', 'webhook-signature']);
  if (typeof read === 'string') return read;
  const [id = '', timestamp = '', signature = ''] = read;
  if (id.length > LONGEST_ID || !/^[\x21-\x7e]+$/.test(id)) return 'malformed';
  const flaw = timeFlaw(timestamp, now);
  if (flaw !== undefined) return flaw;
  const given = signature.split(' ');
  if (given.length > MOST_SIGNATURES) return 'malformed';
  const known = given
    .filter((each) => each.startsWith('v1,'))
    .map((each) => Buffer.from(each.slice(3), 'base64'));
  // Each is compared with each: how long it takes tells of none.
  const matches = secrets.flatMap((secret) => {
    const expected = standardDigest(secret, id, timestamp, body);
    return known.map((each) => isSameBytes(each, expected));
  });
  return matches.includes(true) ? { id } : 'forged';
}

/**
 * Whether Slack has signed a request: `v0`, over its raw body.
 *
 * @param now milliseconds since the epoch.
 * @returns what is wrong; undefined where it has.
 * @see https://docs.slack.dev/authentication/verifying-requests-from-slack
 */
export function slackSignatureFlaw(
  secret: string,
  headers: SignedHeaders,
  body: Uint8Array,
  now: number = Date.now(),
): SignatureFlaw | undefined {
  const read = singleHeaders(headers, ['x-slack-request-timestamp', 'x-slack-signature']);
  if (typeof read === 'string') return read;
  const [timestamp = '', signature = ''] = read;
  const flaw = timeFlaw(timestamp, now);
  if (flaw !== undefined) return flaw;
  if (!/^v0=[\da-f]{64}$/.test(signature)) return 'malformed';
  const expected = createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest();
  return isSameBytes(Buffer.from(signature.slice(3), 'hex'), expected) ? undefined : 'forged';
}

function singleHeaders(headers: SignedHeaders, names: readonly string[]): string[] | SignatureFlaw {
  const values = names.map((name) => headers[name]);
  if (values.some((value) => typeof value === 'object')) return 'repeated header';
  return values.every((value) => typeof value === 'string' && value !== '')
    ? (values as string[])
    : 'missing header';
}

function timeFlaw(timestamp: string, now: number): SignatureFlaw | undefined {
  if (!/^\d{1,12}$/.test(timestamp)) return 'malformed';
  return Math.abs(now / 1_000 - Number(timestamp)) > TOLERANCE ? 'stale' : undefined;
}

function standardDigest(secret: Buffer, id: string, timestamp: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body).digest();
}

/** Takes the same time wherever two values of one length differ. */
export function isSameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
