import { codedError, HoldfastError, type HoldfastErrorOptions } from '../contract/error.ts';

/** A failure of the store. */
export class StoreError extends HoldfastError {}

/** A late attempt of an older step or turn tried to write. Its work since it was replaced doesn't count. */
export class Fenced extends codedError('HOLDFAST_FENCED', StoreError) {}

/** The store lacks what a turn has already written: it was restored from an older backup, or the session deleted. */
export class StoreBehindHistory extends codedError('HOLDFAST_STORE_BEHIND_HISTORY', StoreError) {}

/** The database can't be reached or can't serve now. Names its host and database, never a password. */
export class StoreUnavailable extends codedError('HOLDFAST_STORE_UNAVAILABLE', StoreError) {
  /** This process has closed the store, so that waiting for it is in vain. */
  readonly closed: boolean;

  constructor(message: string, options?: HoldfastErrorOptions & { closed?: boolean }) {
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
export function attemptReplaced(callKey: string): StoreError {
  return new StoreError('HOLDFAST_ATTEMPT_REPLACED', `the call ${callKey} has gone on without this attempt`);
}

/** The database answered with an error that nothing of the store's explains: damaged data, a missing right or table. */
export class StoreFailed extends codedError('HOLDFAST_STORE_FAILED', StoreError) {}

/** A message id was used before, with other content: one message id is one turn, for ever. */
export class MessageConflict extends codedError('HOLDFAST_MESSAGE_CONFLICT', StoreError) {}

/** A session that an agent's tool has made takes no messages, and is kept and deleted with the one above it. */
export class NotARootSession extends codedError('HOLDFAST_NOT_A_ROOT_SESSION', StoreError) {}

/** Bytes of an artifact were collected before its version was recorded: the call that saved it took longer than a week. */
export class ArtifactCollected extends codedError('HOLDFAST_ARTIFACT_COLLECTED', StoreError) {}

/** A value that the database can't hold: nested too deeply, too large, or a name with characters it lacks. */
export class Unstorable extends codedError('HOLDFAST_UNSTORABLE', StoreError) {}

/** `openStore` was given an address that isn't a usable `postgres://` URL. */
export class InvalidStoreUrl extends codedError('HOLDFAST_INVALID_STORE_URL', StoreError) {}

/** Another process, or another store of this one, has the embedded store open. */
export class StoreInUse extends codedError('HOLDFAST_STORE_IN_USE', StoreError) {}

/** A session of this name is there already. */
export class SessionExists extends codedError('HOLDFAST_SESSION_EXISTS', StoreError) {}

/** There is no session of this name. */
export class SessionNotFound extends codedError('HOLDFAST_SESSION_NOT_FOUND', StoreError) {}

/** Other sessions were forked from this one and read its events. */
export class SessionHasForks extends codedError('HOLDFAST_SESSION_HAS_FORKS', StoreError) {}

/** The session has no such event, invocation or call. */
export class NoSuchPlace extends codedError('HOLDFAST_NO_SUCH_PLACE', StoreError) {}
