import {
  ActivityFailure,
  CancellationScope,
  isCancellation,
  scheduleActivity,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { AwaitedJob, JobEnded, JobTask } from '../../src/protocol/job.ts';
import type { ToolSchedule } from '../../src/protocol/run-terms.ts';
import type { PlannedCall, ToolCallInput } from '../../src/protocol/step.ts';
import { endJobOptions, type Priority, waitOptions } from '../activities.ts';

/** A call whose tool has returned, and its job. */
export interface CallWithJob {
  call: Pick<PlannedCall, 'callKey' | 'tool' | 'summary'>;
  schedule: ToolSchedule;
  job: AwaitedJob;
  /** No call waits for it. */
  detached?: true;
  /** That of the tool's own run. */
  input: ToolCallInput;
  priority: Priority;
}

type EndTask = Extract<JobTask, { do: 'end' }>;

/** Time for a look at the deadline itself, in milliseconds. */
const GRACE = 2_000;

/** So near its end no other look begins. */
const NEARLY = 500;

/** After a look that was given up this soon, another one would be given up as well. */
const SHORT = 10_000;

/** The wait for the outcome of a job. {@link scheduleJobEnd} follows each end of the wait. */
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

  /** Why it is over. `resumes`: the job goes on once its tool has run again. */
  async over(): Promise<EndTask['why'] | 'resumes'> {
    try {
      return await this.#scope.run(() => this.#wait());
    } catch (error) {
      if (!isCancellation(error)) throw error;
      return this.#expired ? 'timeout' : 'cancelled';
    }
  }

  async #wait(): Promise<EndTask['why'] | 'resumes'> {
    const { jobId } = this.#of.job;
    for (;;) {
      const began = Date.now();
      try {
        const seen: Partial<JobEnded> | undefined = await this.#look(this.until + GRACE - began);
        return seen?.resumes === true ? 'resumes' : 'ended';
      } catch (error) {
        if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
        if (!isOutOfTime(error)) return 'lost';
      }
      // The server ends an activity early where its next attempt would come too late; until the deadline somebody may end the job.
      const left = this.until + GRACE - Date.now();
      if (left <= NEARLY) return 'timeout';
      if (Date.now() - began < SHORT) {
        await sleep(left, { summary: `deadline of ${jobId}` });
        return 'timeout';
      }
    }
  }

  async #look(timeLeft: number): Promise<JobEnded> {
    const { call, job, detached, input, priority } = this.#of;
    const task: JobTask = { do: 'wait', jobId: job.jobId, ...(detached ? { detached } : {}) };
    const options = waitOptions(call, { ...job, timeLeft }, priority);
    return await scheduleActivity<JobEnded>(call.tool, [{ ...input, job: task }], options);
  }
}

function isOutOfTime({ retryState, cause }: ActivityFailure): boolean {
  return (
    retryState === 'TIMEOUT' || (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_CLOSE')
  );
}

/**
 * Records how a job has ended, unless that is recorded, tells its tool's hooks and settles the call that waits. Also while all is
 * being cancelled: the party that does the job is to be told.
 */
export async function scheduleJobEnd<Result>(
  { call, schedule, job, detached, input, priority }: CallWithJob,
  how: Pick<EndTask, 'why' | 'text'>,
): Promise<Result> {
  const task: EndTask = { do: 'end', jobId: job.jobId, ...(detached ? { detached } : {}), ...how };
  return await CancellationScope.nonCancellable(() =>
    scheduleActivity<Result>(
      call.tool,
      [{ ...input, job: task }],
      endJobOptions(call, schedule, { ...how, detached, priority }),
    ),
  );
}
