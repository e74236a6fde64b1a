import { LONGEST_NOTE } from '../contract/jobs.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { JobInit } from './invocation-context.ts';
import { ToolError } from './tool-error.ts';

/** Milliseconds between polls that a service may ask for. */
const POLL_AFTER = { least: 500, most: 3_600_000 };

/** The job of the running call: data with which a service tells its outcome later. Name: the async tools of kadirpekel/hector. */
export interface ContextJob {
  /** Opaque; the same in every attempt of the call, and in no other call. */
  readonly id: string;
  /**
   * Where `POST …/complete`, `…/fail` and `…/progress` are answered: `<gateway>/v1/jobs/<id>`.
   *
   * @throws ToolError (not retryable) where the worker has no address of the gateway: option `publicUrl`, `HOLDFAST_PUBLIC_URL`.
   */
  readonly callbackUrl: string;
  /**
   * Bearer token, good for this job only, until a week after its deadline.
   *
   * @throws ToolError (not retryable) where there is no key to sign it with: `HOLDFAST_CREDENTIAL_KEYS`.
   */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** For a job in process: the last details that an earlier attempt gave to `heartbeat`. */
  readonly details: unknown;
  /**
   * Milliseconds until the next poll, in place of the tool's `pollInterval`: for a poll that its service has told so. From half a second
   * to an hour; others are brought within that.
   *
   * @default undefined: the `pollInterval`
   */
  pollAfter: number | undefined;
  /**
   * Tells people how far the job has got: in the Temporal UI, in the turn's status, to followers.
   *
   * @param value from 0 to 1.
   * @param message up to 500 characters, no secrets.
   */
  progress(value: number, message?: string): Promise<void>;
}

/** A tool that can have no job was asked for one, or said that it has one. */
export class NoJobError extends ToolError {
  override readonly name = 'NoJobError';

  constructor(member: string) {
    super(
      `context.${member}: a call that runs inline has no job that could go on; use execution: 'activity'`,
      {
        code: 'HOLDFAST_NO_JOB',
        retryable: false,
      },
    );
  }
}

/** The job of a running call, as its tool sees it. */
export class CallJob implements ContextJob {
  readonly #init: JobInit;

  constructor(init: JobInit) {
    this.#init = init;
  }

  get id(): string {
    return this.#init.id;
  }

  get until(): number {
    return this.#init.until;
  }

  get details(): unknown {
    return this.#init.details;
  }

  get pollAfter(): number | undefined {
    return this.#init.pollAfter;
  }

  set pollAfter(time: number | undefined) {
    if (time === undefined) delete this.#init.pollAfter;
    else if (typeof time === 'number' && !Number.isNaN(time)) {
      this.#init.pollAfter = Math.min(Math.max(time, POLL_AFTER.least), POLL_AFTER.most);
    } else throw new TypeError(`job.pollAfter: expected milliseconds, got ${kindOf(time)}`);
  }

  get callbackUrl(): string {
    const url = this.#init.callbackUrl();
    if (url !== undefined) return url;
    throw new ToolError(
      'context.job.callbackUrl: the worker has no address of the gateway: set HOLDFAST_PUBLIC_URL, or the option `publicUrl` ' +
        'of the worker',
      { code: 'HOLDFAST_JOB_URL_MISSING', retryable: false },
    );
  }

  get token(): string {
    const token = this.#init.token();
    if (token !== undefined) return token;
    throw new ToolError(
      'context.job.token: there is no key to sign it with: set HOLDFAST_CREDENTIAL_KEYS, or the option `credentialKeys` of the worker',
      { code: 'HOLDFAST_JOB_KEY_MISSING', retryable: false },
    );
  }

  async progress(value: number, message?: string): Promise<void> {
    if (typeof value !== 'number' || !(value >= 0 && value <= 1)) {
      const got = typeof value === 'number' ? value : kindOf(value);
      throw new TypeError(`job.progress: value must be a number from 0 to 1, got ${got}`);
    }
    if (message !== undefined && typeof message !== 'string') {
      throw new TypeError(`job.progress: message must be a string, got ${kindOf(message)}`);
    }
    await this.#init.progress(value, message === undefined ? undefined : shortened(message));
  }
}

/** Words for people are not worth a failed call. */
function shortened(message: string): string {
  const text = message.toWellFormed();
  if (text.length <= LONGEST_NOTE) return text;
  return `${text.slice(0, LONGEST_NOTE - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
