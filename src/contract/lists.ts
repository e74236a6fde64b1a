/** Rows of one page of a list, at most. */
export const MOST_LISTED = 1_000;

/** How a job stands, in the order in which it comes to that. */
export const JOB_STATUSES = ['running', 'completed', 'failed', 'cancelled', 'timed_out'] as const;

/** How a request to a person stands: it waits, or has ended. */
export const REQUEST_STATUSES = [
  'pending',
  'approved',
  'rejected',
  'answered',
  'expired',
  'cancelled',
] as const;

/** What a request asks a person for. */
export const GATE_KINDS = ['confirmation', 'credential', 'input'] as const;

/** Why people are told of a request. */
export const NOTICE_CAUSES = ['opened', 'escalated', 'ended'] as const;

/** What a message does while its session answers another one. */
export const MESSAGE_POLICIES = ['enqueue', 'interrupt', 'reject'] as const;

/** What became of a message. */
export const RECEIPT_STATUSES = [
  'running',
  'queued',
  'finished',
  'rejected',
  'queue full',
  'duplicate',
] as const;
