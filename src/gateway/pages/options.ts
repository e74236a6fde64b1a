/** Pages for people who sign in. */
export interface InboxOptions {
  /**
   * Whether there is one.
   *
   * @default true
   */
  enabled?: boolean;
}
