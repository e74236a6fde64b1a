import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  scheduleActivity,
} from '@temporalio/workflow';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import type { JobReceipt, RecordJobInput } from '../../src/protocol/job.ts';
import { RECORD_JOB, UNKNOWN_JOB } from '../../src/protocol/names.ts';
import { recordJobOptions } from '../activity-options.ts';
import { turnPriority, type User } from '../turn-priority.ts';
import { usable } from '../usable-result.ts';

export type RecordedJob =
  | { kind: 'receipt'; receipt: JobReceipt }
  | { kind: 'unknown' }
  | { kind: 'failed'; reason: string };

/** Tells the store what messages say of jobs: of one job in their order. */
export class JobRecorder {
  readonly #user: User;
  readonly #latest = new Map<string, Promise<RecordedJob>>();
  #under = 0;

  constructor(user: User) {
    this.#user = user;
  }

  /** Nothing is on its way to the store. */
  get settled(): boolean {
    return this.#under === 0;
  }

  /** Never rejects. */
  async record(input: RecordJobInput): Promise<RecordedJob> {
    const { callKey } = input;
    this.#under += 1;
    const before = this.#latest.get(callKey);
    // Also while the run is being cancelled: who has said it is told what became of it.
    const recorded = CancellationScope.nonCancellable(async () => {
      await before;
      return await this.#record(input);
    });
    this.#latest.set(callKey, recorded);
    try {
      return await recorded;
    } finally {
      this.#under -= 1;
      if (this.#latest.get(callKey) === recorded) this.#latest.delete(callKey);
    }
  }

  async #record(input: RecordJobInput): Promise<RecordedJob> {
    const said = input.willContinue === true ? 'update of' : 'response to';
    try {
      const options = recordJobOptions(`${said} ${input.jobId}`, turnPriority(this.#user));
      const receipt = await scheduleActivity<JobReceipt>(RECORD_JOB, [input], options);
      return { kind: 'receipt', receipt: usable(RECORD_JOB, RESULTS.jobReceipt, receipt) };
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error;
      const { cause } = error;
      if (cause instanceof ApplicationFailure && cause.type === UNKNOWN_JOB) return { kind: 'unknown' };
      // The activity says what went wrong; it is not tried again where trying can't help.
      return { kind: 'failed', reason: 'the store did not take it; see the failed activity' };
    }
  }
}
