import { createHash, randomBytes } from 'node:crypto';

/** `hf_<id>_<secret>`: the id finds the key, 256 random bits are what only its owner knows. */
const KEY_TEXT = /^hf_([0-9a-f]{16})_([\w-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

export interface KeyParts {
  keyId: string;
  /** SHA-256 of the secret: a secret of 256 random bits needs no slow hash. */
  digest: Buffer;
}

/** The text of a new key, or of a key with a new secret; it can't be made again. */
export function newKeyText(
  keyId: string = randomBytes(ID_BYTES).toString('hex'),
): KeyParts & { text: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  return { keyId, digest: digestOf(secret), text: `hf_${keyId}_${secret}` };
}

/** Undefined for what is no key's text. */
export function readKeyText(text: string): KeyParts | undefined {
  const [, keyId, secret] = KEY_TEXT.exec(text) ?? [];
  if (keyId === undefined || secret === undefined) return undefined;
  return { keyId, digest: digestOf(secret) };
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
