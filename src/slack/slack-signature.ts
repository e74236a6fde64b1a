import { createHmac, timingSafeEqual } from 'node:crypto';

/** Seconds by which a request may be older, or newer, than now. */
const WINDOW = 300;

const SIGNATURE = /^v0=[0-9a-f]{64}$/;
const TIMESTAMP = /^\d{1,12}$/;

export interface SignedSlackRequest {
  /** As it was sent, byte by byte. */
  body: Buffer;
  /** `X-Slack-Signature`; null where there is none. */
  signature: string | null;
  /** `X-Slack-Request-Timestamp`. */
  timestamp: string | null;
}

/**
 * Whether Slack has signed this request, lately, for an app with one of these secrets. Source:
 * https://docs.slack.dev/authentication/verifying-requests-from-slack
 *
 * @param now milliseconds since the epoch.
 */
export function isSignedBySlack(
  { body, signature, timestamp }: SignedSlackRequest,
  signingSecrets: readonly string[],
  now: number = Date.now(),
): boolean {
  if (signature === null || !SIGNATURE.test(signature)) return false;
  if (timestamp === null || !TIMESTAMP.test(timestamp)) return false;
  if (Math.abs(now / 1_000 - Number(timestamp)) > WINDOW) return false;
  const given = Buffer.from(signature.slice('v0='.length), 'hex');
  const matches = signingSecrets.map((secret) =>
    timingSafeEqual(given, createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest()),
  );
  return matches.includes(true);
}
