import { createHash, timingSafeEqual } from 'node:crypto';
import type { Access, Principal } from './access.ts';
import { isFromHere } from './caller-address.ts';
import { isOwnRequest, loopbackNames, namesOf } from './own-requests.ts';

/** Least characters of a token: 128 random bits in base64url, and a few. */
const SHORTEST_TOKEN = 24;

const SENDABLE = /^[\x21-\x7e]+$/;

export interface LocalAccessOptions {
  /**
   * Secret that each caller sends as `Authorization: Bearer <token>`; at least 24 characters that a header can hold, randomly
   * made.
   */
  token: string;
  /**
   * Values of `Host` that are this gateway, with their ports. Defaults to 127.0.0.1, localhost and [::1] with the port that the
   * request came in at.
   */
  hosts?: readonly string[];
}

/**
 * Access for programs of this machine that have the token. Keeps other machines out, under any name, and web pages, whose requests
 * a browser sends from here: by `Host` (a foreign name that was pointed here, DNS rebinding), by `Origin` and by `Sec-Fetch-Site`.
 *
 * @throws TypeError for a token that is short, or that no header can hold.
 * @example
 * const access = localAccess({ token: randomBytes(32).toString('base64url') });
 */
export function localAccess({ token, hosts }: LocalAccessOptions): Access {
  if (token.length < SHORTEST_TOKEN) {
    throw new TypeError(
      `localAccess: token: expected at least ${SHORTEST_TOKEN} characters, got ${token.length}: use ` +
        "randomBytes(32).toString('base64url')",
    );
  }
  if (!SENDABLE.test(token)) {
    throw new TypeError(
      'localAccess: token: expected ASCII characters without spaces, which a header can hold',
    );
  }
  const expected = digest(token);
  return {
    reach: 'loopback',
    screen(request) {
      const own = hosts === undefined ? loopbackNames(request) : namesOf(hosts);
      return isFromHere(request) && isOwnRequest(request, own) ? undefined : 'forbidden';
    },
    authenticate({ headers, repeated }) {
      if (repeated.has('authorization')) return 'unauthenticated';
      const given = /^bearer +([^\s]+)$/i.exec(headers.get('authorization') ?? '')?.[1] ?? '';
      return timingSafeEqual(digest(given), expected) ? LOCAL : 'unauthenticated';
    },
  };
}

/** The token of a local gateway may do everything: it is the user's own machine. */
const LOCAL: Principal = { name: 'local', unlimited: true, may: () => 'allowed' };

/** Always of one length: a comparison in constant time needs it. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
