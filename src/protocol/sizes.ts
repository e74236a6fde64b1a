/** Arguments and results up to this many bytes of JSON ride along in the history, where an operator reads them. */
export const INLINE_LIMIT = 4 * 1024;

/** No payload of a command exceeds this many bytes of JSON. */
export const PAYLOAD_LIMIT = 64 * 1024;

/**
 * The inline data of one workflow task never exceeds this many bytes in sum. It holds by arithmetic: what a task schedules
 * stood in one plan, which is a payload, plus some 200 bytes for each of at most 128 calls.
 */
export const WORKFLOW_TASK_LIMIT = 1024 * 1024;

/** Longest summary of an activity, in bytes of UTF-8: what the Temporal UI shows without cutting. */
export const SUMMARY_LIMIT = 200;
