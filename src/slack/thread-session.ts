import { createHmac, timingSafeEqual } from 'node:crypto';

/** A thread of a channel, by its first message. */
export interface SlackThread {
  team: string;
  channel: string;
  ts: string;
}

const SESSION = /^slack:(T[A-Z0-9]{1,30}):([CDG][A-Z0-9]{1,30}):(\d{1,20}\.\d{1,10}):([\w-]{22})$/;
const PROOF_BYTES = 16;

/**
 * Id of the session that a thread is. It ends with a proof: who names sessions must not be able to have agents' answers and questions
 * posted where they want.
 */
export function sessionOfThread({ team, channel, ts }: SlackThread, signingSecret: string): string {
  const name = `slack:${team}:${channel}:${ts}`;
  return `${name}:${proofOf(name, signingSecret)}`;
}

/** Whether a session is named as a thread; whether it is one, its proof says. */
export function isThreadName(sessionId: string): boolean {
  return SESSION.test(sessionId);
}

/** Undefined for a session that no thread is. */
export function threadOfSession(
  sessionId: string,
  signingSecrets: readonly string[],
): SlackThread | undefined {
  const [, team, channel, ts, proof] = SESSION.exec(sessionId) ?? [];
  if (team === undefined || channel === undefined || ts === undefined || proof === undefined)
    return undefined;
  const name = `slack:${team}:${channel}:${ts}`;
  const isProved = signingSecrets.some((secret) =>
    timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(name, secret))),
  );
  return isProved ? { team, channel, ts } : undefined;
}

function proofOf(name: string, signingSecret: string): string {
  const key = createHmac('sha256', signingSecret).update('holdfast sessions of threads').digest();
  return createHmac('sha256', key).update(name).digest().subarray(0, PROOF_BYTES).toString('base64url');
}
