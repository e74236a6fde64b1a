import type { ListCredentials, RemoveCredential, StoredCredential } from '../../contract/credentials.ts';

/** As it lies in the store. */
export interface SealedCredential extends StoredCredential {
  /** Which key sealed it. */
  keyId: string;
  /** Base64: nonce, ciphertext and tag. */
  sealed: string;
}

/** Secrets of users, each sealed by a key that the store doesn't have. */
export interface CredentialStore {
  /** Replaces the one of the same app, user and key. */
  put(credential: Omit<SealedCredential, 'createdAt'>): Promise<StoredCredential>;
  /**
   * As `putCredential`, where the user's credential of this key is still the one with the reference `before`; without `before`, where
   * there is none.
   *
   * @returns whether it is stored.
   */
  swap(swap: {
    credential: Omit<SealedCredential, 'createdAt'> & { createdAt?: number };
    before?: string | undefined;
  }): Promise<boolean>;
  find(
    find: { app: string; userId: string } & ({ credentialRef: string } | { credentialKey: string }),
  ): Promise<SealedCredential | undefined>;
  /** By user and key. */
  list(list: ListCredentials): Promise<StoredCredential[]>;
  /** Whether there was one. */
  remove(remove: RemoveCredential): Promise<boolean>;
}
