/** Argument of the workflow `retainSessions` and of its activity: how old is too old, the app's own settings say. */
export interface RetainSessions {
  v: number;
  app: string;
}

export interface ExpiredSessions {
  v: number;
  deleted: number;
  /** There may be others; false also where none of those found could be deleted. */
  more: boolean;
}

/** Id of the schedule that keeps an app's retention, and the beginning of its workflows' ids. */
export function retentionId(app: string): string {
  return `holdfast-retention/${encodeURIComponent(app)}`;
}
