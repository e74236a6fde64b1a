import type { Problem } from './check.ts';
import { jsonBytes } from './json-bytes.ts';

/** JSON bytes that a decision gives the tool, at most: arguments and payload together, or response. */
export const MOST_GIVEN_BYTES = 32 * 1024;

/** Characters of an attestation, a compact JWS, at most: digests, names and a signature. */
export const LONGEST_ATTESTATION = 8 * 1024;

/** Characters of a decision's reason, at most. */
export const LONGEST_REASON = 2_000;

/** Characters of a name in a decision, an attestation or a key, at most. */
export const LONGEST_PERSON_NAME = 256;

/** The principal of decisions without an attestation; no person has this name. */
export const UNVERIFIED = 'unverified';

/** A person's name: well-formed text without control characters, and without spaces around it. */
export const PERSON_NAME = /^(?!unverified$)(?!\s)[^\p{Cc}\p{Cs}]+(?<!\s)$/u;

/** A reference to a stored credential, as the vault makes it. Any other text may be the secret itself. */
export const CREDENTIAL_REF = /^cr-[A-Za-z0-9_-]{22}$/;

/** A reference to an answer that lies in the store. */
export const RESPONSE_REF = /^ri-[A-Za-z0-9_-]{22}$/;

/** The conflict between fields of a decision. */
export function decisionProblem(decision: {
  confirmed: boolean;
  args?: unknown;
  payload?: unknown;
}): Problem | undefined {
  const { confirmed, args, payload } = decision;
  if (args !== undefined && !confirmed) {
    return {
      field: 'args',
      problem: 'a rejection changes no arguments, since the call does not run: leave them out',
    };
  }
  const bytes = (args === undefined ? 0 : jsonBytes(args)) + (payload === undefined ? 0 : jsonBytes(payload));
  if (bytes <= MOST_GIVEN_BYTES) return undefined;
  return {
    field: 'args',
    problem: `${bytes} bytes of JSON with the payload, at most ${MOST_GIVEN_BYTES} are allowed`,
  };
}
