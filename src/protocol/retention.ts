/** Place of a session among those of its app, in the order in which they were made. */
export interface SessionPlace {
  /** The store's internal id. */
  session: string;
  /** Milliseconds since the epoch, with a fraction: PostgreSQL's microseconds. */
  createdAt: number;
}

export interface ExpiredSessions {
  v: number;
  deleted: number;
  /** There may be others, after `after`. */
  more: boolean;
  after?: SessionPlace;
}

/** Id of the schedule that keeps an app's retention, and the beginning of its workflows' ids. */
export function retentionId(app: string): string {
  return `holdfast-retention/${encodeURIComponent(app)}`;
}
