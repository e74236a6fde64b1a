import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose';
import type { Grant } from '../../contract/keys.ts';
import { isRecord } from '../../protocol/json.ts';
import { isName, isPersonName } from '../../schema/person-name.ts';
import type { Principal, Refusal } from './access.ts';
import { checkIssuer } from './check-access.ts';
import { grantedPrincipal } from './granted-principal.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { TokenCheck } from './network-access.ts';
import { ALGORITHMS, type GrantsByClaim, type TrustedIssuer } from './trusted-issuer.ts';

const LONGEST_TOKEN = 16_384;
/** Seconds that clocks may differ. */
const CLOCK_TOLERANCE = 60;
/** Of tokens that say who somebody is; others, of jobs and decisions, are for something else. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt', 'application/at+jwt'];

interface Issuer extends TrustedIssuer {
  keys: IssuerKeys;
}

/**
 * Takes tokens of these issuers, each for what its keys sign. A token's header can only name one of their keys.
 *
 * @throws DefinitionError naming what of an issuer is wrong: an algorithm that a public key could sign with, `none`, a key that is
 *   secret, an address without https.
 */
export function jwtCheck(issuers: readonly TrustedIssuer[]): TokenCheck {
  for (const [index, issuer] of issuers.entries()) checkIssuer('jwtCheck', issuer, `issuers[${index}]`);
  const known: readonly Issuer[] = issuers.map((issuer) => ({ ...issuer, keys: new IssuerKeys(issuer) }));
  return {
    check(token) {
      const named = issuerIn(token);
      const issuer = known.find((each) => each.issuer === named);
      return issuer === undefined ? undefined : verified(token, issuer);
    },
  };
}

/** Undefined for what is no token that could say who somebody is. */
function issuerIn(token: string): string | undefined {
  if (token.length > LONGEST_TOKEN) return undefined;
  try {
    const { typ } = decodeProtectedHeader(token);
    return TYPES.includes(typ?.toLowerCase()) ? decodeJwt(token).iss : undefined;
  } catch {
    // The content may be secret: the error doesn't quote it.
    return undefined;
  }
}

async function verified(token: string, issuer: Issuer): Promise<Principal | Refusal> {
  const claims = await claimsOf(token, issuer);
  if (claims?.sub === undefined || !isName(claims.sub)) return 'unauthenticated';
  const userId = issuer.userId === undefined ? undefined : claimAt(claims, issuer.userId);
  if (issuer.userId !== undefined && !isName(userId)) return 'forbidden';
  const person = personOf(claims, issuer);
  return grantedPrincipal({
    name: `jwt:${issuer.issuer} ${claims.sub}`,
    ...(person === undefined ? {} : { person }),
    ...(isName(userId) ? { userId } : {}),
    grants: await grantsOf(claims, issuer),
  });
}

/** @throws IssuerUnreachable */
async function claimsOf(token: string, issuer: Issuer): Promise<JWTPayload | undefined> {
  const { audience, algorithms = ALGORITHMS } = issuer;
  const options = {
    issuer: issuer.issuer,
    audience: [audience].flat(),
    algorithms: [...algorithms],
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ['exp', 'sub'],
  };
  const keys = await issuer.keys.get();
  try {
    return (await jwtVerify(token, keys, options)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) {
      // The token names no key: any one of several may have signed it.
      for await (const key of error) {
        const payload = await jwtVerify(token, key, options).then((each) => each.payload, orThrow);
        if (payload !== undefined) return payload;
      }
      return undefined;
    }
    return orThrow(error);
  }
}

/** A token's problem stays in the check. The operator learns of other problems. */
function orThrow(error: unknown): undefined {
  if (error instanceof errors.JOSEError) return undefined;
  throw error;
}

function personOf(claims: JWTPayload, { person }: TrustedIssuer): string | undefined {
  const name = claimAt(claims, person);
  const isDoubtful = person === 'email' && (claims.email_verified ?? true) !== true;
  return isPersonName(name) && !isDoubtful ? name : undefined;
}

async function grantsOf(claims: JWTPayload, { grants }: TrustedIssuer): Promise<readonly Grant[]> {
  return typeof grants === 'function' ? await grants(claims) : grantsByClaim(claims, grants);
}

function grantsByClaim(
  claims: JWTPayload,
  { claim, values, everybody = [] }: GrantsByClaim,
): readonly Grant[] {
  const said = claimAt(claims, claim);
  const words: unknown[] = typeof said === 'string' ? said.split(' ') : Array.isArray(said) ? said : [];
  const granted = words.flatMap((word) =>
    typeof word === 'string' && Object.hasOwn(values, word) ? (values[word] ?? []) : [],
  );
  return [...everybody, ...granted];
}

/** Of that name; else by the path that it is. */
function claimAt(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name
    .split('.')
    .reduce<unknown>(
      (value, part) => (isRecord(value) && Object.hasOwn(value, part) ? value[part] : undefined),
      claims,
    );
}
