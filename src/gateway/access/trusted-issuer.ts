import type { JSONWebKeySet, JWTPayload } from 'jose';
import type { Grant } from '../../contract/keys.ts';
import { isLoopbackName } from '../../net/public-url.ts';

/** Grants by what a claim says: of a text its words, of a list its items. */
export interface GrantsByClaim {
  /** Name of the claim, `groups`; with dots a path, `realm_access.roles`. */
  claim: string;
  /** Grants of each value. */
  values: Readonly<Record<string, readonly Grant[]>>;
  /** Grants of everybody whom the issuer knows. */
  everybody?: readonly Grant[];
}

/** Somebody who says who callers are, by signed tokens (JWT): an OpenID Connect provider. */
export interface TrustedIssuer {
  /** Exactly as tokens have it in `iss`; an https URL. */
  issuer: string;
  /** Required audience of tokens, in `aud`; one of several is enough. */
  audience: string | readonly string[];
  /** Where the keys are. Defaults to what `<issuer>/.well-known/openid-configuration` says. */
  jwksUri?: string;
  /** The keys themselves, where they are not asked for. */
  jwks?: JSONWebKeySet;
  /**
   * Accepted signature algorithms; algorithms with which a public key could sign are refused.
   *
   * @default RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA
   */
  algorithms?: readonly string[];
  /**
   * The claim that names the person, as approvers are listed: `email`, which counts unless the issuer says that it isn't verified.
   * A token without it can't decide.
   */
  person: string;
  /** The claim that names the only user in whose name the token may act. A token without it is refused. */
  userId?: string;
  /** Rights of callers. */
  grants: GrantsByClaim | ((claims: JWTPayload) => readonly Grant[] | Promise<readonly Grant[]>);
}

export const ALGORITHMS: readonly string[] = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
];

export const ISSUER_FIELDS: readonly string[] = [
  'issuer',
  'audience',
  'jwksUri',
  'jwks',
  'algorithms',
  'person',
  'userId',
  'grants',
] satisfies (keyof TrustedIssuer)[];

/** Whether keys may be asked for there: nobody in between can give others. */
export function isSafeUrl(given: unknown): given is string {
  if (typeof given !== 'string' || !URL.canParse(given)) return false;
  const { protocol, hostname, username, password } = new URL(given);
  if (username !== '' || password !== '') return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackName(hostname));
}
