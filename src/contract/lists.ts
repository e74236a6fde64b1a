/** Rows of one page of a list, at most. */
export const MOST_LISTED = 1_000;

/** Rows of one page of a list, where nobody asks for another number. */
export const DEFAULT_LISTED = 100;

/** Permissions that a route needs, and that a grant gives its owner. */
export const PERMISSIONS = ['run', 'read', 'approve', 'operate'] as const;
/**
 * Permissions of a route: `read` sees sessions, events and turns; `run` makes sessions and sends messages; `operate`
 * interrupts, cancels, forks, rewinds, retries and deletes; `approve` decides requests to people.
 */
export type Permission = (typeof PERMISSIONS)[number];

/** How a job can end. */
export const JOB_ENDS = ['completed', 'failed', 'cancelled', 'timed_out'] as const;

/** How a job stands: it runs, or has ended. */
export const JOB_STATUSES = ['running', ...JOB_ENDS] as const;

/** Jobs that a list has where nobody asks for others. */
export const DEFAULT_JOB_STATUS = 'running' satisfies (typeof JOB_STATUSES)[number];

/** How a running job is waited for, in the order in which it comes to that. */
export const JOB_MODES = ['started', 'parked', 'detached'] as const;

/** The party that has ended a job. `turn`: the call that waited for it was cut off, alone or with its turn. */
export const JOB_ENDERS = ['tool', 'callback', 'message', 'poll', 'operator', 'timeout', 'turn'] as const;

/** How a person's answer can end a request. */
export const REQUEST_ANSWERS = ['approved', 'rejected', 'answered'] as const;

/** How a request to a person can end. */
export const REQUEST_ENDS = [...REQUEST_ANSWERS, 'expired', 'cancelled'] as const;

/** How a request to a person stands: it waits, or has ended. */
export const REQUEST_STATUSES = ['pending', ...REQUEST_ENDS] as const;

/** Requests that a list has where nobody asks for others. */
export const DEFAULT_REQUEST_STATUS = 'pending' satisfies (typeof REQUEST_STATUSES)[number];

/** Events of a request. */
export const REQUEST_EVENTS = [...REQUEST_ENDS, 'voted', 'withdrawn', 'refused', 'escalated'] as const;

/** Events of a session and of its requests in an audit. */
export const AUDITED_EVENTS = [
  ...(['created', 'forked', 'rewound', 'retried', 'deleted', 'requested'] as const),
  ...REQUEST_EVENTS,
] as const;

/** Effects of a request's expiry. */
export const EXPIRY_RULES = ['reject', 'approve', 'escalate'] as const;

/** Kinds of requests to a person. */
export const GATE_KINDS = ['confirmation', 'credential', 'input'] as const;

/** Why people are told of a request. */
export const NOTICE_CAUSES = ['opened', 'escalated', 'ended'] as const;

/** Effects of a message on a session that answers another one. */
export const MESSAGE_POLICIES = ['enqueue', 'interrupt', 'reject'] as const;

/** Waits that are shown of one child, and of all children together, at most. */
export const MOST_WAITS = 16;

/** Questions of one call that its activity may hold open. */
export const MOST_HELD = 20;

/** Outcomes of a message. */
export const RECEIPT_STATUSES = [
  'running',
  'queued',
  'finished',
  'rejected',
  'queue full',
  'duplicate',
] as const;
