/** A credential is to be kept or read, and this process has no keys for that. */
export class CredentialKeyMissing extends Error {
  readonly code = 'HOLDFAST_CREDENTIAL_KEY_MISSING';
  override readonly name = 'CredentialKeyMissing';

  constructor() {
    super(
      'credentials are kept encrypted, and this process has no key for them: set HOLDFAST_CREDENTIAL_KEYS, or the option ' +
        '`credentialKeys`',
    );
  }
}

/** A stored credential can't be decrypted: its key isn't there, or it was changed or moved. */
export class CredentialUnreadable extends Error {
  readonly code = 'HOLDFAST_CREDENTIAL_UNREADABLE';
  override readonly name = 'CredentialUnreadable';
}

/** What was given is no credential that is supported. Names the field, never its value. */
export class InvalidCredential extends TypeError {
  readonly code = 'HOLDFAST_INVALID_CREDENTIAL';
  override readonly name = 'InvalidCredential';
  /** `http.credentials.token`. */
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field}: ${problem}`);
    this.field = field;
  }
}

/** Keys for credentials are not of the expected form. Never quotes them. */
export class InvalidCredentialKeys extends TypeError {
  readonly code = 'HOLDFAST_INVALID_CREDENTIAL_KEYS';
  override readonly name = 'InvalidCredentialKeys';
}
