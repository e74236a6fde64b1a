/** Milliseconds for which a notice is tried at most. No notifier and no starter can exceed it. */
export const LONGEST_NOTICE_TIME = 30 * 86_400_000;
/** A model's answer has at most 128 calls, each of which may ask several times. */
export const MOST_NOTICE_REQUESTS = 1_000;
