/** A kind of what the gateway has refused. */
export interface DeniedKind {
  /** Why: as the refusal's code says it, or `rate-limited`. */
  reason: string;
  /** The route's pattern, never the path. */
  route: string;
  /** Of the principal; absent for strangers. */
  who?: string;
  /** Of a stranger. */
  address?: string;
  permission?: string;
  /** Which a principal has named. */
  app?: string;
}

/** Refusals of one kind within a minute. */
export interface Denial extends DeniedKind {
  count: number;
  /** Milliseconds since the epoch. */
  firstAt: number;
  lastAt: number;
}

/** The audit of what the gateway refuses, kept for 30 days. */
export interface DenialStore {
  /** Adds to the rows of their minutes. Drops what is older than 30 days where `sweep` says so. */
  noteDenials(denials: readonly Denial[], options?: { sweep?: boolean }): Promise<void>;
  /** The latest first; 1,000 at most. */
  listDenials(list?: { since?: number; limit?: number }): Promise<Denial[]>;
}
