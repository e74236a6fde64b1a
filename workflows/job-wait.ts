import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  scheduleActivity,
  sleep,
} from '@temporalio/workflow';
import type { AwaitedJob, JobEnded, JobErrand } from '../src/protocol/job.ts';
import type { PlannedCall, ToolCallInput, ToolSchedule } from '../src/protocol/step.ts';
import { endJobOptions, waitOptions } from './activity-options.ts';

/** A call whose tool has returned, and its job. */
export interface CallWithJob {
  call: Pick<PlannedCall, 'callKey' | 'tool' | 'summary'>;
  schedule: ToolSchedule;
  job: AwaitedJob;
  /** No call waits for it. */
  detached?: true;
  /** That of the tool's own run. */
  input: ToolCallInput;
}

type EndErrand = Extract<JobErrand, { do: 'end' }>;

/** The server's clock and the workflow's differ by so much at most where a deadline is reached. */
const NEARLY = 1_000;

/** The wait for the outcome of a job. Whatever ends it, {@link endJob} is what comes next. */
export class JobWait {
  /** Milliseconds since the epoch: its deadline. */
  readonly until: number;
  readonly #of: CallWithJob;
  readonly #scope = new CancellationScope({ cancellable: true });
  #expired = false;

  /** It is cancelled with the scope that this is called in. */
  constructor(of: CallWithJob) {
    this.#of = of;
    this.until = Date.now() + Math.max(of.job.timeLeft, 0);
  }

  /** Its deadline is over, now. */
  expire(): void {
    this.#expired = true;
    this.#scope.cancel();
  }

  /** Why it is over. */
  async over(): Promise<EndErrand['why']> {
    try {
      return await this.#scope.run(() => this.#wait());
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return this.#expired ? 'timeout' : 'cancelled';
    }
  }

  async #wait(): Promise<EndErrand['why']> {
    const { call, job, detached, input } = this.#of;
    const errand: JobErrand = { do: 'wait', jobId: job.jobId, ...(detached ? { detached } : {}) };
    try {
      await scheduleActivity<JobEnded>(call.tool, [{ ...input, job: errand }], waitOptions(call, job));
      return 'ended';
    } catch (error) {
      if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
      if (error.retryState !== 'TIMEOUT') return 'lost';
      // The server ends an activity early where its next attempt would come too late; until the deadline somebody may end the job.
      const left = this.until - Date.now();
      if (left > NEARLY) await sleep(left, { summary: `deadline of ${job.jobId}` });
      return 'timeout';
    }
  }
}

/**
 * Records how a job has ended, unless that is recorded, tells its tool's hooks and settles the call that waits. Also while all is
 * being cancelled: whoever does the job is to be told.
 */
export async function endJob<Result>(
  { call, schedule, job, detached, input }: CallWithJob,
  how: Pick<EndErrand, 'why' | 'text'>,
): Promise<Result> {
  const errand: EndErrand = { do: 'end', jobId: job.jobId, ...(detached ? { detached } : {}), ...how };
  return await CancellationScope.nonCancellable(() =>
    scheduleActivity<Result>(
      call.tool,
      [{ ...input, job: errand }],
      endJobOptions(call, schedule, { ...how, detached }),
    ),
  );
}
