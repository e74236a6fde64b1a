import type { SessionNames } from '../sessions/session-names.ts';

/** A thread, by its workspace, its channel and its first message. */
export interface StoredThread {
  team: string;
  channel: string;
  ts: string;
}

/** What the gateway keeps of Slack. */
export interface SlackStore {
  /**
   * Something that Slack has sent is to count once. It is remembered for a day. Repeating it changes nothing.
   *
   * @param heard `holder`: random, of this one attempt.
   * @returns false where another attempt has heard of it.
   */
  hearSlack(heard: { id: string; holder: string }): Promise<boolean>;
  /** A thread is a session from now on. */
  keepThread(thread: StoredThread, names: SessionNames): Promise<void>;
  /** Undefined for a thread that is no session. */
  findThread(thread: StoredThread): Promise<SessionNames | undefined>;
}
