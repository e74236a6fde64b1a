import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { SealedCredential } from '../store/credentials/credential-store.ts';
import { CredentialUnreadable } from './credential-errors.ts';
import type { CredentialKey, CredentialKeys } from './credential-keys.ts';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Owner of a credential, which can't be opened under another owner. */
export type CredentialPlace = Pick<SealedCredential, 'app' | 'userId' | 'credentialKey' | 'credentialRef'>;

type Sealed = CredentialPlace & Pick<SealedCredential, 'keyId' | 'sealed'>;

/** @returns base64 of nonce, ciphertext and tag. */
export function seal(content: object, place: CredentialPlace, { bytes }: CredentialKey): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, bytes, nonce, { authTagLength: TAG_BYTES }).setAAD(aadOf(place));
  const sealed = [cipher.update(JSON.stringify(content), 'utf8'), cipher.final()];
  return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64');
}

/** @throws CredentialUnreadable where its key isn't there, and where it was changed or moved. */
export function unseal(stored: Sealed, keys: CredentialKeys): unknown {
  const key = keys.find(stored.keyId);
  if (key === undefined) {
    throw new CredentialUnreadable(
      `the credential ${stored.credentialRef} was encrypted with the key ${JSON.stringify(stored.keyId)}, which isn't among ` +
        'those of HOLDFAST_CREDENTIAL_KEYS here: add it behind the first one, or store the credential again',
    );
  }
  const bytes = Buffer.from(stored.sealed, 'base64');
  try {
    const decipher = createDecipheriv(CIPHER, key.bytes, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    });
    decipher.setAAD(aadOf(stored)).setAuthTag(bytes.subarray(-TAG_BYTES));
    const open = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()];
    return JSON.parse(Buffer.concat(open).toString('utf8'));
  } catch {
    // The reason of the failure could reveal the content.
    throw new CredentialUnreadable(
      `the credential ${stored.credentialRef} can't be decrypted with the key ${JSON.stringify(stored.keyId)}: it was changed ` +
        'or moved in the store, or another key has this id here; store the credential again',
    );
  }
}

/** Content that a browser, a server or a link keeps for a while: no one can read or change it. @param use nothing of one use opens by another. */
export function sealText(keys: CredentialKeys, use: string, content: object): string {
  const key = keys.sealing();
  return `${key.id}.${Buffer.from(seal(content, placeOf(use), key), 'base64').toString('base64url')}`;
}

/** Undefined for a text that was not sealed here for this use. */
export function openText<Content>(keys: CredentialKeys, use: string, text: string): Content | undefined {
  const [, keyId, sealed] = /^([\w.-]{1,64})\.([\w-]{40,8000})$/.exec(text) ?? [];
  if (keyId === undefined || sealed === undefined) return undefined;
  return readable(() => unseal({ ...placeOf(use), keyId, sealed }, keys) as Content);
}

/** Undefined for what no key of this process opens. */
export function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof CredentialUnreadable) return undefined;
    throw error;
  }
}

/** No credential has such a place. */
function placeOf(use: string): CredentialPlace {
  return { app: '', userId: '', credentialKey: use, credentialRef: '' };
}

function aadOf({ app, userId, credentialKey, credentialRef }: CredentialPlace): Buffer {
  return Buffer.from(JSON.stringify(['holdfast.credential', app, userId, credentialKey, credentialRef]));
}
