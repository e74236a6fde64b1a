import type { ListCredentials, RemoveCredential, StoredCredential } from '../../contract/credentials.ts';

/** As it lies in the store. */
export interface SealedCredential extends StoredCredential {
  /** Which key sealed it. */
  keyId: string;
  /** Base64: nonce, ciphertext and tag. */
  sealed: string;
  /** Milliseconds until it expires, by the store's clock; absent for one that doesn't. A new one may have it in place of `expiresAt`. */
  expiresIn?: number;
}

/** As it comes into the store; without `createdAt` it is of now. */
export type NewCredential = Omit<SealedCredential, 'createdAt'> & { createdAt?: number };

/** Owner and name of a credential. */
export type WhichCredential =
  | { app: string; userId: string; credentialRef: string }
  | { app: string; userId: string; credentialKey: string }
  /** A session names its user for a caller that doesn't know them yet. */
  | { session: string; credentialKey: string };

/** `authType` of what workers keep of an app's providers: no user's credential, and in no list. */
export const PROVIDER = 'provider';

/** Secrets of users, each sealed by a key that the store doesn't have. */
export interface CredentialStore {
  /** Replaces the one of the same app, user and key. */
  put(credential: NewCredential): Promise<StoredCredential>;
  find(find: WhichCredential): Promise<SealedCredential | undefined>;
  /** By user and key. */
  list(list: ListCredentials): Promise<StoredCredential[]>;
  /** Whether there was one. */
  remove(remove: RemoveCredential): Promise<boolean>;
  /**
   * Takes a credential to refresh it: others may not until it is renewed, given back, or so many milliseconds are over.
   *
   * @returns whether the holder has it; false for one that has changed since.
   */
  lease(credential: SealedCredential, holder: string, milliseconds: number): Promise<boolean>;
  /**
   * Gives a credential other content, or another seal, and ends its lease. The reference stays.
   *
   * @param replace.before how it was sealed.
   * @param replace.holder of the lease under which it is done. Defaults to none: nobody may have one.
   * @returns false for one that has changed since, or that another holder leases: nothing is replaced.
   */
  replace(replace: { credential: NewCredential; before: string; holder?: string }): Promise<boolean>;
  /** An app's credentials that another key has sealed, at most 100. */
  sealedOtherwise(app: string, keyId: string): Promise<SealedCredential[]>;
}
