import { codedError, type HoldfastErrorOptions } from '../contract/error.ts';

const KEY_MISSING =
  'credentials are kept encrypted, and this process has no key for them: set HOLDFAST_CREDENTIAL_KEYS, or the option ' +
  '`credentialKeys`';

/** A credential is to be kept or read, and this process has no keys for that. */
export class CredentialKeyMissing extends codedError('HOLDFAST_CREDENTIAL_KEY_MISSING') {
  constructor(message = KEY_MISSING, options?: HoldfastErrorOptions) {
    super(message, options);
  }
}

/** A stored credential can't be decrypted: its key isn't there, or it was changed or moved. */
export class CredentialUnreadable extends codedError('HOLDFAST_CREDENTIAL_UNREADABLE') {}

/** The value is no supported credential. The error names the field, never its value. */
export class InvalidCredential extends codedError('HOLDFAST_INVALID_CREDENTIAL') {
  /** Where in the credential, as `http.credentials.token`: what the message begins with. */
  get field(): string {
    return this.message.slice(0, Math.max(this.message.indexOf(': '), 0));
  }
}

/** Keys for credentials are not of the expected form. Never quotes them. */
export class InvalidCredentialKeys extends codedError('HOLDFAST_INVALID_CREDENTIAL_KEYS') {}

/** @param field where in the credential, as `http.credentials.token`. */
export function invalidCredential(field: string, problem: string): InvalidCredential {
  return new InvalidCredential(`${field}: ${problem}`);
}
