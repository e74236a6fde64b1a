/** The job of the running call: data with which a service tells its outcome later. Name: the async tools of kadirpekel/hector. */
export interface ContextJob {
  /** Opaque; the same in every attempt of the call, and in no other call. */
  readonly id: string;
  /**
   * Where `POST …/complete`, `…/fail` and `…/progress` are answered: `<gateway>/v1/jobs/<id>`.
   *
   * @throws ToolError (not retryable) where nobody has said where the gateway is: option `publicUrl`, `HOLDFAST_PUBLIC_URL`.
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
   * Tells people how far the job has got: in the Temporal UI, in the turn's status, to followers.
   *
   * @param value from 0 to 1.
   * @param message up to 500 characters, no secrets.
   */
  progress(value: number, message?: string): Promise<void>;
}
