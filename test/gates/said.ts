/** A decision that somebody has sent. */
export interface Said {
  callKey: string;
  requestId: string;
  confirmed: boolean;
  /** Who has signed it; absent for a plain one. */
  by?: string;
  /** Edited arguments. */
  args?: Record<string, unknown>;
  way: 'signal' | 'update' | 'client' | 'message';
  /** Status of the receipt, or the name of what was thrown. */
  answer?: string;
}
