import type { ApiKeyRow, Denial, Grant, ListDenials } from '../../contract/keys.ts';

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

/** How a link was used before. */
export interface UsedLink {
  /** Milliseconds since the epoch. */
  at: number;
  /** The statement made with it; undefined while it is being made. */
  outcome?: string;
}

/** Somebody whom an issuer knows, as its claims were when they signed in. */
export interface IssuerPerson extends Pick<ApiKeyRow, 'name' | 'userId' | 'grants'> {
  issuer: string;
  person: string;
}

/** `keyDigest`: SHA-256 of the secret that was shown. The sign-in ends with it, once the key has another one. */
export type SignInOwner = { keyId: string; keyDigest: Uint8Array } | { ofIssuer: IssuerPerson };

/** Somebody who has signed in with a browser. */
export type SignIn = SignInOwner & {
  /** SHA-256 of what the browser keeps, in hexadecimal. */
  token: string;
  /** Milliseconds since the epoch. */
  since: number;
};

/** Access to the gateway: API keys, links and sign-ins of pages, and refusals. */
export interface KeyStore {
  /** @throws Unstorable where a name can't be stored. */
  create(key: NewApiKey): Promise<ApiKeyRow>;
  /** Those of these that there are, revoked and expired ones, too. */
  find(keyIds: readonly string[]): Promise<KnownApiKey[]>;
  /** The newest first. */
  list(): Promise<ApiKeyRow[]>;
  /**
   * Gives a key another secret.
   *
   * @param rotate.grace milliseconds for which the secret before stays good.
   * @returns undefined where there is no such key, or it is revoked.
   */
  rotate(rotate: { keyId: string; digest: Uint8Array; grace: number }): Promise<ApiKeyRow | undefined>;
  /** @returns undefined where there is no such key. Revoking again changes nothing. */
  revoke(keyId: string): Promise<ApiKeyRow | undefined>;
  /** Notes that a key was used, at most once a minute. */
  touch(keyId: string): Promise<void>;
  /**
   * Takes a link to decide by it: one holder has it, and others may only once it was given back, or its holder has said nothing for two
   * minutes. Repeating it changes nothing.
   *
   * @param take `holder`: random, of this one attempt.
   * @returns undefined where the holder may decide.
   */
  takeLink(take: { id: string; requestId: string; holder: string }): Promise<UsedLink | undefined>;
  /** The statement that its holder has made with it: it is used up. */
  useLink(use: { id: string; holder: string; outcome: string }): Promise<void>;
  /** It was no decision: the link may be used again. */
  releaseLink(give: { id: string; holder: string }): Promise<void>;
  /** Undefined for one that is unused. */
  findUsedLink(id: string): Promise<UsedLink | undefined>;
  /**
   * The newest 20 of a key or a person stay: older ones end.
   *
   * @param signIn `tokenHash`: SHA-256 of what the browser keeps.
   */
  openSignIn(signIn: SignInOwner & { tokenHash: Uint8Array }): Promise<void>;
  /**
   * Those that there are: one ends 12 hours after it began, and after an hour without a request. Counts as a request of each.
   *
   * @param tokenHashes at most 1,000.
   */
  findSignIns(tokenHashes: readonly Uint8Array[]): Promise<SignIn[]>;
  endSignIn(tokenHash: Uint8Array): Promise<void>;
  /** Adds to the rows of their minutes. Drops what is older than 30 days where `sweep` says so. */
  noteDenials(denials: readonly Denial[], options?: { sweep?: boolean }): Promise<void>;
  /** The latest first; 1,000 at most. */
  listDenials(list?: ListDenials): Promise<Denial[]>;
}
