/** What a grant lets its owner do: see `Permission` of the gateway. */
export type GrantRole = 'run' | 'read' | 'approve' | 'operate';

/** What somebody may do through the gateway. */
export interface Grant {
  /** The app; `*` for all of them. */
  app: string;
  roles: readonly GrantRole[];
  /** Limits the grant to the sessions of this user. */
  user?: string;
}

/** An API key, without its secret. */
export interface ApiKeyRow {
  /** Stands in the key's text, and is no secret. */
  keyId: string;
  /** Who uses it: as whom its owner decides and sends. */
  name: string;
  /** The only user in whose name it may act. */
  userId?: string;
  grants: readonly Grant[];
  /** Milliseconds since the epoch, as all times here. */
  createdAt: number;
  expiresAt?: number;
  rotatedAt?: number;
  /** Until when the secret from before the rotation is good. */
  oldUntil?: number;
  revokedAt?: number;
  /** To a minute. */
  usedAt?: number;
}

export interface NewApiKey {
  keyId: string;
  name: string;
  userId?: string;
  grants: readonly Grant[];
  /** SHA-256 of the secret. */
  digest: Uint8Array;
  /** Milliseconds from now on; without it the key doesn't expire. */
  expiresIn?: number;
}

/** A key as the gateway checks it. */
export interface KnownApiKey extends ApiKeyRow {
  digest: Uint8Array;
  /** Good until `oldUntil`. */
  oldDigest?: Uint8Array;
}

/** Keys of who may use the gateway. */
export interface ApiKeyStore {
  /** @throws Unstorable where a name can't be stored. */
  createApiKey(key: NewApiKey): Promise<ApiKeyRow>;
  /** Those of these that there are, revoked and expired ones, too. */
  findApiKeys(keyIds: readonly string[]): Promise<KnownApiKey[]>;
  /** The newest first. */
  listApiKeys(): Promise<ApiKeyRow[]>;
  /**
   * Gives a key another secret.
   *
   * @param rotate.grace milliseconds for which the secret before stays good.
   * @returns undefined where there is no such key, or it is revoked.
   */
  rotateApiKey(rotate: { keyId: string; digest: Uint8Array; grace: number }): Promise<ApiKeyRow | undefined>;
  /** @returns undefined where there is no such key. Revoking again changes nothing. */
  revokeApiKey(keyId: string): Promise<ApiKeyRow | undefined>;
  /** Notes that a key was used, at most once a minute. */
  touchApiKey(keyId: string): Promise<void>;
}
