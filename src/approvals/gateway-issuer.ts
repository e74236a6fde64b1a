import { createPrivateKey, hkdfSync } from 'node:crypto';
import type { CredentialKey, CredentialKeys } from '../credentials/credential-keys.ts';
import { type Issuer, type PrivateJwk, publicHalf } from './issuer.ts';

/** As attestations of gateways name their issuer. */
export const GATEWAY_ISSUER = 'holdfast:gateway';

/** Other keys are derived from the keys that encrypt credentials, so that one use tells nothing of the other. */
const USE = 'holdfast gateway attestations';
const KEY_ID_PREFIX = 'gateway-';
const SEED_BYTES = 32;
/** PKCS #8 of an Ed25519 key, up to its seed (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * The key that a gateway signs with who decides and who sends: made of the credential key that encrypts, so that workers, which
 * have it as well, know the gateway without being told.
 */
export function gatewayKey(keys: CredentialKeys): PrivateJwk {
  return keyOf(keys.sealing());
}

/**
 * The issuer that an attestation may be by without any app listing it: the gateway of these keys.
 *
 * @param jws a compact JWS, of which only the header is read.
 * @returns undefined where it names no key of theirs.
 */
export function gatewayIssuer(keys: CredentialKeys | undefined, jws: string): Issuer | undefined {
  const kid = keyIdIn(jws);
  if (kid === undefined || !kid.startsWith(KEY_ID_PREFIX)) return undefined;
  const key = keys?.find(kid.slice(KEY_ID_PREFIX.length));
  return key && { issuer: GATEWAY_ISSUER, key: { ...publicHalf(keyOf(key)), alg: 'EdDSA' } };
}

function keyOf({ id, bytes }: CredentialKey): PrivateJwk {
  const seed = Buffer.from(hkdfSync('sha256', bytes, '', USE, SEED_BYTES));
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
  const { kty = '', crv = '', x = '', d = '' } = key.export({ format: 'jwk' });
  return { kty, crv, x, d, kid: `${KEY_ID_PREFIX}${id}` };
}

function keyIdIn(jws: string): string | undefined {
  const [header = ''] = jws.split('.', 1);
  try {
    const { kid }: { kid?: unknown } = JSON.parse(Buffer.from(header, 'base64url').toString()) ?? {};
    return typeof kid === 'string' ? kid : undefined;
  } catch {
    // The check of the attestation says what is wrong with it.
    return undefined;
  }
}
