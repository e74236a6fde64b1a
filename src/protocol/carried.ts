/** What stands in the history for content that stays in the ledger. */
export interface Reference {
  /** Ledger key of the content: a call key, or a step's. */
  key: string;
  /** SHA-256 of the content's canonical JSON, base64url. */
  digest: string;
  /** Size of the content's JSON in bytes. */
  bytes: number;
  /** A short excerpt for the reader of the history; says only the size where the content is sensitive. */
  gist: string;
}

/** A value that crosses Temporal: itself while it is small, else a reference into the ledger. */
export type Carried<T = unknown> = { value: T } | { ref: Reference };
