import { codedError } from '../../contract/error.ts';

const DEFAULT_RETRY_AFTER = 10_000;
const LONGEST_RETRY_AFTER = 86_400_000;

/**
 * Thrown by `verify` and `secrets` of a source that can't say now whether a webhook is genuine: the vault that has the secrets is away, or
 * whoever publishes the keys. The sender gets a 503 with `Retry-After` and tells it again, where it takes a 401 as final.
 */
export class WebhookNotReady extends codedError('HOLDFAST_WEBHOOK_NOT_READY') {
  /** Milliseconds. */
  readonly retryAfter: number;

  /**
   * @param message for the gateway's log alone: no secrets.
   * @param options `retryAfter`: milliseconds until the sender may try again, from a second to a day; 10 seconds by default.
   * @example throw new WebhookNotReady('the vault is away', { cause: error });
   */
  constructor(message: string, options: { retryAfter?: number } & ErrorOptions = {}) {
    super(message, options);
    const { retryAfter = DEFAULT_RETRY_AFTER } = options;
    const time = Number.isNaN(retryAfter) ? DEFAULT_RETRY_AFTER : retryAfter;
    this.retryAfter = Math.min(Math.max(time, 1_000), LONGEST_RETRY_AFTER);
  }
}
