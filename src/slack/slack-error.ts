import { codedError } from '../contract/error.ts';
/** Slack has refused a call, or could not be reached. What was said, and the token, aren't in its message. */
export class SlackFailed extends codedError('HOLDFAST_SLACK_FAILED') {
  /** Slack's word for it, as `channel_not_found`; undefined where Slack was not reached, or said none. */
  readonly error: string | undefined;
  /** Milliseconds until it may be tried again, where Slack has said so. */
  readonly retryAfter: number | undefined;
  readonly #isUnsent: boolean;

  /** @param options `isUnsent`: Slack has got nothing of it; false by default. */
  constructor(
    message: string,
    { error, retryAfter, isUnsent = false }: { error?: string; retryAfter?: number; isUnsent?: boolean } = {},
  ) {
    super(message);
    this.error = error;
    this.retryAfter = retryAfter;
    this.#isUnsent = isUnsent;
  }

  /** Whether Slack may have done what it was asked for: it has not said that it didn't. */
  get isInDoubt(): boolean {
    return !this.#isUnsent && (this.error === undefined || HALF_DONE.has(this.error));
  }

  /** Whether it is in vain to ask the same again. */
  get isFinal(): boolean {
    return this.error !== undefined && FINAL.has(this.error);
  }
}

/** Errors of Slack after which a part may have been done. */
const HALF_DONE = new Set(['fatal_error', 'internal_error']);
/** Words of Slack that only somebody who changes the message, the app or the configuration can take back. */
const FINAL = new Set([
  'account_inactive',
  'cant_update_message',
  'channel_not_found',
  'invalid_arguments',
  'invalid_auth',
  'invalid_blocks',
  'is_archived',
  'message_not_found',
  'missing_scope',
  'msg_blocks_too_long',
  'msg_too_long',
  'no_text',
  'not_authed',
  'not_in_channel',
  'token_expired',
  'token_revoked',
]);
