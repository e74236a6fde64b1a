/** A failure of the store. Its `code` never changes; `retryable` says whether the same call may succeed later. */
export abstract class StoreError extends Error {
  abstract readonly code: string;
  abstract readonly retryable: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A late attempt of an older step or turn tried to write. What it did since it was replaced doesn't count. */
export class Fenced extends StoreError {
  readonly code = 'HOLDFAST_FENCED';
  readonly retryable = false;
}

/** The store lacks what a turn has already written: it was restored from an older backup, or the session deleted. */
export class StoreBehindHistory extends StoreError {
  readonly code = 'HOLDFAST_STORE_BEHIND_HISTORY';
  readonly retryable = true;
}

/** The database can't be reached or can't serve now. Names its host and database, never a password. */
export class StoreUnavailable extends StoreError {
  readonly code = 'HOLDFAST_STORE_UNAVAILABLE';
  readonly retryable = true;
  /** This process has closed the store, so that waiting for it is in vain. */
  readonly closed: boolean;

  constructor(message: string, options?: ErrorOptions & { closed?: boolean }) {
    super(message, options);
    this.closed = options?.closed ?? false;
  }
}

/** Whether the store can't be reached now, and the same call may succeed later: one that was closed never comes back. */
export function isStoreAway(error: unknown): error is StoreUnavailable {
  return error instanceof StoreUnavailable && !error.closed;
}

/**
 * Another attempt of the call has begun, or the call has its outcome: this attempt stood still for longer than its heartbeat timeout, and
 * what it does counts no more.
 */
export class AttemptReplaced extends StoreError {
  readonly code = 'HOLDFAST_ATTEMPT_REPLACED';
  readonly retryable = true;

  constructor(callKey: string) {
    super(`the call ${callKey} has gone on without this attempt`);
  }
}

/** The database answered with an error that nothing of the store's explains: damaged data, a missing right or table. */
export class StoreFailed extends StoreError {
  readonly code = 'HOLDFAST_STORE_FAILED';
  readonly retryable = true;
}

/** A message id was used before, with other content: one message id is one turn, for ever. */
export class MessageConflict extends StoreError {
  readonly code = 'HOLDFAST_MESSAGE_CONFLICT';
  readonly retryable = false;
}

/** A session that an agent's tool has made takes no messages, and is kept and deleted with the one above it. */
export class NotARootSession extends StoreError {
  readonly code = 'HOLDFAST_NOT_A_ROOT_SESSION';
  readonly retryable = false;
}

/** A value that the database can't hold: nested too deeply, too large, or a name with characters it lacks. */
export class Unstorable extends StoreError {
  readonly code = 'HOLDFAST_UNSTORABLE';
  readonly retryable = false;
}

/** `openStore` was given an address that isn't a usable `postgres://` URL. */
export class InvalidStoreUrl extends StoreError {
  readonly code = 'HOLDFAST_INVALID_STORE_URL';
  readonly retryable = false;
}

/** The database's tables were made by a version of Holdfast that was never released. */
export class StoreSchemaMismatch extends StoreError {
  readonly code = 'HOLDFAST_STORE_SCHEMA_MISMATCH';
  readonly retryable = false;
}

/** Another process, or another store of this one, has the embedded store open. */
export class StoreInUse extends StoreError {
  readonly code = 'HOLDFAST_STORE_IN_USE';
  readonly retryable = false;
}

/** A session of this name is there already. */
export class SessionExists extends StoreError {
  readonly code = 'HOLDFAST_SESSION_EXISTS';
  readonly retryable = false;
}

/** There is no session of this name. */
export class SessionNotFound extends StoreError {
  readonly code = 'HOLDFAST_SESSION_NOT_FOUND';
  readonly retryable = false;
}

/** Other sessions were forked from this one and read its events. */
export class SessionHasForks extends StoreError {
  readonly code = 'HOLDFAST_SESSION_HAS_FORKS';
  readonly retryable = false;
}

/** The session has no such event, invocation or call. */
export class NoSuchPlace extends StoreError {
  readonly code = 'HOLDFAST_NO_SUCH_PLACE';
  readonly retryable = false;
}

/** There is no such job: it was never begun, or its session was deleted. */
export class UnknownJob extends StoreError {
  readonly code = 'HOLDFAST_UNKNOWN_JOB';
  readonly retryable = false;
}
