/** Pages for people who sign in. */
export interface InboxOptions {
  /**
   * Whether there is one.
   *
   * @default true
   */
  enabled?: boolean;
}

export const INBOX_OPTIONS: readonly string[] = ['enabled'] satisfies (keyof InboxOptions)[];
