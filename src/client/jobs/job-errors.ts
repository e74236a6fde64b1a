import type { JobAnswer } from './jobs.ts';

/** There is no such job, or none any more: those of a deleted session are gone with it. */
export class JobNotFound extends Error {
  readonly code = 'HOLDFAST_JOB_NOT_FOUND';
  override readonly name = 'JobNotFound';
}

/** What was said of a job can't be taken: nothing was changed. */
export class InvalidJob extends TypeError {
  readonly code = 'HOLDFAST_INVALID_JOB';
  override readonly name = 'InvalidJob';
}

/** The gateway's word for progress of a job that has ended; a `GatewayClient` gives the answer in it. */
export class JobHasEnded extends Error {
  readonly code = 'HOLDFAST_JOB_ENDED';
  override readonly name = 'JobHasEnded';
  readonly answer: JobAnswer | undefined;

  constructor(message: string, answer?: JobAnswer) {
    super(message);
    this.answer = answer;
  }
}
