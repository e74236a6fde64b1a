/** How a link was used before. */
export interface UsedLink {
  /** Milliseconds since the epoch. */
  at: number;
  /** What was said by it; undefined while it is being said. */
  outcome?: string;
}

/** Somebody who has signed in with a browser. */
export interface SignIn {
  /** SHA-256 of what the browser keeps, in hexadecimal. */
  token: string;
  /** Of the API key that they have shown. */
  keyId: string;
  /** SHA-256 of the secret that they have shown: with it their sign-in ends, once the key has another one. */
  keyDigest: Uint8Array;
  /** Milliseconds since the epoch. */
  since: number;
}

/** What pages for people need to know beside requests and jobs. */
export interface PageStore {
  /**
   * Takes a link to decide by it: one holder has it, and others may only once it was given back, or its holder has said nothing for two
   * minutes. Repeating it changes nothing.
   *
   * @param take `holder`: random, of this one attempt.
   * @returns undefined where the holder may decide.
   */
  takeLink(take: { id: string; requestId: string; holder: string }): Promise<UsedLink | undefined>;
  /** What its holder has said by it: it is used up. */
  useLink(use: { id: string; holder: string; outcome: string }): Promise<void>;
  /** It was no decision: the link may be used again. */
  giveLinkBack(give: { id: string; holder: string }): Promise<void>;
  /** Undefined for one that is unused. */
  findUsedLink(id: string): Promise<UsedLink | undefined>;

  /**
   * Of a key, the newest 20 stay: older ones end.
   *
   * @param signIn `tokenHash`: SHA-256 of what the browser keeps.
   */
  openSignIn(signIn: { tokenHash: Uint8Array; keyId: string; keyDigest: Uint8Array }): Promise<void>;
  /**
   * Those that there are: one ends 12 hours after it began, and after an hour without a request. Counts as a request of each.
   *
   * @param tokenHashes at most 1,000.
   */
  findSignIns(tokenHashes: readonly Uint8Array[]): Promise<SignIn[]>;
  endSignIn(tokenHash: Uint8Array): Promise<void>;
}
